// Decisions: which rules matched and why, what failed, and what would come out of other inputs.
import { expect, test } from "./journey";

test("an evaluation lights the rules that matched, with what went in and came out", async ({ page, open }) => {
  await open("/decisions?decision=discount-rate");
  await page.getByRole("row").nth(1).getByRole("link").first().click();
  await expect(page.getByRole("heading", { name: "Discount in percent" })).toBeVisible();
  await expect(page.locator("tr.lit")).toHaveCount(1);
  await expect(page.getByText("One rule matched")).toBeVisible();
  await expect(page.locator(".evaluation-inputs")).toContainText("Customer");
  await expect(page.getByRole("link", { name: "Process instance" })).toBeVisible();
  const address = page.url();
  await page.goto("about:blank");
  await page.goto(address);
  await expect(page.locator("tr.lit")).toHaveCount(1);
});

test("one that failed says why, and shows the rules that were in each other's way", async ({ page, open }) => {
  await open("/decisions?view=failed");
  await page.getByRole("row").getByRole("link", { name: "What is paid" }).first().click();
  await expect(page.getByRole("alert")).toContainText("allows only one rule to match");
  await expect(page.locator("tr.lit")).toHaveCount(2);
  await expect(page.getByRole("region", { name: "Evaluated together" }).getByRole("link", { name: "Cover of the customer" })).toBeVisible();
  await page.getByRole("region", { name: "Dependencies" }).getByRole("link", { name: "Cover of the customer" }).click();
  await expect(page).toHaveURL(/decision=cover&version=1&tab=table/);
  await expect(page.getByRole("columnheader", { name: /Years a customer/ })).toBeVisible();
});

test("a try tells what each decision came to, and takes numbers as they are written", async ({ page, open, api }) => {
  await open("/decisions");
  await page.getByRole("link", { name: "What is paid Cover" }).click();
  await page.getByRole("tab", { name: "Try" }).click();
  const field = page.getByRole("textbox", { name: "Variables, as JSON" });
  // What the decision reads, and what those read that it asks.
  await expect(field).toHaveValue(/"amount": null[^]*"customer": null/);
  await field.fill('{"customer": {"years": 7}, "amount": 2500.10');
  await expect(page.getByText("This is not valid JSON")).toBeVisible();
  await field.fill('{"customer": {"years": 7}, "amount": 2500.10}');
  await page.getByRole("button", { name: "Evaluate" }).click();
  await expect(page.getByRole("region", { name: "What is paid" }).locator("tr.lit")).toContainText("a manager");
  await expect(page.getByRole("region", { name: "Cover of the customer", exact: true }).locator("tr.lit")).toContainText("full");
  await expect(page.locator(".decision-result").first()).toContainText("2000.08");
  await expect.poll(async () => (await api.post("/decision-instances/search", { filter: { decisionDefinitionId: "payment", state: "EVALUATED" } })).items.length).toBeGreaterThan(3);
});

test("the inputs of an evaluation are tried again", async ({ page, open }) => {
  await open("/decisions?decision=discount-rate");
  await page.getByRole("row").nth(1).getByRole("link").first().click();
  await page.getByRole("link", { name: "Try with these inputs" }).click();
  await expect(page.getByRole("textbox", { name: "Variables, as JSON" })).toHaveValue(/"customer": "(regular|new)"/);
  await page.getByRole("button", { name: "Evaluate" }).click();
  await expect(page.locator("tr.lit")).toHaveCount(1);
});

test("without decisions the page says where they come from, and unknown keys what they are not", async ({ page, open, empty }) => {
  await page.goto(`${empty.url}/ui/decisions`);
  await expect(page.getByText("No decisions yet")).toBeVisible();
  await open("/decisions/i/2251799813685000-1");
  await expect(page.getByText("There is no such evaluation")).toBeVisible();
});
