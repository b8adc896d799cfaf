// Decisions and forms in the studio: drawn, refused where they are wrong, mended, deployed, and opened again.
import { readFile } from "node:fs/promises";
import { expect, fits, test } from "./journey";

const example = (name: string) => readFile(new URL(`../../examples/${name}`, import.meta.url), "utf8");
const file = (name: string, text: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });

test("a decision is refused in its cell, mended there, deployed, and tried", async ({ page, open }) => {
  const table = (await example("discount.dmn")).replaceAll('"discounts"', '"drawn-discounts"').replaceAll('"discount-rate"', '"drawn-rate"').replace("&gt;= 1000", "&gt;= &gt;");
  await open("/studio");
  await page.getByLabel("Open a file").setInputFiles(file("drawn.dmn", table));
  await expect(page.getByRole("button", { name: "Discount in percent" })).toHaveAttribute("aria-pressed", "true");
  await page.getByRole("button", { name: "Deploy" }).click();
  const refused = page.getByRole("alert", { name: /The server refuses it/ });
  await expect(refused).toContainText("Failed to parse expression");
  const cell = page.locator('td[data-element-id="much"]');
  await expect(cell).toHaveClass(/finding-cell/);
  // Seen from the requirements, the finding leads back to the table that it is in.
  await page.getByRole("button", { name: "Requirements" }).click();
  await expect(page.locator(".djs-shape").first()).toBeVisible();
  await refused.getByRole("button", { name: "much" }).click();
  await expect(cell).toHaveClass(/finding-cell/);
  await cell.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.type(">= 1000");
  await page.keyboard.press("Tab");
  await page.getByRole("button", { name: "Deploy" }).click();
  await expect(page.getByText("drawn-rate is deployed as version 1")).toBeVisible();
  await expect(page.locator(".finding-cell")).toHaveCount(0);
  const mark = page.locator(".bjs-powered-by").last();
  await expect(mark).toBeVisible();
  await page.getByRole("link", { name: "Try it" }).click();
  await page.getByRole("textbox", { name: "Variables, as JSON" }).fill('{"customer": "regular", "amount": 2000}');
  await page.getByRole("button", { name: "Evaluate" }).click();
  await expect(page.locator(".decision-result")).toContainText("10");
});

test("a new decision is begun, kept through a reload, and a deployed one is opened", async ({ page, open }) => {
  await open("/studio");
  await page.getByRole("button", { name: "New decision" }).click();
  await page.locator(".add-rule-add, .add-rule").first().click();
  await expect(page.locator("td.rule-index")).toHaveCount(1);
  await expect.poll(() => page.evaluate(() => Object.entries(localStorage).some(([key, value]) => key.startsWith("skep-draft-") && String(value).includes("<rule")))).toBe(true);
  await page.reload();
  await expect(page.locator("td.rule-index")).toHaveCount(1);
  await page.getByRole("button", { name: "Undo" }).click();
  await open("/studio");
  await expect(page.getByRole("button", { name: "New decision" }).last()).toBeVisible();
  await page.getByRole("link", { name: "Cover", exact: true }).click();
  await page.getByRole("button", { name: "What is paid" }).click();
  await expect(page.locator(".decision-table-name, .decision-table-header-separator").first()).toBeVisible();
  await page.setViewportSize({ width: 360, height: 760 });
  await fits(page);
});

test("a form is drawn, refused without an id, and deployed", async ({ page, open }) => {
  const form = (await example("leave-request.form")).replace('"id": "leave-request",', "");
  await open("/studio");
  await page.getByLabel("Open a file").setInputFiles(file("drawn.form", form));
  await expect(page.locator(".fjs-form-editor")).toContainText("Approved");
  await page.getByRole("button", { name: "Deploy" }).click();
  await expect(page.getByRole("alert", { name: /The server refuses it/ })).toContainText("The form has no 'id'");
  await open("/studio");
  await page.getByRole("button", { name: "New form" }).click();
  await page.locator('.fjs-palette-field[data-field-type="textfield"]').focus();
  await page.keyboard.press("Enter");
  await expect(page.locator(".fjs-form-editor .fjs-form-field-textfield")).toBeVisible();
  await page.getByRole("button", { name: "Deploy" }).click();
  await expect(page.getByText(/^form-\d+ is deployed as version 1/)).toBeVisible();
  await page.reload();
  await expect(page.locator(".fjs-form-editor .fjs-form-field-textfield")).toBeVisible();
  await page.setViewportSize({ width: 360, height: 760 });
  await fits(page);
  await expect(page.locator(".fjs-powered-by, .bjs-powered-by").first()).toBeVisible();
});

test("the boards are dark in the dark look, and models keep their colours to themselves", async ({ page, open }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = "rgb(26, 25, 22)";
  const drafts = async () => JSON.stringify(await page.evaluate(() => Object.values(localStorage)));
  await open("/studio?sample=order");
  const task = page.locator('[data-element-id="charge"] .djs-visual > :first-child');
  await expect(task).toHaveCSS("fill", dark);
  await expect(page.locator(".bio-properties-panel-group").first()).toHaveCSS("background-color", dark);
  await page.locator('[data-element-id="charge"]').first().dblclick();
  await expect(page.locator(".djs-direct-editing-parent")).toHaveCSS("background-color", dark);
  await page.keyboard.type("Charge it");
  await page.locator(".djs-container svg").first().click({ position: { x: 400, y: 500 } });
  await expect.poll(drafts).toContain("Charge it");
  expect(await drafts()).not.toContain("--surface");
  await open("/studio");
  await page.getByRole("link", { name: "Cover", exact: true }).click();
  await page.getByRole("button", { name: "What is paid" }).click();
  await expect(page.locator(".board.dmn")).toHaveCSS("background-color", dark);
  await expect(page.locator("td.input-cell").first()).toHaveCSS("color", "rgb(237, 235, 228)");
  await page.getByRole("button", { name: "Requirements" }).click();
  await expect(page.locator(".djs-shape .djs-visual > :first-child").first()).toHaveCSS("fill", dark);
  await open("/studio");
  await page.getByRole("button", { name: "New form" }).click();
  await expect(page.locator(".fjs-palette-container")).toHaveCSS("background-color", dark);
});
