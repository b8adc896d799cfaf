// Pages that only a server with people has: contrast and names by axe, no sideways scroll, in both themes and two widths.
import { sound } from "./axe";
import { expect } from "./journey";
import { damage, damageForm, damageModel } from "./people.mjs";
import { enter, logIn, test } from "./peopled";

/** What the first admin sees of Admin. */
const ADMIN = ["users", "users/olaf", "groups", "groups/assessors", "roles", "roles/clerk", "roles/admin", "tenants", "mapping-rules", "authorizations", "access?type=USER&id=anna", "variables", "audit"];

test("the pages of Admin pass axe and fit", async ({ page, guarded }) => {
  test.slow();
  await enter(page, guarded.url, "/admin/users");
  for (const part of ADMIN) {
    await page.goto(`${guarded.url}/ui/admin/${part}`);
    await expect(page.locator("#page-title h1")).toBeVisible();
    await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
    await sound(page, part);
  }
});

// Apart from the pages, so that two browsers share the work.
test("what the pages of Admin ask passes axe and fits", async ({ page, guarded }) => {
  test.slow();
  await enter(page, guarded.url, "/admin/users");
  for (const [part, button] of [["users", "New user"], ["users/olaf", "New authorization"], ["groups/assessors", "Add a user"], ["groups/assessors", "Delete"]] as const) {
    await page.goto(`${guarded.url}/ui/admin/${part}`);
    await page.getByRole("button", { name: button }).click();
    await expect(page.getByRole("dialog")).toBeVisible();
    await sound(page, `${part}: ${button}`);
  }
});

test("what one sees of a login passes axe and fits", async ({ page, context, guarded }) => {
  test.slow();
  await page.goto(`${guarded.url}/ui/login`);
  await expect(page.getByLabel("Password")).toBeVisible();
  await sound(page, "login");
  await logIn(page, "root", "nonsense");
  await expect(page.getByText("The user name or the password is wrong.")).toBeVisible();
  await sound(page, "login, refused");
  await enter(page, guarded.url, "/admin/users");
  await page.goto(`${guarded.url}/ui/processes/i/${guarded.instance}`);
  await page.getByRole("button", { name: "You are Root" }).click();
  await expect(page.getByRole("button", { name: "Log out" })).toBeVisible();
  await sound(page, "who one is");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Add a variable" }).first().click();
  await expect(page.getByRole("dialog")).toBeVisible();
  // What the page asks for next is refused: on a slow machine it asks more rarely.
  await context.clearCookies();
  await expect(page.getByRole("heading", { name: "Your session is over" })).toBeVisible({ timeout: 60_000 });
  await sound(page, "session over");
  await page.goto(`${guarded.url}/ui/logged-out`);
  await expect(page.getByRole("heading", { name: "You are logged out" })).toBeVisible();
  await sound(page, "logged out");
  await enter(page, guarded.url, "/admin/users", "olaf");
  await expect(page.getByText("Admin is not open to you")).toBeVisible();
  await sound(page, "not allowed");
});

test("the history of a task says who claimed, assigned and completed it", async ({ page, guarded }) => {
  const { root } = guarded;
  await root.deploy([["damage.bpmn", damageModel], ["damage.form", damageForm]]);
  const { processInstanceKey } = await root.start("damage", damage(8, "1"));
  let task = "";
  await expect.poll(async () => (task = String((await root.post("/user-tasks/search", { filter: { processInstanceKey, state: "CREATED" } })).items[0]?.userTaskKey ?? ""))).not.toBe("");
  await enter(page, guarded.url, `/tasks?task=${task}&tab=history`);
  await expect(page.getByText("Nothing in the audit log")).toBeVisible();
  await page.getByRole("button", { name: "Claim", exact: true }).last().click();
  const rows = page.getByRole("list", { name: "History" }).getByRole("listitem");
  await expect(rows).toHaveText([/^CompletedClaimedby root/]);
  await root.post(`/user-tasks/${task}/assignment`, { assignee: "anna", allowOverride: true });
  await root.send("DELETE", `/user-tasks/${task}/assignee`);
  await root.post(`/user-tasks/${task}/completion`);
  await expect(rows.locator("b")).toHaveText(["Completed", "Given back", "Assigned to anna", "Claimed"]);
  await sound(page, "the history of a task");
});

test("what waits for one's groups is a view of its own, for those who are in some", async ({ page, guarded }) => {
  const { root } = guarded;
  await root.deploy([["damage.bpmn", damageModel], ["damage.form", damageForm]]);
  const { processInstanceKey } = await root.start("damage", damage(9, "1"));
  await expect.poll(async () => (await root.post("/user-tasks/search", { filter: { processInstanceKey, state: "CREATED" } })).items.length).toBe(1);
  await enter(page, guarded.url, "/tasks", "anna");
  const view = page.getByRole("combobox", { name: "Which tasks" });
  await view.selectOption("Open to my groups");
  await expect(page).toHaveURL(/view=groups/);
  await expect(page.locator(".task-item").first()).toContainText("Assess the damage");
  await page.getByRole("button", { name: "Claim next" }).click();
  await expect(page.getByText("anna (you)").first()).toBeVisible();
  await page.goto(`${guarded.url}/ui/tasks?view=groups&group=managers`);
  await expect(page.getByText("No task is of this filter")).toBeVisible();
  // Root is in no group.
  await page.context().clearCookies();
  await enter(page, guarded.url, "/tasks");
  await expect(page.locator(".task-item").first()).toBeVisible();
  await expect(view.getByRole("option", { name: "Open to my groups" })).toHaveCount(0);
});
