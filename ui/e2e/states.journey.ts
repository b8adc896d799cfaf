// What pages say where something else works, where nothing is drawn, and where nothing is wrong any more.
import { readFile } from "node:fs/promises";
import { coverModel } from "./cover.mjs";
import { client } from "./seed.mjs";
import { expect, fits, passing, test, whole } from "./journey";
import { startServer } from "./server.mjs";

const bpmn = (content: string) => `<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:z="http://camunda.org/schema/zeebe/1.0" id="d" targetNamespace="t">${content}</definitions>`;

const step = (id: string, within: string) => `<process id="${id}" isExecutable="true"><startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="t"/>${within}</process>`;
const waits = step("called-one", '<serviceTask id="t" name="Wait"><extensionElements><z:taskDefinition type="never"/></extensionElements></serviceTask>');
const calls = step("calling-one", '<callActivity id="t" name="Call"><extensionElements><z:calledElement processId="called-one"/></extensionElements></callActivity>');

/** The decisions of the seed under other names. */
const covers = (cover: string, payment: string) =>
  coverModel.replaceAll('"cover"', `"${cover}"`).replaceAll('"payment"', `"${payment}"`).replaceAll("#cover", `#${cover}`).replaceAll("#payment", `#${payment}`);

test("an instance that waits for one that it called says so, and leads there and back", async ({ page, open, api }) => {
  await api.deploy([["calls.bpmn", bpmn(calls)], ["waits.bpmn", bpmn(waits)]]);
  const { processInstanceKey } = await api.start("calling-one");
  await open(`/processes/i/${processInstanceKey}`);
  const why = page.getByRole("region", { name: "What it waits for" });
  await expect(why).toContainText("Waits for the called process called-one");
  await why.getByRole("link", { name: "Open the called process" }).click();
  await expect(page.getByRole("heading", { name: "called-one" })).toBeVisible();
  await page.getByRole("navigation", { name: "Called by" }).getByRole("link", { name: "calling-one" }).click();
  await expect(page).toHaveURL(new RegExp(`/processes/i/${processInstanceKey}`));
});

test("a model without a drawing says so, and its list works as any other", async ({ page, open, api }) => {
  await api.deploy([["bare.bpmn", bpmn(waits.replaceAll("called-one", "bare"))]]);
  await api.start("bare");
  await open("/processes?process=bare");
  await expect(page.getByText("This model has no drawing")).toBeVisible();
  await expect(page.getByRole("status").filter({ hasText: "1 instance" })).toBeVisible();
  await page.getByRole("row").nth(1).getByRole("link").click();
  await expect(page.getByRole("region", { name: "What it waits for" })).toContainText("No worker asks for never");
});

test("a link to a process or a version that is not there says so, and leads to those that are", async ({ page, open }) => {
  await open("/processes?process=no-such-process");
  await expect(page.getByText("There is no process no-such-process")).toBeVisible();
  await expect(page.getByText("No instance matches these filters")).toBeVisible();
  await page.getByRole("button", { name: "All processes" }).click();
  await expect(page).toHaveURL(/\/processes$/);
  await page.setViewportSize({ width: 360, height: 760 });
  await open(`/processes?process=${"n".repeat(200)}`);
  await expect(page.getByText(`There is no process ${"n".repeat(200)}`)).toBeVisible();
  await fits(page);
  await whole(page.locator(".note-title"));
  await page.setViewportSize({ width: 1280, height: 800 });
  await open("/processes?process=order&version=99&element=charge");
  await expect(page.getByText("There is no version 99 of this process")).toBeVisible();
  await page.getByRole("button", { name: "All versions" }).click();
  await expect(page).toHaveURL(/\/processes\?process=order$/);
  await expect(page.locator(".djs-shape").first()).toBeVisible();
  await expect(page.getByText(/^There is no/)).toHaveCount(0);
});

test("a process that is deleted with its history under an open page is gone from it", async ({ page, open, api }) => {
  await api.deploy([["short.bpmn", bpmn('<process id="short-lived" isExecutable="true"><startEvent id="s"/></process>')]]);
  const { items: [deployed] } = await api.post("/process-definitions/search", { filter: { processDefinitionId: "short-lived" } });
  await api.start("short-lived");
  await page.clock.install();
  await open("/processes?process=short-lived");
  await expect(page.getByRole("status").filter({ hasText: "1 instance" })).toBeVisible();
  await expect(page.getByText("This model has no drawing")).toBeVisible();
  await api.post(`/resources/${String(deployed?.processDefinitionKey)}/deletion`, { deleteHistory: true });
  await passing(page, () => expect(page.getByText("There is no process short-lived")).toBeVisible({ timeout: 500 }));
  await passing(page, () => expect(page.getByText("No instance matches these filters")).toBeVisible({ timeout: 500 }));
});

test("what is written about an instance stays when an incident comes", async ({ page, open, api }) => {
  await api.deploy([["breaks.bpmn", bpmn(waits.replaceAll("called-one", "breaks").replace('type="never"', 'type="breaks"'))]]);
  const { processInstanceKey } = await api.start("breaks");
  await open(`/processes/i/${String(processInstanceKey)}`);
  await page.getByRole("button", { name: "Add a variable" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("note");
  const [job] = await api.jobs("breaks");
  if (job === undefined) throw new Error("there is no job");
  await api.fail(job, "It broke");
  await expect(page.locator(".instance-facts").getByText("Incident", { exact: true })).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Name" })).toHaveValue("note");
});

test("a choice that does not hold all says how many there are", async ({ page, open }) => {
  // Answers of a server with more of them than one makes for a journey.
  await page.route("**/process-definitions/search", async (route) => {
    const answer = await route.fetch();
    const { items, page: at } = (await answer.json()) as { items: object[]; page: object };
    await route.fulfill({ response: answer, json: { items, page: { ...at, totalItems: 1_500 } } });
  });
  await open("/processes");
  await expect(page.getByRole("combobox", { name: "Process" }).getByRole("option", { name: /^The first \d+ of 1,500/ })).toHaveCount(1);
  await page.route("**/skep/v1/job-types", async (route) => {
    const answer = await route.fetch();
    const told = (await answer.json()) as { items: { type: string }[] };
    const items = told.items.flatMap((each, at) => (at > 0 ? [each] : Array.from({ length: 600 }, (_, more) => ({ ...each, type: `${each.type}-${more}` }))));
    await route.fulfill({ response: answer, json: { ...told, items } });
  });
  await open("/jobs");
  await expect(page.getByRole("navigation", { name: "Job types" }).getByText(/^Only 500 of \d+ are listed\.$/)).toBeVisible();
});

test("without incidents the page says when the last one was", async ({ page }) => {
  const server = await startServer();
  try {
    const api = client(server.url);
    await api.deploy([["order.bpmn", await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8")]]);
    await page.goto(`${server.url}/ui/incidents`);
    await expect(page.getByText("No process instance is stuck.")).toBeVisible();
    await expect(page.getByText("The last one appeared")).toHaveCount(0);
    const { processInstanceKey } = await api.start("order");
    const [job] = await api.jobs("charge-card");
    if (job === undefined) throw new Error("there is no job");
    await api.fail(job, "The card network is down");
    await expect(page.getByRole("button", { name: "Retry" }).first()).toBeVisible();
    await api.post(`/process-instances/${processInstanceKey}/cancellation`);
    await expect(page.getByText("The last one appeared")).toBeVisible();
  } finally {
    await server.stop();
  }
});

test("lists are sorted by their columns, as their addresses say", async ({ page, open, api }) => {
  await api.post("/cluster-variables/global", { name: "sorted", value: 1 });
  const incidents = page.waitForRequest((each) => each.url().endsWith("/incidents/search") && (each.postData() ?? "").includes('"elementId"'));
  await open("/incidents");
  const head = (name: string) => page.getByRole("columnheader", { name, exact: true });
  const cell = (row: number, column: number) => page.getByRole("row").nth(row).getByRole(column === 0 ? "rowheader" : "gridcell").nth(Math.max(0, column - 1));
  // The newest first; the first press of another column begins at its start.
  await expect(head("Since")).toHaveAttribute("aria-sort", "descending");
  await head("Element").click();
  await expect(page).toHaveURL(/sort=elementId/);
  expect((JSON.parse((await incidents).postData() ?? "") as { sort: unknown }).sort).toEqual([{ field: "elementId", order: "ASC" }, { field: "incidentKey", order: "ASC" }]);
  await expect(cell(1, 2)).toHaveText("charge");
  await head("Element").click();
  await expect(cell(1, 2)).not.toHaveText("charge");
  await expect(cell(1, 2)).toHaveText(/^\w/);
  await page.reload();
  await expect(head("Element")).toHaveAttribute("aria-sort", "descending");
  const others = [
    ["/messages", "Message", "messageName"], ["/messages?view=timers", "Element", "elementId"], ["/messages?view=timers", "Instance", "processInstanceKey"],
    ["/decisions", "Decision", "decisionDefinitionName"], ["/jobs/charge-card", "Worker", "worker"], ["/admin/roles", "Name", "name"], ["/admin/variables", "Value, as JSON", "value"],
  ] as const;
  for (const [address, name, sort] of others) {
    const asked = page.waitForResponse((each) => each.request().method() === "POST" && (each.request().postData() ?? "").includes(`"field":"${sort}"`));
    await open(address);
    await head(name).click();
    await expect(page).toHaveURL(new RegExp(`sort=${sort}`));
    await expect(head(name)).toHaveAttribute("aria-sort", "ascending");
    await whole(head(name).locator(".clip"));
    expect((await asked).status(), `${address} by ${sort}`).toBe(200);
    await expect(page.getByRole("row").nth(1)).toBeVisible();
  }
});

test("jobs stand by their tries, and timers by when they are due, from either end; also on a phone", async ({ page, open, api }) => {
  await page.setViewportSize({ width: 360, height: 760 });
  const { items } = await api.post("/jobs/search", { filter: { type: "charge-card", state: "FAILED" }, sort: [{ field: "retries", order: "DESC" }, { field: "jobKey", order: "DESC" }], page: { limit: 1 } });
  await open("/jobs/charge-card?view=failed&sort=-retries");
  const row = page.getByRole("row").nth(1);
  await expect(row).toContainText(String(items[0]?.processInstanceKey));
  await page.setViewportSize({ width: 1280, height: 800 });
  await whole(page.getByRole("columnheader", { name: "Tries left" }).locator(".clip"));
  await page.setViewportSize({ width: 360, height: 760 });
  await open("/messages?view=timers");
  const due = page.getByRole("columnheader", { name: "Due" });
  await expect(due).toHaveAttribute("aria-sort", "ascending");
  await expect(row).toContainText(/in 2h|in 1h|in \d+m/);
  await due.click();
  await expect(page).toHaveURL(/sort=-due/);
  await expect(due).toHaveAttribute("aria-sort", "descending");
  await expect(row).not.toContainText(/in 2h|in 1h|in \d+m/);
});

test("tasks stand in the order that is chosen, those that are done as well", async ({ page, open, api }) => {
  await open("/tasks");
  const order = page.getByLabel("Order");
  await order.selectOption("By name");
  await expect(page).toHaveURL(/sort=name/);
  const first = async (filter: object, sort: object) => String((await api.post("/user-tasks/search", { filter, sort: [sort], page: { limit: 1 } })).items[0]?.name);
  await expect(page.locator(".task-name").first()).toHaveText(await first({ state: "CREATED" }, { field: "name", order: "ASC" }));
  // Each says what the order goes by.
  const when = page.locator(".task-when").first();
  await order.selectOption("Most important");
  await expect(when).toHaveText(/^Priority \d+$/);
  const { items } = await api.post("/user-tasks/search", { filter: { state: "CREATED", elementId: "decide" }, page: { limit: 1 } });
  await api.send("PATCH", `/user-tasks/${String(items[0]?.userTaskKey)}`, { changeset: { followUpDate: new Date(Date.now() + 3_600_000).toISOString() } });
  await order.selectOption("Follow-up date");
  await expect(when).toHaveText(/^Follow-up in (1h|\d+m)$/);
  await open("/tasks?view=done&sort=due");
  await expect(order).toHaveValue("done");
  await expect(order.locator("option")).toHaveText(["Done last", "Newest first", "Most important", "By name"]);
});

test("the key / leads to the filter of each list", async ({ page, open }) => {
  for (const [address, name] of [["/processes", "Process"], ["/messages", "Message"], ["/decisions", "Find a decision"], ["/incidents", "Find an error"], ["/admin/variables", "Find by name"], ["/cluster?tab=settings", "Find a setting"]] as const) {
    await open(address);
    await expect(page.locator("[data-filter]")).toBeVisible();
    await page.keyboard.press("/");
    await expect(page.getByLabel(name, { exact: true }).first()).toBeFocused();
  }
});

test("what an evaluation depends on is shown in the version that was deployed with it", async ({ page, open, api }) => {
  const file = covers("guard", "pays");
  await api.deploy([["guard.dmn", file]]);
  await api.post("/decision-definitions/evaluation", { decisionDefinitionId: "pays", variables: { customer: { years: 5 }, amount: 400 } });
  await api.deploy([["guard.dmn", file.replace("<text>amount * 0.8</text>", "<text>amount * 0.7</text>")]]);
  const { items } = await api.post("/decision-instances/search", { filter: { decisionDefinitionId: "pays" }, page: { limit: 1 } });
  await open(`/decisions/i/${String(items[0]?.decisionEvaluationInstanceKey)}`);
  await page.locator(".drd-node.decision").filter({ hasText: "Cover" }).click();
  await expect(page).toHaveURL(/decision=guard&version=1/);
});

test("what is written to try a decision stays when its next version is deployed, which is the one that is tried", async ({ page, open, api }) => {
  const file = covers("shield", "settles");
  await api.deploy([["shield.dmn", file]]);
  await page.clock.install();
  await open("/decisions?decision=settles&tab=try");
  const field = page.getByRole("textbox", { name: "Variables, as JSON" });
  await field.fill('{"customer": {"years": 7}, "amount": 2500.10}');
  await api.deploy([["shield.dmn", file.replace("<text>amount * 0.8</text>", "<text>amount * 0.7</text>")]]);
  await passing(page, () => expect(page.getByRole("combobox", { name: "Version" }).getByRole("option")).toHaveCount(3, { timeout: 500 }));
  await expect(field).toHaveValue('{"customer": {"years": 7}, "amount": 2500.10}');
  await page.getByRole("button", { name: "Evaluate" }).click();
  await expect.poll(async () => (await api.post("/decision-instances/search", { filter: { decisionDefinitionId: "settles" } })).items[0]?.decisionDefinitionVersion).toBe(2);
});
