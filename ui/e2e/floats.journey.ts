// Dialogs, menus and what opens below buttons, on a phone in the dark: each is whole, reached by keys, passes axe, and none is left out.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Page } from "@playwright/test";
import { passes } from "./axe";
import { type Float, GUARDED, OPEN, OWN, inSource, unreachable } from "./floats";
import { expect, fits, instanceOf } from "./journey";
import { enter, test } from "./peopled";
import { type Client, client } from "./seed.mjs";
import { startServer } from "./server.mjs";

/** Where pictures of them are left, for people to look at. */
const PICTURES = process.env.FLOAT_PICTURES;
/** In parts, for workers to share. */
const PARTS = 3;

test.use({ viewport: { width: 360, height: 760 }, colorScheme: "dark" });

async function holds(page: Page, { of, steps }: Float, name: string) {
  await expect(page.locator("#page-title h1")).toBeVisible();
  for (const step of steps) await step(page);
  const float = page.locator('[role="dialog"], [role="menu"]').first();
  await expect(float, name).toBeVisible();
  await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
  await expect(float).not.toBeEmpty();
  if (PICTURES) await page.screenshot({ path: path.join(PICTURES, `${name.replaceAll(/\W+/g, "-")}.png`) });
  await fits(page);
  const over = await float.evaluate((box) => [box, ...box.querySelectorAll("*")].filter((each) => each.scrollWidth > each.clientWidth && getComputedStyle(each).overflowX === "visible" && each.clientWidth > 0 && getComputedStyle(each).display !== "inline").map((each) => each.className || each.tagName));
  expect.soft(over, `${name}: wider than it may be`).toEqual([]);
  await passes(float, name);
  const menu = page.locator('.floating > [role="menu"]');
  expect.soft(await unreachable((await menu.count()) > 0 ? menu : float), name).toEqual([]);
  // The text of a search field goes first.
  await expect(async () => {
    await page.keyboard.press("Escape");
    await expect(float).toHaveCount(0, { timeout: 1_000 });
  }, `${of.join()}: left by Escape`).toPass();
}

test("none of the source is left out", async () => {
  const listed = new Map<string, number>();
  for (const each of [...OPEN, ...OWN, ...GUARDED].flatMap(({ of }) => of)) listed.set(each, (listed.get(each) ?? 0) + 1);
  // Opened where a session ends, in people.journey.ts.
  listed.set("app/session/SessionOver.tsx", 1);
  const source = await inSource();
  expect([...source].filter(([name, count]) => (listed.get(name) ?? 0) < count).map(([name, count]) => `${name}: ${listed.get(name) ?? 0} of ${count}`)).toEqual([]);
});

async function each(page: Page, base: string, floats: readonly Float[], places: Record<string, string>) {
  for (const [at, float] of floats.entries()) {
    // Several of one page are opened after each other: each has left it as it was.
    if (float.at !== floats[at - 1]?.at) await page.goto(`${base}/ui${float.at.replace(/ERROR$|^[A-Z]+/, (name) => places[name] ?? name)}`);
    await holds(page, float, `${float.of[0]} ${at}`);
    await page.unrouteAll({ behavior: "ignoreErrors" });
  }
}

for (let part = 0; part < PARTS; part += 1) {
  test(`what floats is whole on a phone in the dark, part ${part + 1} of ${PARTS}`, async ({ page, api, server }) => {
    test.slow();
    await each(page, server.url, OPEN.slice((OPEN.length * part) / PARTS, (OPEN.length * (part + 1)) / PARTS), await placesOf(api));
  });
}

test("what floats where exporters stand still and backups are kept is whole on a phone in the dark", async ({ page }) => {
  const store = await mkdtemp(path.join(tmpdir(), "skep-ui-floats-"));
  const own = await startServer(["camunda.data.primary-storage.backup.store=FILESYSTEM", `camunda.data.primary-storage.backup.filesystem.base-path=${store}`]);
  try {
    await client(own.url).post("/../skep/v1/management/backups", { backupId: 7 });
    await each(page, own.url, OWN, {});
  } finally {
    await own.stop();
    await rm(store, { recursive: true, force: true });
  }
});

test("what floats for an admin is whole on a phone in the dark", async ({ page, guarded }) => {
  test.slow();
  await enter(page, guarded.url, "/admin/users");
  await each(page, guarded.url, GUARDED, {});
});

/** Where what the server's own keys are in is. */
async function placesOf(api: Client): Promise<Record<string, string>> {
  const one = async (what: string, filter: object) => (await api.post(`/${what}/search`, { filter, page: { limit: 1 } })).items[0] ?? {};
  const task = await one("user-tasks", { elementId: "assess", state: "CREATED" });
  const incident = await one("incidents", { state: "ACTIVE" });
  // From other parts they may be there already.
  await api.post("/cluster-variables/global", { name: "floating", value: 1 }).catch(() => undefined);
  await api.post("/global-task-listeners", { id: "floating", type: "floating", eventTypes: ["canceling"] }).catch(() => undefined);
  const { batchOperationKey } = await api.post("/process-instances/incident-resolution", { filter: { processDefinitionId: "no-such-process" } });
  return {
    INSTANCE: `/processes/i/${await instanceOf(api, "order", { hasIncident: true, processDefinitionVersion: 1 })}`,
    TASK: `/tasks?task=${String(task.userTaskKey)}`,
    BATCH: `/batches/${String(batchOperationKey)}`,
    ERROR: String(incident.errorHashCode ?? 1_806_147_757),
  };
}
