// What pages say where something else works, where nothing is drawn, and where nothing is wrong any more.
import { readFile } from "node:fs/promises";
import { client } from "./seed.mjs";
import { expect, test } from "./journey";
import { startServer } from "./server.mjs";

const bpmn = (content: string) => `<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:z="http://camunda.org/schema/zeebe/1.0" id="d" targetNamespace="t">${content}</definitions>`;

const step = (id: string, within: string) => `<process id="${id}" isExecutable="true"><startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="t"/>${within}</process>`;
const waits = step("called-one", '<serviceTask id="t" name="Wait"><extensionElements><z:taskDefinition type="never"/></extensionElements></serviceTask>');
const calls = step("calling-one", '<callActivity id="t" name="Call"><extensionElements><z:calledElement processId="called-one"/></extensionElements></callActivity>');

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
