// Replay of a history that is longer than one answer: all of it is read, by link and by hand, and a failure on the way is shown.
import { expect, fits, test } from "./journey";
import { broadModel } from "./long.mjs";

/** Of ten steps each; one answer holds 10,000. */
const BRANCHES = 1_040;

test("the last of more than ten thousand steps is reached by link and by key, and what could not be read is read again", async ({ page, open, api }) => {
  test.slow();
  await api.deploy([["broad.bpmn", broadModel]]);
  const { processInstanceKey } = await api.start("broad", { count: BRANCHES });
  const jobs = async () => (await api.post("/jobs/search", { filter: { processInstanceKey, type: "last" }, page: { limit: 1 } })).items.length;
  await expect.poll(jobs, { timeout: 120_000 }).toBe(1);
  const { items } = await api.post("/element-instances/search", { filter: { processInstanceKey, elementId: "last" } });
  const arrived = String(items[0]?.startDate);
  const step = page.locator(".pill").filter({ hasText: /^1,?041$/ });
  await page.route("**/element-instances/search", async (route) => {
    const asked = route.request().postDataJSON() as { page?: { after?: string; limit?: number } };
    if (asked.page?.limit === 10_000 && asked.page.after !== undefined) await route.fulfill({ status: 500, json: { title: "INTERNAL", status: 500, detail: "not now" } });
    else await route.continue();
  });
  await open(`/processes/i/${processInstanceKey}?at=${encodeURIComponent(arrived)}`);
  const replay = page.getByRole("group", { name: "Replay" });
  await expect(replay.getByRole("alert")).toBeVisible();
  await expect(replay.getByRole("status")).toHaveCount(0);
  await page.unroute("**/element-instances/search");
  // The status is empty before the second answer is asked for as well: that comes when it was seen that the page waits for it.
  let waited = false;
  await page.route("**/element-instances/search", async (route) => {
    const asked = route.request().postDataJSON() as { page?: { limit?: number } };
    if (asked.page?.limit === 10_000) await expect(replay.getByRole("status")).toHaveText(/Reading the steps$/);
    waited ||= asked.page?.limit === 10_000;
    await route.continue();
  });
  await replay.getByRole("button", { name: "Try again" }).click();
  await expect(replay.getByRole("alert")).toHaveCount(0);
  await expect.poll(() => waited).toBe(true);
  await expect(replay.getByRole("status")).toHaveText("");
  await expect(page.locator('.djs-element[data-element-id="last"].sk-active')).toHaveCount(1);
  await expect(step.first()).toBeVisible();
  const slider = replay.getByRole("slider", { name: "Moment" });
  await expect.poll(async () => Number(await slider.getAttribute("max"))).toBeGreaterThan(3);
  await slider.press("Home");
  await expect(page.locator('.djs-element[data-element-id="last"].sk-active')).toHaveCount(0);
  await slider.press("End");
  await expect(page.locator('.djs-element[data-element-id="last"].sk-active')).toHaveCount(1);
  await page.setViewportSize({ width: 360, height: 760 });
  await fits(page);
  // On a phone the bar stands below the drawing: over it, it would cover a third.
  const [drawn, bar] = [await page.getByRole("application").boundingBox(), await replay.boundingBox()];
  expect(Math.round(bar?.y ?? 0)).toBeGreaterThanOrEqual(Math.round((drawn?.y ?? 0) + (drawn?.height ?? 0)));
  expect(drawn?.height).toBeGreaterThan(150);
});

test("a replay begins when its history has come, and waits for no clock", async ({ page, open, api }) => {
  const key = String((await api.post("/process-instances/search", { filter: { processDefinitionId: "order", state: "COMPLETED" }, page: { limit: 1 } })).items[0]?.processInstanceKey);
  // Ages and what is asked again and again stand still: a page that draws only with them shows it never.
  await page.addInitScript(() => void (globalThis.setInterval = (() => 0) as unknown as typeof setInterval));
  await open(`/processes/i/${key}`);
  await page.getByRole("button", { name: "Replay" }).click();
  await expect(page.getByRole("slider", { name: "Moment" })).not.toHaveAttribute("max", "0");
});

test("tokens are seen going from step to step, and not by who wants less motion", async ({ page, open, api }) => {
  const key = String((await api.post("/process-instances/search", { filter: { processDefinitionId: "order", state: "COMPLETED" }, page: { limit: 1 } })).items[0]?.processInstanceKey);
  const slider = page.getByRole("slider", { name: "Moment" });
  /** How many were drawn from the first moment to the last. */
  const seen = async (reducedMotion: "reduce" | "no-preference") => {
    await page.emulateMedia({ reducedMotion });
    await open(`/processes/i/${key}`);
    await expect(page.locator(".djs-shape").first()).toBeVisible();
    await page.getByRole("button", { name: "Replay" }).click();
    await expect(page.locator('.djs-element[data-element-id="charge"].sk-active')).toHaveCount(1);
    await page.evaluate(() => {
      const all: Element[] = [];
      Object.assign(globalThis, { tokens: all });
      const note = (node: Node) => void (node instanceof Element && node.classList.contains("token") && all.push(node));
      new MutationObserver((changes) => changes.forEach(({ addedNodes }) => addedNodes.forEach(note))).observe(document, { subtree: true, childList: true });
    });
    const last = Number(await slider.getAttribute("max"));
    for (let moment = 1; moment <= last; moment += 1) {
      await slider.press("ArrowRight");
      await expect(slider).toHaveValue(String(moment));
    }
    await expect(page.locator('.djs-element[data-element-id="charge"].sk-done')).toHaveCount(1);
    // They are gone when they have arrived.
    await expect(page.locator(".token")).toHaveCount(0);
    return page.evaluate(() => (globalThis as unknown as { tokens: Element[] }).tokens.length);
  };
  // From the card to the gateway, and from there to the end.
  expect(await seen("no-preference")).toBeGreaterThanOrEqual(2);
  expect(await seen("reduce")).toBe(0);
});
