// The studio: drawn, refused where it is wrong, mended, deployed, started and watched, with a browser only.
import { readFile } from "node:fs/promises";
import { BIG } from "./seed.mjs";
import { expect, fits, test } from "./journey";

interface Deployed {
  deployments: { processDefinition: { processDefinitionKey: string } }[];
}

const model = await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8");
const named = (id: string): string => model.replace('id="order" name="Order"', `id="${id}" name="Drawn ${id}"`).replaceAll('"order"', `"${id}"`);

test("a process is drawn, refused at its element, mended, deployed, and an instance of it watched", async ({ page, empty }) => {
  test.slow();
  await page.goto(`${empty.url}/ui/`);
  await page.getByRole("link", { name: "Studio" }).first().click();
  await page.getByRole("button", { name: "New process" }).click();
  const start = page.locator('.djs-element[data-element-id="start"]');
  await start.click();
  // A task behind the start event, by the pad beside what is selected.
  await page.locator('.djs-context-pad [data-action="append.append-task"]').click();
  await page.keyboard.press("Escape");
  await page.locator('.djs-context-pad [data-action="replace"]').click({ timeout: 5_000 });
  await page.locator('[data-id="replace-with-service-task"]').click({ timeout: 5_000 });
  // Before anybody deploys it, the server has looked at it.
  await expect(page.getByRole("button", { name: "1 finding" })).toBeVisible();
  await expect(page.locator(".finding-mark")).toHaveCount(1);
  await page.getByRole("button", { name: "Deploy" }).click();
  const refused = page.getByRole("alert");
  await expect(refused).toContainText("The server refuses it for");
  await expect(page.locator(".finding-mark")).toHaveCount(1);
  await refused.getByRole("button").first().click();
  await page.locator(".bio-properties-panel-group-header-title", { hasText: "Task definition" }).click({ timeout: 5_000 });
  await page.locator('[data-entry-id="taskDefinitionType"] [contenteditable], [data-entry-id="taskDefinitionType"] input').first().fill("draw-it", { timeout: 5_000 });
  await page.keyboard.press("Tab");
  await expect(page.getByText("Would be version 1")).toBeVisible();
  await expect(page.locator(".finding-mark")).toHaveCount(0);
  await page.getByRole("button", { name: "Deploy" }).click();
  await expect(page.getByText(/is deployed as version 1/)).toBeVisible();
  await page.getByRole("button", { name: "Run it" }).click();
  await page.getByRole("button", { name: "Start an instance" }).click();
  const run = page.getByRole("region", { name: "Run" });
  await expect(run).toContainText("No worker asks for draw-it");
  await expect(page.locator(".board .pill.active")).toHaveText("1");
  await run.getByRole("link", { name: /^\d+$/ }).click();
  await expect(page.getByText("No worker asks for draw-it")).toBeVisible();
});

test("an instance is run on the board: its job failed, retried and completed by hand, and a link shows it again", async ({ page, open, api }) => {
  test.slow();
  const deployed = (await api.deploy([["run.bpmn", named("run")]])) as Deployed;
  await open(`/studio?definition=${deployed.deployments[0]?.processDefinition.processDefinitionKey}`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const run = page.getByRole("region", { name: "Run" });
  await run.getByRole("textbox").fill("[1]");
  await expect(run.getByRole("alert")).toContainText("Variables are an object");
  await expect(run.getByRole("button", { name: "Start an instance" })).toBeDisabled();
  await run.getByRole("textbox").fill(`{"orderId": "o-1", "amount": ${BIG}}`);
  await run.getByRole("button", { name: "Start an instance" }).click();
  await expect(run.locator(".run-data")).toContainText(BIG);
  await run.getByRole("button", { name: "Fail" }).click();
  await run.getByRole("textbox", { name: "Why it fails" }).fill("The card network is down");
  await run.locator("form").getByRole("button", { name: "Fail" }).click();
  await expect(run).toContainText("The card network is down");
  await expect(page.locator('.board .djs-element[data-element-id="charge"]')).toHaveClass(/sk-incident/);
  await expect(page.locator(".board .pill.incident")).toHaveText("1");
  await page.reload();
  await expect(page.locator(".board .pill.incident")).toHaveText("1");
  await run.getByRole("button", { name: "Retry" }).click();
  await run.locator("form").getByRole("textbox").fill('{"note": "again"}');
  await run.locator("form").getByRole("button", { name: "Retry" }).click();
  await expect(run.locator(".run-data")).toContainText("again");
  await run.getByRole("button", { name: "Complete" }).click();
  await run.locator("form").getByRole("textbox").fill('{"charged": true}');
  await run.locator("form").getByRole("button", { name: "Complete" }).click();
  await expect(run).toContainText("Completed. The board shows the way it took.");
  await expect(page.locator('.board .djs-element[data-element-id="paid"]').first()).toHaveClass(/sk-done/);
  await expect(page.locator('.board .djs-connection[data-element-id="yes"]')).toHaveClass(/sk-taken/);
  // What was drawn meanwhile is another thing; what is watched may lack it.
  await page.locator('.board .djs-element[data-element-id="charge"]').first().click();
  await page.keyboard.press("Delete");
  await expect(page.locator('.board .djs-element[data-element-id="charge"]')).toHaveCount(0);
  await run.getByRole("button", { name: "Close" }).click();
  await expect(page.locator(".board .pill")).toHaveCount(0);
});

test("the message that an instance waits for is published where it is watched, by phone too", async ({ page, open, api }) => {
  const { items } = await api.post("/process-definitions/search", { filter: { processDefinitionId: "payment" } });
  await page.setViewportSize({ width: 360, height: 760 });
  await open(`/studio?definition=${String(items[0]?.processDefinitionKey)}`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const run = page.getByRole("region", { name: "Run" });
  await run.getByRole("textbox").fill('{"invoiceId": "studio-1", "patience": "PT2H"}');
  await run.getByRole("button", { name: "Start an instance" }).click();
  await expect(run).toContainText("with the correlation key studio-1");
  await run.getByRole("button", { name: "Publish the message" }).click();
  await fits(page);
  await run.locator("form").getByRole("button", { name: "Publish the message" }).click();
  await expect(run).toContainText("Completed");
});

test("a deployed version is opened, kept as a draft through a reload, and deployed as the next", async ({ page, open, api }) => {
  const deployed = (await api.deploy([["drawn.bpmn", named("drawn")]])) as Deployed;
  await open(`/studio?definition=${deployed.deployments[0]?.processDefinition.processDefinitionKey}`);
  await page.locator('.djs-element[data-element-id="charge"]').dblclick();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("Charge again");
  await page.locator(".board-canvas svg").first().click({ position: { x: 5, y: 300 } });
  await expect(page.locator('.djs-element[data-element-id="charge"]')).toContainText("Charge again");
  await page.waitForTimeout(500);
  await page.reload();
  await expect(page.locator('.djs-element[data-element-id="charge"]')).toContainText("Charge again");
  await page.getByRole("button", { name: "Deploy" }).click();
  await expect(page.getByText("drawn is deployed as version 2")).toBeVisible();
});

test("a draft is compared with what was deployed last, on the board and in words", async ({ page, open, api }) => {
  test.slow();
  const deployed = (await api.deploy([["compared.bpmn", named("compared")]])) as Deployed;
  await open(`/studio?definition=${deployed.deployments[0]?.processDefinition.processDefinitionKey}`);
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  const compared = page.getByRole("region", { name: "Compared" });
  await expect(compared).toContainText("No difference");
  const charge = page.locator('.board .djs-shape[data-element-id="charge"]');
  await charge.dblclick();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("Charge again");
  await page.locator(".board-canvas svg").first().click({ position: { x: 400, y: 10 } });
  await expect(compared.locator("li")).toHaveText(["ChangedCharge againService taskname"]);
  await expect(charge).toHaveClass(/sk-changed/);
  await page.locator('.board .djs-shape[data-element-id="refused"]').click();
  await page.keyboard.press("Delete");
  await charge.click();
  await page.locator('.djs-context-pad [data-action="append.end-event"]').click();
  await expect(compared.locator("li.added")).toHaveCount(2);
  await expect(compared.locator("li.removed")).toHaveCount(2);
  await expect(compared.locator("li.removed").first()).toContainText("Order refused");
  await expect(page.locator(".board .compare-mark.added")).toHaveText("+");
  await page.reload();
  await expect(compared.locator("li.removed")).toHaveCount(2);
  await compared.getByRole("button", { name: "Charge again" }).click();
  await expect(charge).toHaveClass(/selected/);
  await page.setViewportSize({ width: 360, height: 760 });
  await fits(page);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole("button", { name: "Deploy" }).click();
  await expect(page.getByText("compared is deployed as version 2")).toBeVisible();
  await expect(compared).toContainText("No difference");
  await expect(page.locator(".board .compare-mark")).toHaveCount(0);
});

test("a file is opened, one that is none says so, and the mark of bpmn.io is seen", async ({ page, open }) => {
  await open("/studio");
  await page.getByLabel("Open a file").setInputFiles({ name: "broken.bpmn", mimeType: "text/xml", buffer: Buffer.from("<nothing/>") });
  await expect(page.getByText("This file cannot be drawn")).toBeVisible();
  await open("/studio");
  await page.getByLabel("Open a file").setInputFiles({ name: "drawn.bpmn", mimeType: "text/xml", buffer: Buffer.from(named("file")) });
  await expect(page.getByRole("heading", { name: "Drawn file" })).toBeVisible();
  const mark = page.locator(".bjs-powered-by");
  await expect(mark).toBeVisible();
  const box = await mark.boundingBox();
  const seen = await page.evaluate(([x, y]) => document.elementFromPoint(x ?? 0, y ?? 0)?.closest(".bjs-powered-by") !== null, [(box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + (box?.height ?? 0) / 2]);
  expect(seen).toBe(true);
  await page.setViewportSize({ width: 360, height: 760 });
  await fits(page);
});

test("the studio alone has the looser policy, and rooms are loaded by their own document", async ({ page, open }) => {
  await open("/studio/none");
  await expect(page.getByText("There is no such draft")).toBeVisible();
  await expect(page.locator('meta[name="skep-document"]')).toHaveAttribute("content", "studio");
  await page.getByRole("link", { name: "Processes" }).first().click();
  await expect(page.getByRole("heading", { name: "Processes" })).toBeVisible();
  await expect(page.locator('meta[name="skep-document"]')).toHaveAttribute("content", "main");
});
