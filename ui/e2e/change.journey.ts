// Changing an instance: a plan is drawn, undone, shared, refused and applied; a migration finds its gaps before the server does.
import { readFile } from "node:fs/promises";
import type { Client } from "./seed.mjs";
import { expect, fits, passing, test } from "./journey";

const named = (text: string): string => text.replace('id="order" name="Order"', 'id="moving" name="Moving"').replaceAll('"order"', '"moving"');

/** Ids of the elements where an instance stands. */
async function standing(api: Client, key: string): Promise<string[]> {
  const { items } = await api.post("/element-instances/search", { filter: { processInstanceKey: key, state: "ACTIVE" } });
  return items.map((each) => String(each.elementId)).toSorted();
}

test("a plan is made, undone, shared by its address, and applied as one", async ({ page, open, api }) => {
  const { processInstanceKey: key } = await api.start("vote", { members: ["anna", "ben"] });
  await open(`/processes/i/${key}`);
  await page.getByRole("link", { name: "Modify" }).click();
  await page.getByLabel("Element", { exact: true }).selectOption({ label: "Ask member · 3 tokens" });
  await page.getByRole("button", { name: "Cancel all 3" }).click();
  await expect(page.getByText("Cancel 3 tokens at Ask member", { exact: true })).toBeVisible();
  await expect(page.locator(".pill.ghost")).toHaveText("−3");
  await page.keyboard.press("Control+z");
  await expect(page.getByText("Nothing is planned")).toBeVisible();
  await page.getByRole("button", { name: "Move all 3" }).click();
  await page.getByLabel("Target").selectOption({ label: "All told" });
  await expect(page.getByText("Move 3 tokens from Ask member to All told", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Cancel all 3" }).click();
  await page.locator('.djs-element[data-element-id="tell"]').click();
  await page.getByRole("button", { name: "Add a token here" }).click();
  await page.reload();
  await expect(page.locator(".planned-change")).toHaveCount(2);
  await page.getByRole("button", { name: "Variables for Tell member" }).click();
  const value = page.getByRole("textbox", { name: "A JSON object of names and values" });
  await value.fill("[1]");
  await expect(page.getByText("This is not a JSON object")).toBeVisible();
  await value.fill('{"results": [], "big": 12345678901234567890123}');
  await page.getByRole("button", { name: "Set" }).click();
  await page.getByRole("button", { name: "Review 2" }).click();
  await expect(page.getByRole("dialog")).toContainText("Add a token at Tell member");
  await page.getByRole("button", { name: "Apply" }).click();
  await expect(page.getByText("The instance was modified")).toBeVisible();
  expect(new Set(await standing(api, key))).not.toContain("ask");
  const { items } = await api.post("/variables/search", { filter: { processInstanceKey: key, name: "big" } });
  expect(items[0]?.value).toBe("12345678901234567890123");
});

test("what the server refuses is said beside the plan, and nothing is lost", async ({ page, open, api }) => {
  const { processInstanceKey: key } = await api.start("order", { orderId: "refused" });
  await open(`/processes/i/${key}?do=modify&plan=${encodeURIComponent("add nowhere")}&plan=${encodeURIComponent("cancel charge")}`);
  await page.getByRole("button", { name: "Review 2" }).click();
  await page.getByRole("button", { name: "Apply" }).click();
  await expect(page.getByRole("alert")).toContainText("nowhere");
  await page.getByRole("button", { name: "Never mind" }).click();
  await page.getByRole("button", { name: /Take back: Add a token/ }).click();
  await page.getByRole("button", { name: "Review 1" }).click();
  await expect(page.getByText("the instance will be cancelled")).toBeVisible();
  await page.getByRole("button", { name: "Apply" }).click();
  await expect(page.locator(".instance-facts").getByText("Cancelled")).toBeVisible();
});

test("a token is moved by keys alone, also on a phone", async ({ page, open, api }) => {
  const { processInstanceKey: key } = await api.start("order", { orderId: "moved" });
  await page.setViewportSize({ width: 360, height: 760 });
  await open(`/processes/i/${key}?do=modify&element=charge`);
  await page.getByRole("button", { name: "Move it" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByLabel("Target")).toBeFocused();
  await page.getByLabel("Target").selectOption({ label: "Order refused" });
  await fits(page);
  await page.getByRole("button", { name: "Review 1" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Apply" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.locator(".instance-facts").getByText("Completed")).toBeVisible();
});

test("an instance is migrated, and a gap is seen before the server sees it", async ({ page, open, api }) => {
  const model = await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8");
  await api.deploy([["moving.bpmn", named(model)]]);
  const { processInstanceKey: key } = await api.start("moving", { orderId: "m" });
  await api.deploy([["moving.bpmn", named(model).replaceAll('"charge"', '"collect"').replace("Charge card", "Collect money")]]);
  await open(`/processes/i/${key}`);
  await page.getByRole("link", { name: "Migrate" }).click();
  await expect(page.getByText("1 element with tokens has no target")).toBeVisible();
  const go = page.locator(".changing").getByRole("button", { name: "Migrate" });
  await expect(go).toBeDisabled();
  await expect(page.getByRole("button", { name: /^Charge card/ })).toBeVisible();
  expect((await page.getByLabel("Charge card Becomes").boundingBox())?.width, "room for the name of an element").toBeGreaterThan(200);
  await page.getByLabel("Charge card Becomes").selectOption({ label: "Collect money (collect)" });
  await expect(page.locator(".pill.ghost")).toHaveText("+1");
  await page.reload();
  await expect(go).toBeEnabled();
  await go.click();
  await page.getByRole("dialog").getByRole("button", { name: "Migrate" }).click();
  await expect(page.getByText("The instance was migrated")).toBeVisible();
  await expect(page.locator(".instance-facts").getByText("Version 2")).toBeVisible();
  expect(await standing(api, key)).toEqual(["collect"]);
});

test("a version that is deployed while a migration is planned does not become its target", async ({ page, open, api }) => {
  const model = named(await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8")).replaceAll('"moving"', '"planned"');
  const versions = (count: number) => expect(page.getByRole("combobox", { name: "Version" }).getByRole("option")).toHaveCount(count, { timeout: 500 });
  await api.deploy([["planned.bpmn", model]]);
  const { processInstanceKey: key } = await api.start("planned");
  await api.deploy([["planned.bpmn", model.replace("Charge card", "Collect money")]]);
  await page.clock.install();
  await open(`/processes/i/${key}?do=migrate`);
  const version = page.getByRole("combobox", { name: "Version" });
  await expect(version.locator("option:checked")).toHaveText("Version 2");
  await api.deploy([["planned.bpmn", model.replace("Charge card", "Take money")]]);
  await passing(page, () => versions(2));
  await expect(version.locator("option:checked")).toHaveText("Version 2");
  await page.locator(".changing").getByRole("button", { name: "Migrate" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Migrate" }).click();
  await expect(page.locator(".instance-facts").getByText("Version 2")).toBeVisible();
});

test("data is mended and tried again as one", async ({ page, open, api }) => {
  const model = await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8");
  await api.deploy([["mended.bpmn", model.replace('id="order"', 'id="mended"').replaceAll('"order"', '"mended"').replace('"charge-card"', '"charge-mended"')]]);
  const { processInstanceKey: key } = await api.start("mended");
  for (const job of await api.jobs("charge-mended")) await api.complete(job, { charged: "perhaps" });
  await open(`/processes/i/${key}?tab=variables`);
  await expect(page.getByRole("heading", { name: "Why it is stuck" })).toBeVisible();
  await page.getByRole("button", { name: "Value of charged" }).click();
  await page.getByRole("textbox", { name: "Value, as JSON" }).fill("true");
  await page.getByRole("button", { name: "Save and retry" }).click();
  await expect(page.getByText("charged was saved, and it was tried again")).toBeVisible();
  await expect(page.locator(".instance-facts").getByText("Completed")).toBeVisible();
});
