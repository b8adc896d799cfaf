// Admin on a server without login: what holds for the whole cluster is there, people and rights are not.
import { BIG } from "./seed.mjs";
import { expect, test } from "./journey";

test("a server that asks nobody says so, and has no people to list", async ({ page, open }) => {
  await open("/");
  await page.getByRole("button", { name: "Login is off" }).click();
  await expect(page.getByText("This server does not require a login")).toBeVisible();
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Admin" }).click();
  const parts = page.getByRole("navigation", { name: "Parts of Admin" });
  const identity = (await page.request.get(new URL("/v2/authentication/me", page.url()).href)).status() !== 501;
  await expect(parts.getByRole("link", { name: "Cluster variables" })).toBeVisible();
  await expect(parts.getByRole("link", { name: "Users" })).toHaveCount(identity ? 1 : 0);
  await open("/login");
  await expect(page.getByText("Login is off")).toBeVisible();
});

test("pages of a server without login do not ask who looks at them, and say nothing to the console", async ({ page, open }) => {
  const said: string[] = [];
  const asked: string[] = [];
  page.on("console", (message) => void said.push(message.text()));
  page.on("request", (request) => void asked.push(new URL(request.url()).pathname));
  await open("/processes");
  await expect(page.getByRole("row").nth(1)).toBeVisible();
  expect(asked).toContain("/v2/process-instances/search");
  expect(asked).not.toContain("/v2/authentication/me");
  expect(said).toEqual([]);
});

test("a cluster variable is made, changed and deleted, and keeps its digits", async ({ page, open, api }) => {
  await open("/admin/variables");
  await page.getByRole("button", { name: "New variable" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("ceiling");
  await dialog.getByLabel("Value, as JSON").fill("null");
  await expect(dialog.getByText("A cluster variable is not null.")).toBeVisible();
  await dialog.getByLabel("Value, as JSON").fill(BIG);
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("ceiling was created")).toBeVisible();
  expect((await api.send("GET", "/cluster-variables/global/ceiling")).value).toBe(BIG);
  await page.getByRole("button", { name: "Value of ceiling" }).click();
  await expect(dialog.getByLabel("Value, as JSON")).toHaveValue(BIG);
  await dialog.getByLabel("Value, as JSON").fill(`{"most": ${BIG}}`);
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("ceiling was saved")).toBeVisible();
  await page.getByRole("button", { name: "Delete ceiling?" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(page.getByText("ceiling was deleted")).toBeVisible();
});

test("a listener to all tasks is made, changed and deleted", async ({ page, open, api }) => {
  await open("/admin/listeners");
  await page.getByRole("button", { name: "New listener" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Id").fill("watch-all");
  await dialog.getByLabel("Job type").fill("watch-tasks");
  await dialog.getByLabel("everything").uncheck();
  await expect(dialog.getByRole("button", { name: "Save" })).toBeDisabled();
  // One for which no task of the other journeys waits.
  await dialog.getByLabel("cancelling").check();
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("watch-all was created")).toBeVisible();
  await page.getByRole("button", { name: "Edit: watch-all" }).click();
  await dialog.getByLabel("Priority").fill("70");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Priority 70")).toBeVisible();
  expect(await api.send("GET", "/global-task-listeners/watch-all")).toMatchObject({ type: "watch-tasks", priority: 70, eventTypes: ["canceling"] });
  await page.getByRole("button", { name: "Delete: watch-all" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(page.getByText("No task listeners")).toBeVisible();
});

test("usage and the audit log are told", async ({ page, open }) => {
  await open("/admin/usage");
  await expect(page.getByText("Process instances")).toBeVisible();
  await page.getByLabel("Time", { exact: true }).selectOption("365");
  await expect(page).toHaveURL(/span=365/);
  await open("/admin/audit");
  await page.getByLabel("Category").selectOption("USER_TASKS");
  await expect(page).toHaveURL(/category=USER_TASKS/);
  await expect(page.getByText("Nothing was recorded")).toBeVisible();
});
