// How much of a core many browsers cost that look at the same pages, and what clients that create instances feel of them.
//
//   SKEP_BIN=… node e2e/crowd.mjs [browsers] [seconds] [instances] [creations a second] [rounds]
//
// It starts two servers, fills them, and asks one of them as pages do: the pulse every five seconds, and what a page of processes shows
// whenever its kinds have moved, with `skep-consistency: shared`. `skep load` creates instances at both all the time. The browsers look at
// one server and at the other in turn, so that what their own process takes from the machine meets both figures alike: those of a server
// that is watched, and those of one that is not. It prints medians, and the slowest answers.
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { client } from "./seed.mjs";
import { startServer } from "./server.mjs";

const [browsers = 100, seconds = 60, instances = 10_000, rate = 10, rounds = 3] = process.argv.slice(2).map(Number);
const EVERY = 5_000;
const KINDS = ["processInstance", "elementInstance", "incident", "processDefinition"];

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const ticks = Number(spawnSync("getconf", ["CLK_TCK"]).stdout.toString()) || 100;
/** Seconds of processor time of a process. */
async function cpu(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticks;
}

const tally = { pulses: 0, unchanged: 0, asked: 0, shared: 0, refused: 0, slowest: 0 };

/** One browser: connections of its own, as each has. */
async function browse(url, questions, until) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 6 });
  const send = (method, where, body, headers = {}) =>
    new Promise((resolve, reject) => {
      const began = performance.now();
      const request = http.request(new URL(where, url), { method, agent, headers: { ...headers, ...(body ? { "content-type": "application/json" } : {}) } }, (answer) => {
        let text = "";
        answer.on("data", (bytes) => (text += bytes));
        answer.on("end", () => {
          tally.slowest = Math.max(tally.slowest, performance.now() - began);
          resolve({ status: answer.statusCode, headers: answer.headers, text });
        });
      });
      request.on("error", reject);
      request.end(body);
    });
  let [tag, versions] = [undefined, {}];
  await sleep(Math.random() * EVERY);
  while (Date.now() < until) {
    const began = Date.now();
    const pulse = await send("GET", "/skep/v1/pulse", undefined, tag ? { "if-none-match": tag } : {});
    tally.pulses++;
    if (pulse.status === 304) tally.unchanged++;
    else {
      const { versions: now } = JSON.parse(pulse.text);
      const moved = KINDS.some((kind) => now[kind] !== versions[kind]);
      [tag, versions] = [pulse.headers.etag, now];
      if (moved) {
        for (const answer of await Promise.all(questions.map(([where, body]) => send("POST", where, body, { "skep-consistency": "shared", "cache-control": "max-age=5" })))) {
          tally.asked++;
          if (answer.headers.age !== undefined) tally.shared++;
          if (answer.status !== 200) tally.refused++;
        }
      }
    }
    await sleep(Math.max(0, EVERY - (Date.now() - began)));
  }
  agent.destroy();
}

const model = await readFile(path.join(import.meta.dirname, "../../examples/first-process.bpmn"), "utf8");

/** A server with running instances, and what a page of processes asks of it. */
async function filled() {
  const server = await startServer();
  const api = client(server.url);
  await api.deploy([["first-process.bpmn", model]]);
  const [{ processDefinitionId: id, processDefinitionKey: key }] = (await api.post("/process-definitions/search", {})).items;
  for (let left = instances; left > 0; left -= 50) await Promise.all(Array.from({ length: Math.min(50, left) }, () => api.start(id)));
  const questions = [
    ["/v2/process-instances/search", { filter: { processDefinitionId: id, state: "ACTIVE" }, sort: [{ field: "startDate", order: "DESC" }], page: { limit: 100 } }],
    ["/v2/process-definitions/statistics/process-instances", { page: { limit: 1000 } }],
    ["/v2/process-definitions/statistics/process-instances-by-version", { filter: { processDefinitionId: id }, page: { limit: 1000 } }],
    [`/v2/process-definitions/${key}/statistics/element-instances`, { filter: { state: "ACTIVE" } }],
  ].map(([where, body]) => [where, JSON.stringify(body)]);
  return { server, questions, watched: [], alone: [] };
}

const reports = await mkdtemp(path.join(tmpdir(), "skep-crowd-"));

/** Creates instances in a process of its own, for the browsers here not to delay what it measures. */
async function create({ server }) {
  const file = path.join(reports, `${server.pid}.json`);
  const words = ["load", "--rest-address", new URL(server.url).host, "--workers", "0", "--warmup", "0s", "--drain", "0s"];
  await promisify(execFile)(process.env.SKEP_BIN, [...words, "--rate", String(rate), "--duration", `${seconds}s`, "--json", file]).catch((error) => {
    // Instances without workers do not end, which it reports by its code.
    if (!error.stdout) throw error;
  });
  return JSON.parse(await readFile(file, "utf8")).results[0].create;
}

/** The share of a core that a server takes while instances begin, and the latency of creations. */
async function measured(place) {
  const [began, before] = [performance.now(), await cpu(place.server.pid)];
  const created = await create(place);
  const share = (await cpu(place.server.pid) - before) / ((performance.now() - began) / 1_000);
  return { share: share * 100, p50: created.p50_ms, p99: created.p99_ms };
}

/** One turn: browsers look at one of the servers. */
async function turn(seen, other) {
  const until = Date.now() + seconds * 1_000;
  const crowd = Array.from({ length: browsers }, () => browse(seen.server.url, seen.questions, until));
  const [watched, alone] = await Promise.all([measured(seen), measured(other), ...crowd]);
  seen.watched.push(watched);
  other.alone.push(alone);
}

const median = (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];

const places = [await filled(), await filled()];
await sleep(5_000);
console.log(`${instances} instances, ${rate} begin a second, ${seconds} s each, ${rounds} rounds`);
for (let round = 0; round < rounds; round += 1) {
  await turn(places[0], places[1]);
  await turn(places[1], places[0]);
}
const of = (kind, what) => median(places.flatMap((place) => place[kind].map((result) => result[what])));
for (const [kind, who] of [["alone", "nobody looks"], ["watched", `${browsers} browsers`]]) {
  console.log(`${who}: ${of(kind, "share").toFixed(1)} % of a core, creations p50 ${of(kind, "p50").toFixed(2)} ms, p99 ${of(kind, "p99").toFixed(2)} ms`);
}
const ratios = places.flatMap(({ watched, alone }) => watched.map((result, round) => result.p99 / alone[round].p99));
console.log(`p99 of creations with browsers ÷ without: ${median(ratios).toFixed(2)} (${ratios.map((ratio) => ratio.toFixed(2)).join(", ")})`);
const { pulses, unchanged, asked, shared, refused, slowest } = tally;
console.log(`${pulses} pulses (${unchanged} unchanged), ${asked} questions, ${shared} answered with those of others, ${refused} refused, the slowest answer took ${slowest.toFixed(0)} ms`);
for (const { server } of places) await server.stop();
await rm(reports, { recursive: true });
