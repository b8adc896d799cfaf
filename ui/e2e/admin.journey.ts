// Admin with people: who there is, who belongs to what, what is granted, and why somebody may do something.
import { expect, fits } from "./journey";
import { enter, test } from "./peopled";

test("a user is made, changed, put into a group, and deleted", async ({ page, guarded }) => {
  await enter(page, guarded.url, "/admin/users");
  await page.getByRole("button", { name: "New user" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("User name").fill("not an id");
  await expect(dialog.getByText("An id has letters")).toBeVisible();
  await dialog.getByLabel("User name").fill("zoe");
  await dialog.getByLabel("Name", { exact: true }).fill("Zoe");
  await dialog.getByLabel("Password").fill("zoe-secret");
  await dialog.getByRole("button", { name: "New user" }).click();
  await expect(page.getByText("zoe was created")).toBeVisible();
  await page.getByRole("link", { name: "zoe" }).click();
  await page.getByRole("button", { name: "Edit" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("Zoe Lang");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Zoe Lang")).toBeVisible();
  await page.goto(`${guarded.url}/ui/admin/groups/assessors`);
  await page.getByRole("button", { name: "Add a user" }).click();
  await dialog.getByLabel("User name").fill("zoe");
  await dialog.getByRole("button", { name: "Add" }).click();
  await expect(page.getByRole("link", { name: "zoe" })).toBeVisible();
  await page.getByRole("button", { name: "Remove zoe" }).click();
  await expect(page.getByRole("link", { name: "zoe" })).toHaveCount(0);
  await page.goto(`${guarded.url}/ui/admin/users/zoe`);
  await page.getByRole("button", { name: "Delete" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(page.getByText("zoe was deleted")).toBeVisible();
  await expect(page).toHaveURL(/\/admin\/users$/);
});

test("what is granted is granted at once, and why somebody may do it is told", async ({ page, guarded }) => {
  await enter(page, guarded.url, "/admin/users/olaf");
  await page.getByRole("button", { name: "New authorization" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Kind of resource").selectOption("MESSAGE");
  await dialog.getByLabel("Which").selectOption({ label: "One, by its id" });
  await dialog.getByLabel("Id of the resource").fill("paid");
  await expect(dialog.getByRole("button", { name: "New authorization" })).toBeDisabled();
  await dialog.getByLabel("CREATE").check();
  await dialog.getByRole("button", { name: "New authorization" }).click();
  await expect(page.getByText("The authorization was created")).toBeVisible();
  await page.goto(`${guarded.url}/ui/admin/access?type=USER&id=olaf`);
  const row = page.getByRole("row").filter({ hasText: "paid" });
  await expect(row).toContainText("Message");
  await expect(row).toContainText("directly");
  // By the role of a group.
  await page.goto(`${guarded.url}/ui/admin/access?type=USER&id=anna`);
  await expect(page.getByRole("row").filter({ hasText: "UPDATE_USER_TASK" })).toContainText("Role clerk, by group assessors");
  await expect(page.getByRole("row").filter({ hasText: "tasklist" })).toContainText("Group assessors");
  // And it is taken back.
  await page.goto(`${guarded.url}/ui/admin/authorizations?id=olaf&type=USER&resource=MESSAGE`);
  await page.getByRole("button", { name: /^Revoke/ }).click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByText("No authorizations")).toBeVisible();
});

test("a role that every cluster has cannot be changed, and its members can", async ({ page, guarded }) => {
  await enter(page, guarded.url, "/admin/roles/admin");
  await expect(page.getByText("Built in")).toBeVisible();
  await expect(page.getByText("PROCESS_DEFINITION").or(page.getByText("Process definition")).first()).toBeVisible();
  for (const name of ["Edit", "Delete", "New authorization"]) await expect(page.getByRole("button", { name, exact: true })).toHaveCount(0);
  await expect(page.getByRole("button", { name: /^Revoke/ })).toHaveCount(0);
  await page.goto(`${guarded.url}/ui/admin/roles/clerk`);
  await expect(page.getByRole("button", { name: "Delete", exact: true })).toBeVisible();
});

test("on a phone all parts are there, and nothing sticks out", async ({ page, guarded }) => {
  await page.setViewportSize({ width: 360, height: 760 });
  await enter(page, guarded.url, "/admin/roles");
  for (const part of ["users", "groups", "groups/assessors", "roles", "roles/admin", "tenants", "mapping-rules", "authorizations", "access?type=USER&id=anna"]) {
    await page.goto(`${guarded.url}/ui/admin/${part}`);
    await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
    await expect(page.getByRole("combobox", { name: "Parts of Admin" })).toBeVisible();
    await fits(page);
  }
});

test("who there is, and who did what, are sorted by columns", async ({ page, guarded }) => {
  await enter(page, guarded.url, "/admin/users?sort=-name");
  const row = page.getByRole("row").nth(1);
  await expect(row).toContainText("Root");
  await page.getByRole("columnheader", { name: "E-mail" }).click();
  await expect(page).toHaveURL(/sort=email/);
  await expect(row).toContainText("anna@example.org");
  await page.goto(`${guarded.url}/ui/admin/audit`);
  await expect(page.getByRole("columnheader", { name: "When" })).toHaveAttribute("aria-sort", "descending");
  const asked = page.waitForResponse((each) => (each.request().postData() ?? "").includes('"field":"operationType"'));
  await page.getByRole("columnheader", { name: "What" }).click();
  expect((await asked).status()).toBe(200);
  await expect(row).toBeVisible();
});
