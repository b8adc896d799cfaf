// The studio: drawn, refused where it is wrong, mended, deployed, started and watched, with a browser only.
import { readFile } from "node:fs/promises";
import { expect, fits, test } from "./journey";

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
  await page.getByRole("button", { name: "Deploy" }).click();
  const refused = page.getByRole("alert");
  await expect(refused).toContainText("The server refuses it for");
  await expect(page.locator(".finding-mark")).toHaveCount(1);
  await refused.getByRole("button").first().click();
  await page.locator(".bio-properties-panel-group-header-title", { hasText: "Task definition" }).click({ timeout: 5_000 });
  await page.locator('[data-entry-id="taskDefinitionType"] [contenteditable], [data-entry-id="taskDefinitionType"] input').first().fill("draw-it", { timeout: 5_000 });
  await page.keyboard.press("Tab");
  await page.getByRole("button", { name: "Deploy" }).click();
  await expect(page.getByText(/is deployed as version 1/)).toBeVisible();
  await expect(page.locator(".finding-mark")).toHaveCount(0);
  await page.getByRole("button", { name: "Start an instance" }).click();
  await page.getByRole("link", { name: /^Watch / }).click();
  await expect(page.getByText("No worker has taken the job draw-it")).toBeVisible();
});

test("a deployed version is opened, kept as a draft through a reload, and deployed as the next", async ({ page, open, api }) => {
  const deployed = (await api.deploy([["drawn.bpmn", named("drawn")]])) as { deployments: { processDefinition: { processDefinitionKey: string } }[] };
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
