// By keyboard alone: where the focus is, where it goes, and whom a key is for.
import type { Page } from "@playwright/test";
import { expect, instanceOf, test } from "./journey";

const rings = (page: Page) =>
  page.evaluate(() => [...document.querySelectorAll("*")].filter((each) => getComputedStyle(each).outlineStyle !== "none").map((each) => `${each.tagName} ${each.className}`));

test("what has the focus has a ring, and what is around it has none", async ({ page, open, api }) => {
  await open(`/processes/i/${await instanceOf(api, "order", { hasIncident: true })}`);
  await expect(page.getByRole("tab", { name: "Incidents" })).toBeVisible();
  const retry = page.getByRole("tabpanel").getByRole("button", { name: "Retry" });
  for (let stops = 0; stops < 60 && !(await retry.evaluate((each) => each === document.activeElement)); stops += 1) {
    await page.keyboard.press("Tab");
    await expect.poll(async () => (await rings(page)).length).toBe(1);
  }
  await expect(retry).toBeFocused();
});

test("the box of a row has a ring while it has the focus, and chooses its row by Space", async ({ page, open }) => {
  await open("/processes?process=order");
  const row = page.getByRole("row").nth(1);
  await expect(row.getByRole("checkbox")).toBeVisible();
  expect(await rings(page)).toEqual([]);
  // From the row to its first cell, which hands the focus to its box.
  await row.focus();
  await page.keyboard.press("ArrowRight");
  await expect(row.getByRole("checkbox")).toBeFocused();
  await expect.poll(() => rings(page)).toEqual(["SPAN box-mark"]);
  await page.keyboard.press("Space");
  await expect(row).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("Space");
  await expect(row).toHaveAttribute("aria-selected", "false");
});

test("buttons within a row are pressed by keys, and what one writes there is not for the row", async ({ page, open }) => {
  for (const [address, name] of [["/messages", "Send"], ["/jobs/charge-card", "Change the job"]] as const) {
    for (const key of ["Enter", "Space"]) {
      await open(address);
      const row = page.getByRole("row").nth(1);
      const button = row.getByRole("button", { name });
      await expect(button).toBeVisible();
      await row.focus();
      for (let cells = 0; cells < 12 && !(await button.evaluate((each) => each === document.activeElement)); cells += 1) await page.keyboard.press("ArrowRight");
      await page.keyboard.press(key);
      await expect(page.getByRole("dialog"), `${name} by ${key}`).toBeVisible();
      await page.getByRole("dialog").getByRole("textbox").last().focus();
      await page.keyboard.press("Space");
      await page.keyboard.press("Enter");
      await expect(page).toHaveURL(new RegExp(`${address}$`));
    }
  }
});

test("who takes a condition away by keys goes on beside it", async ({ page, open }) => {
  await open("/processes?process=order&var=amount+%3D+35&business=o-1");
  await page.getByRole("button", { name: /Remove the filter Variable/ }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("button", { name: "Filter", exact: true })).toBeFocused();
  await page.getByRole("search").getByRole("button", { name: "Clear" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("button", { name: "Filter", exact: true })).toBeFocused();
});

test("what opens at a button comes by key, is fetched with it, and gives the focus back", async ({ page, open }) => {
  await open("/processes?process=order");
  for (const name of ["Filter", "Columns", "More", "Saved views"]) {
    const button = page.getByRole("button", { name, exact: true });
    await button.focus();
    await page.keyboard.press("Enter");
    const float = page.locator('[role="dialog"]');
    await expect(float, name).toBeVisible();
    await expect.poll(() => float.evaluate((each) => each.contains(document.activeElement)), name).toBe(true);
    await page.keyboard.press("Escape");
    await expect(float, name).toHaveCount(0);
    await expect(button, name).toBeFocused();
  }
});

test("what was opened before the drawing is there stays open when it comes", async ({ page, open }) => {
  const gate = { isHeld: true };
  await page.route("**/process-definitions/search", async (route) => {
    while (gate.isHeld && route.request().postData()?.includes('"order"')) await page.waitForTimeout(50);
    await route.continue();
  });
  await open("/processes?process=order");
  await page.getByRole("button", { name: "Columns" }).click();
  const choice = page.getByRole("dialog", { name: "Variables as columns" });
  await expect(choice).toBeVisible();
  gate.isHeld = false;
  await expect(page.locator(".djs-shape").first()).toBeVisible();
  await expect(choice).toBeVisible();
});
