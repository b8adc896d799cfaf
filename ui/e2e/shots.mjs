// Pictures of every page in its states, for people to look at: `make ui-shots` leaves them in ui/shots. SHOTS takes those alone whose
// name it matches, as a regular expression.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { asRoot, camera, places, watch } from "./camera.mjs";
import { GUARDED, TENANTED, people, tenants } from "./guarded.mjs";
import { client, seed } from "./seed.mjs";
import { startServer } from "./server.mjs";

const wantedNames = new RegExp(process.env.SHOTS ?? "");
const MANY = Number(process.env.SHOTS_INCIDENTS ?? "10000");
const here = path.dirname(fileURLToPath(import.meta.url));
const to = path.join(here, "../shots");
const looks = [
  { name: "light", width: 1280, height: 800, colorScheme: "light" },
  { name: "dark", width: 1280, height: 800, colorScheme: "dark" },
  { name: "wide", width: 1920, height: 1080, colorScheme: "light" },
  { name: "phone", width: 360, height: 760, colorScheme: "light" },
];
/** Presses a button, and waits for the dialog, whose code comes by then. */
const asked = (name) => async (page) => {
  await page.getByRole("button", { name }).first().click();
  await page.getByRole("dialog").waitFor();
};
const taken = await camera(to);
const shoot = (base, pages, wanted = looks, first = undefined) => taken.shoot(base, pages.filter(([name]) => wantedNames.test(name)), wanted, first);

const empty = await startServer();
await shoot(empty.url, [["empty-home", "/"], ["empty-processes", "/processes"], ["empty-incidents", "/incidents"], ["empty-batches", "/batches"], ["empty-tasks", "/tasks"], ["empty-jobs", "/jobs"], ["empty-decisions", "/decisions"], ["empty-messages", "/messages"], ["empty-monitor", "/monitor"]]);
await empty.stop();

const off = await startServer(["camunda.data.secondary-storage.type=none"]);
await shoot(off.url, [["off-home", "/"], ["off-processes", "/processes"], ["off-incidents", "/incidents"], ["off-monitor", "/monitor"]], looks.slice(0, 2));
await off.stop();

const guarded = await startServer(GUARDED);
await people(guarded.url);
await shoot(guarded.url, [["login", "/login"]], looks, (page, base) => page.goto(`${base}/ui/login`));
await shoot(guarded.url, [
  ["people-users", "/admin/users"],
  ["people-user", "/admin/users/olaf"],
  ["people-group", "/admin/groups/assessors"],
  ["people-access", "/admin/access?type=USER&id=anna"],
  ["people-grant", "/admin/users/olaf", asked("New authorization")],
  ["people-over", "/admin/users", async (page) => {
    await page.context().clearCookies();
    await page.getByRole("heading", { name: "Your session is over" }).waitFor();
  }],
], looks, asRoot);
await guarded.stop();

const apart = await startServer(TENANTED);
const order = await readFile(path.join(here, "../../examples/first-process.bpmn"), "utf8");
await tenants(await people(apart.url), order);
await shoot(apart.url, [
  ["tenants-home", "/"],
  ["tenants-processes", "/processes"],
  ["tenants-one", "/processes?process=order&tenant=acme"],
  ["tenants-send", "/messages", asked("Send")],
  ["tenants-studio", "/studio?sample=order", (page) => page.locator(".djs-shape").first().waitFor()],
], looks, asRoot);
await apart.stop();

const full = await startServer();
await seed(full.url);
const api = client(full.url);
const { instance, stuck, error, task, failedDecision } = await places(api);
const { deployments } = await api.deploy([["left-over.bpmn", order.replace('id="order"', 'id="left-over"').replace('bpmnElement="order"', 'bpmnElement="left-over"').replace('name="Order"', 'name="Left over"')]]);
await api.post("/process-instances/cancellation", { filter: { processInstanceKey: (await api.start("left-over")).processInstanceKey } });
await api.post(`/resources/${deployments[0].processDefinition.processDefinitionKey}/deletion`);
await shoot(full.url, [
  ["home", "/"],
  ["processes", "/processes"],
  ["process", "/processes?process=order&state=active,incident"],
  ["process-parcel", "/processes?process=parcel"],
  ["process-filtered", '/processes?process=order&state=incident&var=amount+%3D+35&element=charge'],
  ["process-heat", "/processes?process=order&heat=1"],
  ["process-versions", "/processes?process=order&version=2&versus=1"],
  ["process-columns", "/processes?process=order&cols=orderId,amount,customer"],
  ["process-deleted", "/processes?process=left-over"],
  ["process-none", "/processes?process=order&business=nobody"],
  ["instance", `/processes/i/${stuck}`],
  ["instance-vote", `/processes/i/${await instance({ processDefinitionId: "vote", state: "ACTIVE" })}`],
  ["instance-payment", `/processes/i/${await instance({ processDefinitionId: "payment", state: "ACTIVE" })}`],
  ["instance-hostile", `/processes/i/${await instance({ processDefinitionId: "hostile" })}`],
  ["instance-over", `/processes/i/${await instance({ processDefinitionId: "order", state: "COMPLETED" })}`],
  ["instance-gone", "/processes/i/2251799813685000"],
  ["instance-modify", `/processes/i/${stuck}?do=modify&element=charge&plan=add+charge&plan=cancel+charge`],
  ["instance-migrate", `/processes/i/${stuck}?do=migrate`],
  ["instance-replay", `/processes/i/${stuck}?at=2099-01-01T00:00:00Z`],
  ["instance-feed", `/processes/i/${stuck}?tab=feed`],
  ["instance-variables", `/processes/i/${stuck}?tab=variables`],
  ["instance-mappings", `/processes/i/${stuck}?tab=mappings`],
  ["instance-jobs", `/processes/i/${stuck}?tab=jobs`],
  ["instance-audit", `/processes/i/${stuck}?tab=audit`],
  ["instance-notice", `/processes/i/${stuck}`, async (page) => {
    await page.locator(".djs-shape").first().waitFor();
    await page.route("**/v2/process-instances/incident-resolution", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: '{"title":"UNAVAILABLE","status":503,"detail":"Partition 1 has no leader at the moment."}' }));
    await page.getByRole("button", { name: "Retry all incidents" }).click();
    await page.locator(".announcement").waitFor();
  }],
  ["incidents", "/incidents"],
  ["incidents-one", `/incidents?error=${error}`],
  ["incidents-retry", `/incidents?error=${error}`, asked(/Retry all/)],
  ["jobs", "/jobs"],
  ["jobs-type", "/jobs/charge-card"],
  ["jobs-none", "/jobs/estimate-repair"],
  ["tasks", "/tasks"],
  ["task", `/tasks?task=${task}`],
  ["task-process", `/tasks?task=${task}&tab=process`],
  ["task-history", `/tasks?task=${task}&tab=history`],
  ["tasks-start", "/tasks?start=any"],
  ["tasks-start-form", "/tasks?start=leave-request"],
  ["decisions", "/decisions"],
  ["decision", "/decisions?decision=payment&tab=table"],
  ["decision-try", "/decisions?decision=payment&tab=try"],
  ["evaluation", `/decisions/i/${failedDecision}`],
  ["messages", "/messages"],
  ["messages-timers", "/messages?view=timers"],
  ["messages-send", "/messages", asked("Send")],
  ["studio", "/studio"],
  ["studio-run", "/studio?sample=order", watch(stuck)],
  ["studio-found", "/studio", async (page) => {
    await page.getByLabel("Open a file").setInputFiles({ name: "found.bpmn", mimeType: "text/xml", buffer: Buffer.from(order.replace(/<zeebe:taskDefinition [^>]*>/, "")) });
    await page.locator(".verdict").click();
  }],
  ["studio-compare", "/studio?sample=order", async (page) => {
    await page.locator(".djs-shape").first().waitFor();
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await page.locator(".compare-row").first().waitFor();
  }],
  ["studio-decision", "/studio", async (page) => {
    await page.getByRole("link", { name: "Cover", exact: true }).click();
    await page.locator(".board-views button").nth(2).click();
  }],
  ["studio-form", "/studio", async (page) => {
    await page.getByLabel("Open a file").setInputFiles(path.join(to, "../../examples/leave-request.form"));
    await page.locator(".fjs-form-editor").waitFor();
  }],
  ["monitor", "/monitor"],
  ["monitor-day", "/monitor?span=day", (page) => page.getByText("The figures").first().click()],
  ["cluster", "/cluster"],
  ["cluster-exporters", "/cluster?tab=exporters"],
  ["cluster-pause", "/cluster?tab=exporters", asked("Pause exporting")],
  ["cluster-wish", "/cluster?tab=changes"],
  ["cluster-plan", "/cluster?tab=changes", async (page) => {
    await page.getByLabel("Partitions", { exact: true }).fill("4");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Apply" }).waitFor();
  }],
  ["cluster-refused", "/cluster?tab=changes", async (page) => {
    await page.getByLabel("Brokers to add").fill("1, 2");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
  }],
  ["cluster-no-store", "/cluster?tab=backups"],
  ["cluster-settings", "/cluster?tab=settings&find=backup"],
  ["cluster-settings-none", "/cluster?tab=settings&find=nothing"],
  ["cluster-failed", "/cluster?tab=exporters", async (page) => {
    const exporters = "**/skep/v1/management/exporters";
    await page.route(exporters, (route) => route.fulfill({ status: 500, contentType: "application/problem+json", body: '{"title":"INTERNAL","status":500,"detail":"The node is out of order."}' }));
    await page.reload();
    await page.getByRole("alert").waitFor();
    await page.unroute(exporters);
  }],
  ["cluster-drained", "/cluster", async (page) => {
    const states = "**/skep/v1/management/nodes";
    const drained = { role: "LEADER", isDraining: true, liveElementInstances: 0 };
    await page.route(states, (route) => route.fulfill({ json: { "0": { "1": { ...drained, liveElementInstances: 12 }, "2": drained } } }));
    await page.reload();
    await page.locator(".cluster-drained").first().waitFor();
    await page.unroute(states);
  }],
  ["admin-variables", "/admin/variables"],
  ["admin-listeners", "/admin/listeners"],
  ["admin-usage", "/admin/usage"],
  ["admin-audit", "/admin/audit"],
  ["feel", "/feel"],
  ["feel-warned", `/feel?${new URLSearchParams({ expression: "sum(for line in lines return line.count * line.price) + missing", with: '{"lines": [{"count": 2, "price": 9.90}]}' })}`],
  ["feel-wrong", `/feel?${new URLSearchParams({ expression: "amount +\n  if x then" })}`],
  ["feel-instance", `/feel?expression=nested.a&instance=${await instance({ processDefinitionId: "hostile" })}`],
  ["help", "/help"],
  ["help-codes", "/help/errors"],
  ["help-code", "/help/errors/JOB_NO_RETRIES"],
  ["lost", "/no/such/page"],
  ["palette", "/", async (page) => {
    await page.keyboard.press("Control+k");
    await page.getByRole("searchbox").fill("pa");
    await page.waitForTimeout(300);
  }],
]);
await api.post("/process-instances/incident-resolution", { filter: { incidentErrorHashCode: error } });
await api.post("/process-instances/cancellation", { filter: { processDefinitionId: "trip" } });
const batches = await api.post("/batch-operations/search", { page: { limit: 1 } });
await shoot(full.url, [["batches", "/batches"], ["batch", `/batches/${batches.items[0].batchOperationKey}`]]);

await api.start("order", { orderId: "last" });
const manyWanted = ["many-home", "many-incidents", "many-process"].some((name) => wantedNames.test(name));
for (let left = manyWanted ? MANY : 0; left > 0; left -= 500) {
  await Promise.all(Array.from({ length: Math.min(500, left) }, (_, n) => api.start("order", { orderId: `m-${left}-${n}`, amount: n })));
  for (let held = await api.jobs("charge-card", 500); held.length > 0; held = await api.jobs("charge-card", 500)) {
    await Promise.all(held.map((job) => api.fail(job, "The card network did not answer within 30 s (gateway eu-2)")));
  }
}
await shoot(full.url, [["many-home", "/"], ["many-incidents", "/incidents"], ["many-process", "/processes?process=order"]]);
await full.stop();
await taken.close();
console.log(`pictures are in ${to}`);
