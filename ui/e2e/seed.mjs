// Fills a server with what an operator meets: processes at work, finished, stuck for each reason, and names that try to break pages.
//
//   node e2e/seed.mjs http://127.0.0.1:8080 [incidents]
//
// The second argument is how many more instances with an incident there are to be (for lists that are long).
import { readFile, readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { coverModel } from "./cover.mjs";
import { edge, model, shape } from "./diagram.mjs";
import { damage, damageForm, damageModel } from "./people.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const examples = path.join(here, "../../examples");

/** A client of the API with no more than the seed needs; `headers` go with each request. */
export function client(base, headers = {}) {
  const send = async (method, where, body) => {
    const answer = await fetch(`${base}/v2${where}`, {
      method,
      headers: body instanceof FormData ? headers : { ...headers, "content-type": "application/json" },
      body: body instanceof FormData ? body : body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${where}: ${answer.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  };
  const post = (where, body) => send("POST", where, body ?? {});
  return {
    send,
    post,
    async deploy(files, tenant) {
      const form = new FormData();
      if (tenant !== undefined) form.append("tenantId", tenant);
      for (const [name, text] of files) form.append("resources", new File([text], name, { type: "application/octet-stream" }), name);
      return send("POST", "/deployments", form);
    },
    start: async (id, variables = {}, tenant = "<default>") =>
      post("/process-instances", `{"processDefinitionId": ${JSON.stringify(id)}, "tenantId": ${JSON.stringify(tenant)}, "variables": ${typeof variables === "string" ? variables : JSON.stringify(variables)}}`),
    /** Up to `most` jobs of a type; those that were asked for are held for ten minutes. */
    jobs: async (type, most = 1, worker = "seed") =>
      (await post("/jobs/activation", { type, worker, timeout: 600_000, maxJobsToActivate: most, requestTimeout: 2_000 })).jobs,
    complete: (job, variables = {}) => post(`/jobs/${job.jobKey}/completion`, { variables }),
    fail: (job, message, retries = 0) => post(`/jobs/${job.jobKey}/failure`, { errorMessage: message, retries }),
  };
}

export const HOSTILE = `<img src=x onerror="document.title='owned'">`;
export const LONG = "A name that somebody made as long as a paragraph, with words that do not end ".padEnd(170, "x") + "Donaudampfschifffahrtsgesellsc";
export const BIG = "12345678901234567890123";

const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** A process whose names are those of people who do not mean well. */
function hostileModel() {
  return model("hostile", escape(LONG), `
    <bpmn:startEvent id="s"><bpmn:outgoing>f</bpmn:outgoing></bpmn:startEvent>
    <bpmn:serviceTask id="t" name="${escape(HOSTILE)}">
      <bpmn:extensionElements><zeebe:taskDefinition type="${escape(HOSTILE)}"/></bpmn:extensionElements>
      <bpmn:incoming>f</bpmn:incoming></bpmn:serviceTask>
    <bpmn:sequenceFlow id="f" sourceRef="s" targetRef="t"/>`, `${shape("s", 100, 102, 36, 36)}${shape("t", 200, 80, 100, 80)}${edge("f", 136, 200)}`);
}

/** Does `work` for each item, eight at a time. */
async function each(items, work) {
  const rest = [...items];
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  }));
}

const range = (count) => Array.from({ length: count }, (_, index) => index + 1);

async function deployments(api) {
  const files = [];
  for (const name of await readdir(examples)) {
    if (/\.(bpmn|dmn|form)$/.test(name)) files.push([name, await readFile(path.join(examples, name), "utf8")]);
  }
  await api.deploy(files);
  const order = files.find(([name]) => name === "first-process.bpmn");
  await each(range(6), (n) => api.start("order", { orderId: `o-${n}`, amount: 20 + n, version: "first" }));
  await api.deploy([[order[0], order[1].replace('name="Charge card"', 'name="Charge the card"')]]);
  await api.deploy([["hostile.bpmn", hostileModel()], ["damage.bpmn", damageModel], ["damage.form", damageForm], ["cover.dmn", coverModel]]);
}

async function orders(api, more) {
  await each(range(140), (n) => api.start("order", { orderId: `o-${100 + n}`, amount: 7 * n, customer: { name: "Acme & Sons", country: "DE", since: 2019 } }));
  const jobs = await api.jobs("charge-card", 110, "payments-7f9c");
  await each(jobs.slice(0, 70), (job) => api.complete(job, { charged: job.variables.amount < 500 }));
  await each(jobs.slice(70, 92), (job) => api.fail(job, "The card network did not answer within 30 s (gateway eu-1)"));
  await each(jobs.slice(92, 99), (job) => api.fail(job, "Card expired 11/25: ask the customer for another one"));
  await each(jobs.slice(99, 103), (job) => api.complete(job, {}));
  await each(jobs.slice(103), (job) => api.fail(job, "Try again later", 2));
  if (more > 0) {
    await each(range(more), (n) => api.start("order", { orderId: `m-${n}`, amount: n }));
    for (let left = more; left > 0; ) {
      const held = await api.jobs("charge-card", 500);
      if (held.length === 0) break;
      await each(held, (job) => api.fail(job, "The card network did not answer within 30 s (gateway eu-2)"));
      left -= held.length;
    }
  }
}

async function others(api) {
  await each(range(12), (n) => api.start("payment", { invoiceId: `i-${n}`, patience: n % 2 ? "PT2H" : "P14D" }));
  await each(range(5), (n) => api.start("approval", { what: `chairs for room ${n}`, amount: 300 * n }));
  await each(await api.jobs("tell-managers", 4), (job) => api.complete(job));
  await each(range(4), (n) => api.start("leave-request", { employee: ["ben", "cleo", "dora", "emil"][n - 1], days: n }));
  await each(await api.jobs("find-manager", 3), (job) => api.complete(job));
  await each(range(6), (n) => api.start("damage", damage(n, BIG)));
  for (const [years, amount] of [[5, 400], [5, 1000], [1, 90], [3, 5000]]) {
    await api.post("/decision-definitions/evaluation", { decisionDefinitionId: "payment", variables: { customer: { years }, amount } });
  }
  await each(range(9), (n) => api.start("parcel", { value: 400 * n, urgent: n % 2 === 0 }));
  await each(await api.jobs("pack-parcel", 5), (job) => api.complete(job));
  await each(range(3), () => api.start("vote", { members: ["anna", "ben", "cleo", "dora"] }));
  await each(await api.jobs("ask-member", 2), (job) => api.complete(job, { vote: "no" }));
  await each(range(4), (n) => api.start("trip", { traveller: ["cleo", "max", "ida", "tom"][n - 1] }));
  await each(await api.jobs("book-hotel", 2), (job) => api.complete(job, { hotel: "h-1" }));
  await each(range(3), (n) => api.start("invoice", { customer: { name: "acme", country: "DE" }, lines: [{ count: 2, price: 10 * n }] }));
  await each(range(6), (n) => api.start("discount", { customer: n % 2 ? "regular" : "new", amount: 900 * n }));
  await each(range(2), () => api.start("repair", { item: "clock" }));
  await each(range(2), () => api.start("inspection", { checks: ["brakes", "lights"] }));
  await each(range(2), (n) => api.start("invoice", { customer: null, lines: `not a list ${n}` }));
  await api.start("hostile", `{"big": ${BIG}, "small": 0.1000000000000000055511151231257827, "html": ${JSON.stringify(HOSTILE)}, "long": ${JSON.stringify(LONG)}, "nested": {"a": [1, {"b": [true, null, ${BIG}]}]}}`);
  const gone = await api.start("payment", { invoiceId: "i-gone", patience: "PT2H" });
  await api.post(`/process-instances/${gone.processInstanceKey}/cancellation`);
}

export async function seed(base, more = 0) {
  const api = client(base);
  await deployments(api);
  await orders(api, more);
  await others(api);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [base = "http://127.0.0.1:8080", more = "0"] = process.argv.slice(2);
  await seed(base, Number(more));
  console.log(`seeded ${base}`);
}
