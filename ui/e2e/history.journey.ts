// A long history: only what can be seen of it is drawn and asked for, by wheel and by keys.
import type { Page } from "@playwright/test";
import { expect, fits, test } from "./journey";
import { longModel } from "./long.mjs";

const STEPS = 1_200;
/** More rows than this are never seen at a time. */
const DRAWN = 80;

/** Scrolls until it is there, and looks at each step how much is drawn. */
async function scrollTo(page: Page, rows: string, wanted: string) {
  await page.locator(rows).first().hover();
  await expect(async () => {
    await page.mouse.wheel(0, 4_000);
    expect(await page.locator(rows).count()).toBeLessThan(DRAWN);
    await expect(page.locator(wanted)).toBeVisible({ timeout: 100 });
  }).toPass({ timeout: 120_000 });
}

test.beforeEach(async ({ api, open }) => {
  await api.deploy([["long.bpmn", longModel]]);
  const { processInstanceKey } = await api.start("long", { count: STEPS });
  await expect.poll(async () => (await api.post("/jobs/search", { filter: { processInstanceKey, type: "last" }, page: { limit: 1 } })).items.length, { timeout: 120_000 }).toBe(1);
  await open(`/processes/i/${processInstanceKey}`);
});

test("a history of many steps is scrolled to its end, and only rows in view are drawn", async ({ page }) => {
  const last = page.getByRole("treeitem", { name: "Last" });
  await expect(page.getByRole("treeitem", { name: "Step" }).first()).toBeVisible();
  await scrollTo(page, ".tree-row", `.tree-row[aria-level="3"][aria-posinset="${STEPS}"]`);
  await expect(last).toBeVisible();
  await expect(last).toHaveAttribute("aria-setsize", "3");
  await last.click();
  await expect(page.getByText("of Last")).toBeVisible();
  await page.setViewportSize({ width: 360, height: 760 });
  await fits(page);
  expect(await page.locator(".tree-row").count()).toBeLessThan(DRAWN);
});

test("a history goes on where the address says, with the numbers of its elements", async ({ page, open, api }) => {
  const url = page.url();
  const key = /i\/(\d+)/.exec(url)?.[1] ?? "";
  const found = await api.post("/element-instances/search", { filter: { processInstanceKey: key, type: "MULTI_INSTANCE_BODY" } });
  const scope = String(found.items[0]?.elementInstanceKey);
  const { page: at } = (await api.post("/element-instances/search", {
    filter: { elementInstanceScopeKey: scope }, sort: [{ field: "startDate" }, { field: "elementInstanceKey" }], page: { limit: 1_190 },
  })) as unknown as { page: { endCursor: string } };
  await open(`/processes/i/${key}?history=${scope}.1190.${encodeURIComponent(at.endCursor)}`);
  await expect(page.getByText("These are the elements from number 1,191 on.")).toBeVisible();
  await expect(page.getByRole("treeitem", { name: "Step" })).toHaveCount(11);
  await expect(page.locator('.tree-row[aria-level="3"]').first()).toHaveAttribute("aria-posinset", "1191");
  await expect(page.getByRole("treeitem", { name: "Last" })).toBeVisible();
  await page.getByRole("link", { name: "Back to the beginning" }).click();
  await expect(page.locator('.tree-row[aria-level="3"]').first()).toHaveAttribute("aria-posinset", "1");
  await expect(page).not.toHaveURL(/history=/);
});

test("keys reach rows that were not drawn, leave a scope, and close it", async ({ page }) => {
  const focused = page.locator(".tree-row:focus");
  await page.getByRole("treeitem", { name: "Long" }).focus();
  await expect(page.getByRole("treeitem", { name: "Step" }).nth(1)).toBeVisible();
  // What is between them comes when it is in view.
  await expect(async () => {
    await page.keyboard.press("End");
    await expect(focused).toContainText("Last", { timeout: 1_000 });
    await page.keyboard.press("ArrowUp");
    await expect(focused).toHaveAttribute("aria-posinset", String(STEPS), { timeout: 1_000 });
  }).toPass({ timeout: 60_000 });
  await page.keyboard.press("ArrowLeft");
  await expect(focused).toHaveAttribute("aria-expanded", "true");
  await page.keyboard.press("ArrowLeft");
  await expect(focused).toHaveAttribute("aria-expanded", "false");
  await expect(page.getByRole("treeitem")).toHaveCount(4);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await expect(focused).toHaveAttribute("aria-level", "3");
  await page.keyboard.press("Enter");
  await expect(page.getByText("of Step")).toBeVisible();
});

test("the feed of a long history draws what can be seen, and goes on below", async ({ page }) => {
  await page.getByRole("tab", { name: "Feed" }).click();
  await expect(page.getByRole("list", { name: "Feed" }).getByText("Last").first()).toBeVisible();
  await scrollTo(page, ".feed-row", ".entries-more");
  await page.getByRole("button", { name: "Show more" }).click();
  await expect(page.locator('.feed-row[aria-setsize="400"], .feed-row[aria-setsize="401"], .feed-row[aria-setsize="399"]').first()).toBeVisible();
});
