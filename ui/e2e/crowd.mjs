// How much of a core many browsers cost that look at the same pages.
//
//   SKEP_BIN=… node e2e/crowd.mjs [browsers] [seconds] [instances] [creations a second]
//
// It starts a server, fills it, and asks as pages do: the pulse every five seconds, and what a page of processes shows whenever its kinds
// have moved, with `skep-consistency: shared`. It prints the processor time of the server as a share of one core, without browsers and
// with them, and the slowest answers.
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import http from "node:http";
import path from "node:path";
import { client } from "./seed.mjs";
import { startServer } from "./server.mjs";

const [browsers = 100, seconds = 60, instances = 10_000, rate = 10] = process.argv.slice(2).map(Number);
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

const model = path.join(import.meta.dirname, "../../examples/first-process.bpmn");
const server = await startServer();
const api = client(server.url);
await api.deploy([["first-process.bpmn", await readFile(model, "utf8")]]);
const [{ processDefinitionId: id, processDefinitionKey: key }] = (await api.post("/process-definitions/search", {})).items;
for (let left = instances; left > 0; left -= 50) await Promise.all(Array.from({ length: Math.min(50, left) }, () => api.start(id)));

const questions = [
  ["/v2/process-instances/search", { filter: { processDefinitionId: id, state: "ACTIVE" }, sort: [{ field: "startDate", order: "DESC" }], page: { limit: 100 } }],
  ["/v2/process-definitions/statistics/process-instances", { page: { limit: 1000 } }],
  ["/v2/process-definitions/statistics/process-instances-by-version", { filter: { processDefinitionId: id }, page: { limit: 1000 } }],
  [`/v2/process-definitions/${key}/statistics/element-instances`, { filter: { state: "ACTIVE" } }],
].map(([where, body]) => [where, JSON.stringify(body)]);

/** The share of a core that the server takes while so many look, and instances begin. */
async function measured(count) {
  const until = Date.now() + seconds * 1_000;
  const creating = setInterval(() => void api.start(id).catch(() => undefined), 1_000 / rate);
  const [began, before] = [performance.now(), await cpu(server.pid)];
  await Promise.all([sleep(seconds * 1_000), ...Array.from({ length: count }, () => browse(server.url, questions, until))]);
  const share = (await cpu(server.pid) - before) / ((performance.now() - began) / 1_000);
  clearInterval(creating);
  return (share * 100).toFixed(1);
}

await sleep(5_000);
console.log(`${instances} instances, ${rate} begin a second, ${seconds} s each`);
console.log(`nobody looks: ${await measured(0)} % of a core`);
console.log(`${browsers} browsers: ${await measured(browsers)} % of a core`);
const { pulses, unchanged, asked, shared, refused, slowest } = tally;
console.log(`${pulses} pulses (${unchanged} unchanged), ${asked} questions, ${shared} answered with those of others, ${refused} refused, the slowest answer took ${slowest.toFixed(0)} ms`);
await server.stop();
