// Processes and decisions that were deleted while their history stays: every page says so, and offers nothing that they do not do any more.
import { readFile } from "node:fs/promises";
import { sound } from "./axe";
import { expect, passing, test } from "./journey";

const bpmn = (id: string, name: string) =>
  `<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="t"><process id="${id}" name="${name}" isExecutable="true"><startEvent id="s"/></process></definitions>`;
/** An instance of it waits for ever. */
const waits = (more: string) =>
  bpmn("moved-on", "Moved on").replace('<startEvent id="s"/>', `<startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="t"/><receiveTask id="t"${more} messageRef="m"/>`)
    .replace("<process", '<message id="m" name="never"><extensionElements><zeebe:subscription xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" correlationKey="=&quot;none&quot;"/></extensionElements></message><process');
const mark = { exact: true } as const;

test("a process that was deleted is marked in the choice, on its page, in the list, on the instance and by Ctrl K", async ({ page, open, api }) => {
  const order = await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8");
  await api.deploy([["left.bpmn", order.replace('id="order" name="Order"', 'id="left-over" name="Left over"').replace('bpmnElement="order"', 'bpmnElement="left-over"')]]);
  const { processInstanceKey } = await api.start("left-over");
  await api.post(`/process-instances/${processInstanceKey}/cancellation`);
  const { items: [one] } = await api.post("/process-definitions/search", { filter: { processDefinitionId: "left-over" } });
  const key = String(one?.processDefinitionKey);
  await page.clock.install();
  await open("/processes?process=left-over");
  const list = page.getByRole("region", { name: "Instances" });
  await expect(list.getByRole("row").nth(1)).toContainText("v1");
  await expect(page.getByText("Deleted", mark)).toHaveCount(0);
  await api.post(`/resources/${key}/deletion`);
  // While it is looked at.
  await passing(page, () => expect(list.getByRole("row").nth(1)).toContainText("Deleted", { timeout: 500 }));
  await expect(page.getByText("Version 1 was deleted: no instance starts by it any more")).toBeVisible();
  await expect(page.getByRole("combobox", { name: "Version" }).getByRole("option", { name: "Version 1, deleted" })).toHaveCount(1);
  const choice = page.getByRole("combobox", { name: "Process" }).locator('optgroup[label="Deleted, with history"] option');
  await passing(page, () => expect(choice.filter({ hasText: "Left over" })).toHaveCount(1, { timeout: 500 }));
  await sound(page, "a deleted process");
  await page.setViewportSize({ width: 360, height: 760 });
  const [said, drawnBy] = [await page.locator(".drawing-notes").boundingBox(), await page.locator(".bjs-powered-by").boundingBox()];
  expect(said?.x ?? 0).toBeGreaterThan(0);
  expect((said?.x ?? 0) + (said?.width ?? 0), "what is said ends before the mark of bpmn.io").toBeLessThanOrEqual(drawnBy?.x ?? 0);
  await page.setViewportSize({ width: 1280, height: 800 });
  await open(`/processes/i/${String(processInstanceKey)}`);
  await expect(page.locator(".instance-facts").getByText("Deleted", mark)).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.getByRole("searchbox").fill("Left ov");
  await expect(page.getByRole("menuitem", { name: "Left over" })).toContainText("left-over, deleted");
  await page.getByRole("searchbox").fill(key);
  await expect(page.getByRole("menuitem", { name: "Process definition, deleted" })).toBeVisible();
  await page.getByRole("menuitem", { name: "Process definition, deleted" }).click();
  await expect(page).toHaveURL(/process=left-over&version=1/);
  await open("/tasks?start=left-over");
  await expect(page.getByRole("combobox").filter({ hasText: "Left over" })).toHaveCount(0);
});

test("nothing is migrated to a version that was deleted, and the one that is left is drawn", async ({ page, open, api }) => {
  const deploy = async (more: string) => {
    await api.deploy([["moved.bpmn", waits(more)]]);
    const { items } = await api.post("/process-definitions/search", { filter: { processDefinitionId: "moved-on" }, sort: [{ field: "version", order: "DESC" }] });
    return String(items[0]?.processDefinitionKey);
  };
  await deploy("");
  const { processInstanceKey } = await api.start("moved-on");
  await deploy(' name="second"');
  const third = await deploy(' name="third"');
  await api.post(`/resources/${third}/deletion`);
  await open("/processes?process=moved-on");
  await expect(page.getByText("Version 2 is drawn, and counted")).toBeVisible();
  await open(`/processes/i/${String(processInstanceKey)}?do=migrate`);
  const versions = page.getByRole("combobox", { name: "Version" });
  await expect(versions.getByRole("option")).toHaveText(["Version 2"]);
});

test("a decision that was deleted is listed and marked, and is not tried", async ({ page, open, api }) => {
  const table = (await readFile(new URL("../../examples/discount.dmn", import.meta.url), "utf8")).replaceAll('"discounts"', '"old-discounts"').replaceAll('"discount-rate"', '"old-rate"').replace('name="Discount in percent"', 'name="Old discount"');
  await api.deploy([["old.dmn", table]]);
  await api.post("/decision-definitions/evaluation", { decisionDefinitionId: "old-rate", variables: { customer: "regular", amount: 2000 } });
  const find = async () => (await api.post("/decision-definitions/search", { filter: { decisionDefinitionId: "old-rate" } })).items[0];
  await expect.poll(find).toBeTruthy();
  await api.post(`/resources/${String((await find())?.decisionRequirementsKey)}/deletion`);
  await open("/decisions");
  const side = page.getByRole("navigation", { name: "Decisions" });
  await side.getByRole("link", { name: /^Old discount/ }).click();
  await expect(side.getByRole("link", { name: /^Old discount/ })).toContainText("Deleted");
  await expect(page.locator(".decision-head").getByText("Deleted", mark)).toBeVisible();
  await page.getByRole("tab", { name: "Try" }).click();
  await expect(page.getByText("This version was deleted")).toBeVisible();
  await expect(page.getByRole("button", { name: "Evaluate" })).toHaveCount(0);
  await sound(page, "a deleted decision");
  await page.getByRole("tab", { name: "Model" }).click();
  await expect(page.locator(".decision-table")).toBeVisible();
  const { items: [evaluated] } = await api.post("/decision-instances/search", { filter: { decisionDefinitionId: "old-rate" } });
  await open(`/decisions/i/${String(evaluated?.decisionEvaluationInstanceKey)}`);
  await expect(page.locator(".evaluation-head").getByText("Deleted", mark)).toBeVisible();
  await expect(page.getByRole("link", { name: "Try with these inputs" })).toHaveCount(0);
});

test("a model that is gone is explained, and what is left of its instance is shown", async ({ page, open, api }) => {
  const { items: [one] } = await api.post("/process-instances/search", { filter: { processDefinitionId: "order", state: "ACTIVE" }, page: { limit: 1 } });
  // A server answers so in the moment between the deletion of the history and that of the instance.
  await page.route("**/process-definitions/*/xml", (route) => route.fulfill({ status: 404, contentType: "application/problem+json", body: '{"title":"NOT_FOUND","status":404,"detail":"Process Definition with key 1 not found"}' }));
  await open(`/processes/i/${String(one?.processInstanceKey)}`);
  await expect(page.getByText("The model is gone")).toBeVisible();
  await expect(page.getByRole("tab", { name: "Variables" })).toBeVisible();
});

test("a form is found by its key, and opens as a draft", async ({ page, open, api }) => {
  const { deployments } = (await api.deploy([["found.form", (await readFile(new URL("../../examples/leave-request.form", import.meta.url), "utf8")).replace('"leave-request"', '"found-by-key"')]])) as { deployments: { form?: { formKey?: string } }[] };
  const key = String(deployments[0]?.form?.formKey);
  await open("/");
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.getByRole("searchbox").fill(key);
  await page.getByRole("menuitem", { name: "Form, as a draft in the studio" }).click();
  await expect(page.locator(".fjs-form-editor")).toContainText("Approved");
});
