// Versions beside each other, variables as columns, and times in the zone that somebody chose.
import { readFile } from "node:fs/promises";
import { expect, test } from "./journey";

test("two versions are compared: what differs, and what stands where in each", async ({ page, open, api }) => {
  const model = (await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8")).replace('id="order" name="Order"', 'id="twice" name="Twice"').replaceAll('"order"', '"twice"');
  await api.deploy([["twice.bpmn", model]]);
  await api.start("twice", { orderId: "a" });
  await api.deploy([["twice.bpmn", model.replace("Charge card", "Charge it").replaceAll('"refused"', '"declined"')]]);
  await api.start("twice", { orderId: "b" });
  await api.start("twice", { orderId: "c" });
  await open("/processes?process=twice");
  await page.getByLabel("Compare with").selectOption({ label: "with version 1" });
  await expect(page).toHaveURL(/version=2&.*versus=1|versus=1&.*version=2/);
  const [before, after] = [page.getByRole("region", { name: "Version 1" }), page.getByRole("region", { name: "Version 2" })];
  await expect(before.getByText("1 instance")).toBeVisible();
  await expect(after.getByText("2 instances")).toBeVisible();
  await expect(before.locator(".pill").first()).toHaveText("1");
  await expect(after.locator(".pill").first()).toHaveText("2");
  await expect(before.locator(".compare-mark.changed").first()).toBeVisible();
  // The list holds both, and what is done with all of it as well.
  await expect(page.getByRole("status").filter({ hasText: "3 instances" })).toBeVisible();
  await page.getByRole("button", { name: "Cancel all 3" }).click();
  await expect(page.getByText("Versions 2 and 1")).toBeVisible();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: /differences?$/ }).click();
  await page.getByRole("dialog", { name: "From version 1 to version 2" }).getByRole("button", { name: "Charge it" }).click();
  await expect(page).toHaveURL(/element=charge/);
});

test("variables stand as columns, and go into the file", async ({ page, open, api }) => {
  await api.start("order", '{"orderId": "column", "amount": 12345678901234567890}');
  await open('/processes?process=order&var=orderId+%3D+"column"');
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByLabel("Variable", { exact: true }).fill("amount");
  await page.getByRole("button", { name: "Add the column" }).click();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("columnheader", { name: "amount" })).toBeVisible();
  await expect(page.getByRole("gridcell", { name: "12345678901234567890" })).toBeVisible();
  await expect(page).toHaveURL(/cols=amount/);
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Save as CSV" }).click();
  const lines = (await readFile(await (await saved).path(), "utf8")).split("\r\n");
  expect(lines[0]).toMatch(/,amount$/);
  expect(lines[1]).toMatch(/,12345678901234567890$/);
  // What is filtered goes; what is shown stays.
  await page.getByRole("button", { name: "Clear" }).click();
  await expect(page).toHaveURL(/cols=amount/);
});

test("a list is sorted by a variable, pages that nobody scrolled to included, and so is its file", async ({ page, open, api }) => {
  const order = await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8");
  await api.deploy([["ranks.bpmn", order.replaceAll('"order"', '"ranks"').replace("charge-card", "charge-ranks")]]);
  const [low, high] = ["-5", "12345678901234567890"];
  // The lowest and the highest are on the second page, and one has no value.
  await api.start("ranks", `{"amount": ${low}}`);
  await api.start("ranks", `{"amount": ${high}}`);
  await api.start("ranks");
  await Promise.all(Array.from({ length: 110 }, (_, n) => api.start("ranks", { amount: n })));
  await open("/processes?process=ranks&cols=amount");
  const head = page.getByRole("columnheader", { name: "amount" });
  const first = page.getByRole("row").nth(1);
  await head.click();
  await expect(first.getByRole("gridcell", { name: low, exact: true })).toBeVisible();
  await head.click();
  await expect(first.getByRole("gridcell", { name: high, exact: true })).toBeVisible();
  await page.reload();
  await expect(first.getByRole("gridcell", { name: high, exact: true })).toBeVisible();
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Save as CSV" }).click();
  const lines = (await readFile(await (await saved).path(), "utf8")).trim().split("\r\n");
  expect(lines.map((line) => line.split(",").at(-1)).slice(0, 3)).toEqual(["amount", high, "109"]);
  expect(lines.slice(-2).map((line) => line.split(",").at(-1))).toEqual(["-5", ""]);
});

test("times are shown and read in the zone that somebody chose, and links mean the same everywhere", async ({ page, open }) => {
  await open("/processes");
  const choose = async (name: string) => {
    await page.getByRole("button", { name: "Look and times" }).click();
    await page.getByRole("menuitemradio", { name, exact: true }).click();
  };
  await choose("Another…");
  await page.getByLabel("Time zone").last().selectOption("America/Bogota");
  await page.getByRole("button", { name: "Use it" }).click();
  await choose("Date and time");
  await expect(page.locator("time").first()).toHaveText(/^\d\d:\d\d:\d\d$/);
  await expect(page.locator("time").first()).toHaveAttribute("title", /GMT-5$/);
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await page.getByLabel("What to filter by").selectOption("Started after");
  await expect(page.getByText("In the time zone America/Bogota.")).toBeVisible();
  await page.locator('input[type="datetime-local"]').fill("2025-12-31T19:00");
  await page.getByRole("button", { name: "Apply" }).click();
  await expect(page).toHaveURL(/from=2026-01-01T00:00:00\.000Z/);
  await expect(page.getByText("Dec 31, 2025, 19:00:00 GMT-5")).toBeVisible();
  await choose("UTC");
  await expect(page.getByText("Jan 1, 2026, 00:00:00 UTC")).toBeVisible();
  await page.reload();
  await expect(page.getByText("Jan 1, 2026, 00:00:00 UTC")).toBeVisible();
});
