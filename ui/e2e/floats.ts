// Everything that floats above a page, by the file that has it, and the way to it: dialogs, menus and what opens below buttons.
import { readFile, readdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type Locator, type Page, expect } from "@playwright/test";

const src = fileURLToPath(new URL("../src", import.meta.url));
/** What others are made of, and the page of all parts, which no release has. */
const PARTS = /^(parts\/(Dialog|Ask|ManyForm)\.tsx|parts\/floating\/|rooms\/gallery\/)/;
const FLOATS = /(?<!\w)<(Dialog|Ask\w*|ManyForm|Modal|Popover|Popup)\b/g;
/** What is within another one, or leads to one of another file. */
const WITHIN = /<Modal\b[\s\S]*?<Dialog\b|<Popover\b[\s\S]*?<Dialog\b/g;

/** How many a file of the source has; those without any are left out. */
export async function inSource(): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const name of await readdir(src, { recursive: true })) {
    if (!name.endsWith(".tsx") || PARTS.test(name)) continue;
    const text = (await readFile(path.join(src, name), "utf8")).replaceAll(WITHIN, "<Popover");
    const count = [...text.matchAll(FLOATS)].length;
    if (count > 0) found.set(name, count);
  }
  return found;
}

const press = (name: string | RegExp, within = "body") => (page: Page) => page.locator(within).getByRole("button", { name, exact: typeof name === "string" }).first().click();
const choose = (name: string | RegExp) => (page: Page) => page.getByRole("menuitem", { name }).click();

export interface Float {
  /** Where it is in the source, below `ui/src`. */
  of: readonly string[];
  /** Words in capitals stand for addresses that a server's own keys are in. */
  at: string;
  steps: readonly ((page: Page) => Promise<unknown>)[];
}

/** To the last columns of a table, which are drawn when they come into view. A table that still scrolls loses what is pressed in it. */
const aside = async (page: Page) => {
  const table = page.getByRole("grid");
  await expect(async () => {
    await page.getByRole("row").nth(1).hover();
    await page.mouse.wheel(2_000, 0);
    const isThere = await table.evaluate((all) => all.scrollLeft + all.clientWidth >= all.scrollWidth - 1);
    expect(isThere, "the last columns are in view").toBe(true);
    await expect(page.getByRole("row").nth(1), "it stands still").toHaveCSS("pointer-events", "auto", { timeout: 2_000 });
  }).toPass();
};

/** A batch operation that goes on: a real one is over at once. */
const suspended = async (page: Page) => {
  await page.route(/\/batch-operations\/\d+$/, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...((await answer.json()) as object), state: "SUSPENDED", endDate: null } });
  });
  await page.reload();
};

/** On a server with data and without login. */
export const OPEN: readonly Float[] = [
  { of: ["app/LookMenu.tsx"], at: "/", steps: [press("Look and times")] },
  { of: ["app/AskZone.tsx", "app/LookMenu.tsx"], at: "/", steps: [press("Look and times"), (page) => page.getByRole("menuitemradio", { name: /Another|Other/ }).click()] },
  { of: ["app/session/UserMenu.tsx"], at: "/", steps: [press(/^Login is off/)] },
  { of: ["app/Palette.tsx"], at: "/", steps: [(page) => page.keyboard.press("Control+k"), (page) => page.getByRole("searchbox").fill("pa")] },
  { of: ["parts/views/Views.tsx"], at: "/processes", steps: [press("Saved views")] },
  { of: ["rooms/processes/AddFilter.tsx"], at: "/processes?process=order", steps: [press("Filter")] },
  { of: ["rooms/processes/columns/Columns.tsx"], at: "/processes?process=order", steps: [press("Columns")] },
  { of: ["rooms/processes/more/Menu.tsx"], at: "/processes?process=order", steps: [press("More")] },
  { of: ["rooms/processes/more/Ask.tsx", "rooms/processes/More.tsx"], at: "/processes?process=order", steps: [press("More"), choose("Delete from history…")] },
  { of: ["rooms/processes/more/MigrateMany.tsx"], at: "/processes?process=order&version=1", steps: [press("More"), choose("Migrate…")] },
  { of: ["rooms/processes/more/MoveMany.tsx"], at: "/processes?process=order&version=1", steps: [press("More"), choose("Move tokens…")] },
  { of: ["rooms/processes/Versions.tsx"], at: "/processes?process=order&version=2&versus=1", steps: [press(/differences?$/)] },
  { of: ["parts/Many.tsx", "parts/ManyAsk.tsx"], at: "/processes?process=order&state=active&or=element%3Dcharge&or=var%3Damount+%253D+42", steps: [press(/^Cancel all/)] },
  { of: ["parts/ManyAsk.tsx"], at: "/incidents?error=ERROR", steps: [press(/^Retry all/)] },
  { of: ["rooms/instance/Actions.tsx"], at: "INSTANCE", steps: [press("Cancel instance")] },
  { of: ["rooms/instance/EditVariable.tsx", "rooms/instance/VariableTab.tsx"], at: "INSTANCE?tab=variables", steps: [press(/^Value of/)] },
  { of: ["rooms/instance/VariableTab.tsx"], at: "INSTANCE?tab=variables", steps: [press("Add a variable")] },
  { of: ["rooms/instance/modify/Variables.tsx"], at: "INSTANCE?do=modify&element=charge&plan=add+charge", steps: [press(/^Variables for/)] },
  { of: ["rooms/instance/modify/Review.tsx"], at: "INSTANCE?do=modify&element=charge&plan=add+charge&plan=cancel+charge", steps: [press(/^Review/)] },
  { of: ["rooms/instance/migrate/Confirm.tsx"], at: "INSTANCE?do=migrate", steps: [press("Migrate", ".changing")] },
  { of: ["rooms/jobs/Change.tsx"], at: "/jobs/charge-card", steps: [aside, press(/^Change the job/)] },
  { of: ["rooms/messages/Send.tsx"], at: "/messages", steps: [press("Send")] },
  { of: ["rooms/tasks/who.tsx", "rooms/tasks/Head.tsx"], at: "TASK", steps: [press("Assign")] },
  { of: ["rooms/tasks/who.tsx", "rooms/tasks/Head.tsx"], at: "TASK", steps: [press("Claim", ".task-head")] },
  { of: ["rooms/tasks/who.tsx"], at: "/tasks", steps: [(page) => page.locator(".task-who").click()] },
  { of: ["rooms/tasks/ClaimNext.tsx"], at: "/tasks?view=unassigned", steps: [press("Claim next")] },
  { of: ["rooms/tasks/Bulk.tsx"], at: "/tasks?process=approval", steps: [(page) => page.locator(".task-row").first().getByRole("checkbox").check(), press("Claim")] },
  { of: ["rooms/tasks/Bulk.tsx"], at: "/tasks?process=approval", steps: [(page) => page.locator(".task-row").first().getByRole("checkbox").check(), press("Give back")] },
  { of: ["rooms/tasks/Values.tsx"], at: "/tasks?start=order", steps: [press("Add a variable")] },
  { of: ["rooms/batches/Control.tsx"], at: "BATCH", steps: [suspended, press(/^Cancel/)] },
  { of: ["rooms/cluster/exporters/Exporters.tsx"], at: "/cluster?tab=exporters", steps: [press("Pause exporting")] },
  { of: ["rooms/cluster/exporters/Exporters.tsx"], at: "/cluster?tab=exporters", steps: [press(/^Disable secondary/)] },
  { of: ["rooms/admin/cluster/VariableForm.tsx"], at: "/admin/variables", steps: [press("New variable")] },
  { of: ["rooms/admin/cluster/Variables.tsx"], at: "/admin/variables", steps: [press(/^Delete/)] },
  { of: ["rooms/admin/cluster/ListenerForm.tsx"], at: "/admin/listeners", steps: [press("New listener")] },
  { of: ["rooms/admin/cluster/Listeners.tsx"], at: "/admin/listeners", steps: [press(/^Delete/)] },
];

const exporters = "/cluster?tab=exporters";
const CHANGE = { id: 7, status: "IN_PROGRESS", startedAt: "2026-11-29T10:00:00Z", completed: [], pending: [{ operation: "PARTITION_BOOTSTRAP", brokerId: 0, partitionId: 3 }] };
/** A change that goes on: a real one is over at once. */
const changing = async (page: Page) => {
  await page.route("**/management/cluster/changes", (route) => route.fulfill({ json: [CHANGE] }));
  await page.reload();
};
const dialog = '[role="dialog"]';

/** On a server with a store for backups, and with one backup. */
export const OWN: readonly Float[] = [
  { of: ["rooms/cluster/exporters/Exporters.tsx"], at: exporters, steps: [press("Disable secondary-storage"), press("Disable", dialog), press("Enable secondary-storage")] },
  { of: ["rooms/cluster/changes/Changes.tsx"], at: "/cluster?tab=changes", steps: [changing, press(/^Cancel/)] },
  { of: ["rooms/cluster/backups/TakeForm.tsx"], at: "/cluster?tab=backups", steps: [press("Take a backup")] },
  { of: ["rooms/cluster/backups/Backups.tsx"], at: "/cluster?tab=backups", steps: [press(/^Delete/)] },
];

/** On a server with people, for the first admin. */
export const GUARDED: readonly Float[] = [
  { of: ["app/session/UserMenu.tsx"], at: "/", steps: [press(/^You are Root/)] },
  { of: ["rooms/admin/entities/EntityForm.tsx"], at: "/admin/users", steps: [press("New user")] },
  { of: ["rooms/admin/entities/Members.tsx"], at: "/admin/groups/assessors", steps: [press("Add a user")] },
  { of: ["rooms/admin/entities/OneEntity.tsx"], at: "/admin/groups/assessors", steps: [press("Delete")] },
  { of: ["rooms/admin/rights/GrantForm.tsx"], at: "/admin/users/olaf", steps: [press("New authorization")] },
  { of: ["rooms/admin/rights/GrantTable.tsx"], at: "/admin/users/olaf", steps: [press(/^Revoke/)] },
];

/** Tabbed through once: what does not come, or is not to be seen when it has the focus. */
export async function unreachable(float: Locator): Promise<string[]> {
  const isMenu = (await float.getAttribute("role")) === "menu";
  const count = await float.evaluate((box, menu) => {
    const all = [...box.querySelectorAll<HTMLElement>(menu ? "[role^=menuitem]:not([aria-disabled=true])" : "button, input, select, textarea, a[href], summary, [tabindex='0']")];
    const wanted = all.filter((each) => each.tabIndex >= (menu ? -1 : 0) && !each.matches(":disabled") && each.checkVisibility() && (!(each instanceof HTMLInputElement) || each.type !== "radio" || each.checked));
    Object.assign(globalThis, { wantedFloats: new Set(wanted), seenFloats: [] });
    return wanted.length;
  }, isMenu);
  const page = float.page();
  if (isMenu) await page.keyboard.press("Home");
  for (let step = 0; step <= count + 1; step += 1) {
    await page.evaluate(() => {
      const known = globalThis as unknown as { wantedFloats: Set<Element>; seenFloats: string[] };
      const at = document.activeElement;
      if (!at || !known.wantedFloats.delete(at)) return;
      const { left, right, top, bottom } = at.getBoundingClientRect();
      const [x, y] = [(Math.max(left, 0) + Math.min(right, innerWidth)) / 2, (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2];
      const hit = document.elementFromPoint(x, y);
      const name = at.getAttribute("aria-label") ?? at.textContent ?? at.tagName;
      if (left < 0 || right > innerWidth || bottom < 0 || top > innerHeight || !hit || !(at.contains(hit) || hit.contains(at))) known.seenFloats.push(`${name} is not in view`);
    });
    await page.keyboard.press(isMenu ? "ArrowDown" : "Tab");
  }
  return page.evaluate(() => {
    const { wantedFloats, seenFloats } = globalThis as unknown as { wantedFloats: Set<Element>; seenFloats: string[] };
    return [...seenFloats, ...[...wantedFloats].map((each) => `${each.getAttribute("aria-label") ?? (each.textContent || each.outerHTML.slice(0, 80))} was not reached`)];
  });
}
