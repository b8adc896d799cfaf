// Logging in and out, a session that ends under an open page, and what one may not.
import type { Page } from "@playwright/test";
import { basic } from "./guarded.mjs";
import { expect } from "./journey";
import { logIn, test } from "./peopled";
import { client } from "./seed.mjs";

test("one logs in, arrives where one wanted to go, and logs out", async ({ page, guarded }) => {
  await page.goto(`${guarded.url}/ui/processes?process=order`);
  await expect(page).toHaveURL(/\/ui\/login\?next=/);
  await expect(page).toHaveTitle("Log in to Skep – Skep");
  await logIn(page, "root", "nonsense");
  await expect(page.getByText("The user name or the password is wrong.")).toBeVisible();
  await logIn(page, "root");
  await expect(page).toHaveURL(/\/ui\/processes\?process=order$/);
  await expect(page.getByRole("status").filter({ hasText: "1 instance" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("status").filter({ hasText: "1 instance" })).toBeVisible();
  await page.getByRole("button", { name: "You are Root" }).click();
  await page.getByRole("button", { name: "Log out" }).click();
  await expect(page.getByRole("heading", { name: "You are logged out" })).toBeVisible();
  await page.goto(`${guarded.url}/ui/processes`);
  await expect(page).toHaveURL(/\/ui\/login/);
});

test("a login leads nowhere else, whatever the link says", async ({ page, guarded }) => {
  await page.goto(`${guarded.url}/ui/login?next=//evil.example/`);
  await logIn(page, "root");
  await expect(page).toHaveURL(`${guarded.url}/ui/`);
});

test("a session ends under an open page: what was written stays, and the command is sent once more", async ({ page, context, guarded }) => {
  await page.goto(`${guarded.url}/ui/processes/i/${guarded.instance}`);
  await logIn(page, "root");
  await page.getByRole("button", { name: "Add a variable" }).first().click();
  await page.getByRole("textbox", { name: "Name" }).fill("note");
  await page.getByRole("textbox", { name: "Value, as JSON" }).fill('"kept"');
  // As if it had ended: the browser has nothing to show any more.
  await context.clearCookies();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Your session is over" })).toBeVisible();
  await expect(page.getByLabel("User name")).toHaveValue("root");
  await page.getByLabel("Password").fill("root-secret");
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await expect(page.getByText("note was saved")).toBeVisible();
  await expect(page.getByText('"kept"').first()).toBeVisible();
});

test("somebody else logs in in another tab: nothing is sent in their name from a page of before, which goes on when its own person is back", async ({ page, context, guarded }) => {
  const sent = (name: string) => guarded.root.post("/variables/search", { filter: { processInstanceKey: guarded.instance, name } });
  const write = async (name: string) => {
    await page.getByRole("button", { name: "Add a variable" }).first().click();
    await page.getByRole("textbox", { name: "Name" }).fill(name);
    await page.getByRole("textbox", { name: "Value, as JSON" }).fill('"mine"');
  };
  const other = await context.newPage();
  const become = async (name: string) => {
    // As if the session before had ended: who logs out does so in all tabs.
    await context.clearCookies();
    await other.goto(`${guarded.url}/ui/`);
    await logIn(other, name);
    await expect(other.getByRole("button", { name: /^You are/ })).toBeVisible();
  };
  await page.goto(`${guarded.url}/ui/processes/i/${guarded.instance}`);
  await logIn(page, "root");
  await write("two_tabs");
  await become("olaf");
  const taken = page.getByRole("heading", { name: /has logged in in another tab$/ });
  await expect(taken).toBeVisible();
  await expect(page.getByText("This page is root's")).toBeVisible();
  const shows = () => page.locator(".veil").last().evaluate((veil) => getComputedStyle(veil).backgroundColor.startsWith("rgba"));
  expect(await shows(), "the page of root, to whoever else is there").toBe(false);
  await other.getByRole("button", { name: /^You are/ }).click();
  await other.getByRole("button", { name: "Log out" }).click();
  await expect(page.getByRole("heading", { name: "Your session is over" })).toBeVisible();
  await become("root");
  await expect(taken).toHaveCount(0);
  await expect(page.getByRole("textbox", { name: "Value, as JSON" })).toHaveValue('"mine"');
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("two_tabs was saved")).toBeVisible();
  expect((await sent("two_tabs")).items.length).toBe(1);
  await become("olaf");
  await page.getByRole("button", { name: /^Go on as Olaf/ }).click();
  await expect(page.getByRole("button", { name: /^You are Olaf/ })).toBeVisible();
});

test("a logout in one tab is one in all, at once, and nothing of what was seen is left in them", async ({ page, context, guarded }) => {
  await page.goto(`${guarded.url}/ui/processes?process=order`);
  await logIn(page, "root");
  await expect(page.getByRole("status").filter({ hasText: "1 instance" })).toBeVisible();
  const other = await context.newPage();
  await other.goto(`${guarded.url}/ui/`);
  await other.getByRole("button", { name: /^You are Root/ }).click();
  await other.getByRole("button", { name: "Log out" }).click();
  await expect(page.getByRole("heading", { name: "You are logged out" })).toBeVisible();
  await expect(page.locator("body")).not.toContainText(/order/i);
  await other.getByRole("link", { name: "Log in" }).click();
  await logIn(other, "olaf");
  await expect(other.getByRole("button", { name: /^You are Olaf/ })).toBeVisible();
  await page.getByRole("link", { name: "Log in" }).click();
  await expect(page.getByRole("button", { name: /^You are Olaf/ })).toBeVisible();
});

const over = (of: Page) => of.getByRole("heading", { name: "Your session is over" });

test("a session that one tab finds over is over in all, and one login is enough", async ({ page, context, guarded }) => {
  await page.goto(`${guarded.url}/ui/processes/i/${guarded.instance}`);
  await logIn(page, "root");
  await page.getByRole("button", { name: "Add a variable" }).first().click();
  await page.getByRole("textbox", { name: "Name" }).fill("kept_here");
  const other = await context.newPage();
  await other.goto(`${guarded.url}/ui/`);
  await expect(other.getByRole("button", { name: /^You are Root/ })).toBeVisible();
  await page.waitForLoadState("networkidle");
  await context.clearCookies();
  await other.getByRole("link", { name: "Incidents" }).first().click();
  await expect(over(other)).toBeVisible();
  await expect(over(page)).toBeVisible();
  await other.getByLabel("Password").fill("root-secret");
  await other.getByRole("button", { name: "Log in", exact: true }).click();
  await expect(over(other)).toHaveCount(0);
  await expect(over(page)).toHaveCount(0);
  await expect(page.getByRole("textbox", { name: "Name" })).toHaveValue("kept_here");
});

/** What is said to who lacks it. */
const onOrder = (permission: string) => `You need ${permission} on \`order\`. Ask an admin.`;

test("what one never may is absent, and what one may not on this object names the permission", async ({ page, guarded }) => {
  await page.goto(`${guarded.url}/ui/processes/i/${guarded.instance}`);
  await logIn(page, "olaf");
  const rail = page.getByRole("navigation", { name: "Rooms" });
  await expect(rail.getByRole("link", { name: "Processes" })).toBeVisible();
  await expect(rail.getByRole("link", { name: "Tasks" })).toHaveCount(0);
  await expect(rail.getByRole("link", { name: "Admin" })).toHaveCount(0);
  for (const [name, permission] of [["Modify", "MODIFY_PROCESS_INSTANCE"], ["Migrate", "UPDATE_PROCESS_INSTANCE"], ["Cancel instance", "CANCEL_PROCESS_INSTANCE"], ["Add a variable", "UPDATE_PROCESS_INSTANCE"]] as const) {
    await expect(page.getByRole("button", { name, exact: true }).first()).toHaveAccessibleDescription(onOrder(permission));
  }
  await page.getByRole("button", { name: "Add a variable" }).first().focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page.getByText(onOrder("UPDATE_PROCESS_INSTANCE")).last()).toBeVisible();
  // Who goes there by the address is refused by the server, in the same words.
  await page.goto(`${guarded.url}/ui/processes/i/${guarded.instance}?do=modify&plan=add+charge`);
  await page.getByRole("button", { name: "Review 1" }).click();
  await page.getByRole("button", { name: "Apply" }).click();
  await expect(page.getByRole("dialog").getByText(onOrder("MODIFY_PROCESS_INSTANCE"))).toBeVisible();
  await page.goto(`${guarded.url}/ui/admin/users`);
  await expect(page.getByText("Admin is not open to you")).toBeVisible();
  await expect(page.getByText("You need ACCESS on component `admin`. Ask an admin.")).toBeVisible();
});

test("Home shows who does tasks their tasks alone, and says nothing of what they may not see", async ({ page, guarded }) => {
  await page.goto(`${guarded.url}/ui/`);
  await logIn(page, "anna");
  await expect(page.getByText("Your work is under Tasks")).toBeVisible();
  await expect(page.getByRole("link", { name: "Open tasks", exact: true })).toBeVisible();
  for (const absent of ["With incidents", "What goes wrong", "You may not do that", "nothing is stuck"]) await expect(page.getByText(absent)).toHaveCount(0);
  await page.getByRole("link", { name: "My tasks" }).click();
  await expect(page).toHaveURL(/\/ui\/tasks\?view=mine$/);
  await expect(page.getByText("You are anna here.")).toBeVisible();
});

test("a list without rows says to who may not read all that there may be others", async ({ page, guarded }) => {
  await page.goto(`${guarded.url}/ui/decisions`);
  await logIn(page, "olaf");
  const limited = page.getByText("Only what you may read is listed.");
  await expect(page.getByText("No decisions yet")).toBeVisible();
  await expect(limited).toBeVisible();
  await page.goto(`${guarded.url}/ui/incidents`);
  await expect(page.getByText("No incidents")).toBeVisible();
  await expect(limited).toBeVisible();
  await page.context().clearCookies();
  await page.goto(`${guarded.url}/ui/decisions`);
  await logIn(page, "root");
  await expect(page.getByText("No decisions yet")).toBeVisible();
  await expect(limited).toHaveCount(0);
});

test("people with tasks are known by their login", async ({ page, guarded }) => {
  await page.goto(`${guarded.url}/ui/tasks?view=mine`);
  await logIn(page, "anna");
  await expect(page.getByText("You are anna here.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Set your name" })).toHaveCount(0);
});

test("what one may do nowhere names its permission before it is tried, and comes with the grant", async ({ page, guarded }) => {
  const refused: string[] = [];
  page.on("response", (answer) => void (answer.status() === 403 && refused.push(answer.url())));
  await page.goto(`${guarded.url}/ui/processes?process=order&state=active`);
  await logIn(page, "olaf");
  const cancel = page.getByRole("button", { name: /^Cancel all/ });
  const needs = "You need CREATE_BATCH_OPERATION_CANCEL_PROCESS_INSTANCE on batch. Ask an admin.";
  await expect(cancel).toHaveAttribute("aria-disabled", "true");
  await expect(cancel).toHaveAccessibleDescription(needs);
  await cancel.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page.getByText(needs).last()).toBeVisible();
  await page.getByRole("button", { name: "More" }).click();
  await expect(page.getByRole("menuitem", { name: "Migrate…" })).toContainText("You need CREATE_BATCH_OPERATION_MIGRATE_PROCESS_INSTANCE on batch.");
  await page.keyboard.press("Escape");
  await page.goto(`${guarded.url}/ui/studio?sample=order`);
  await expect(page.getByRole("button", { name: "Deploy", exact: true })).toHaveAccessibleDescription("You need CREATE on resource. Ask an admin.");
  expect(refused).toEqual([]);

  const root = client(guarded.url, basic("root", "root-secret"));
  const { authorizationKey } = await root.post("/authorizations", { ownerType: "USER", ownerId: "olaf", resourceType: "BATCH", resourceId: "*", permissionTypes: ["CREATE"] });
  await page.goto(`${guarded.url}/ui/processes?process=order&state=active`);
  await cancel.click();
  await expect(page.getByRole("dialog", { name: /^Cancel \d+ instances?\?$/ })).toBeVisible();
  await page.keyboard.press("Escape");
  await root.send("DELETE", `/authorizations/${String(authorizationKey)}`);
});
