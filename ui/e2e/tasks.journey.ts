// Tasks: what people do, that nothing they wrote is lost, and that a form changes no more than they did.
import type { Page } from "@playwright/test";
import { damage, damageModel } from "./people.mjs";
import { BIG, type Client } from "./seed.mjs";
import { expect, test } from "./journey";

/** A task of one's own, of the process with two tasks. */
async function newTask(api: Client, element = "assess"): Promise<{ key: string; instance: string }> {
  const { processInstanceKey } = await api.start("damage", damage(7, BIG));
  return nextTask(api, processInstanceKey, element);
}

async function nextTask(api: Client, instance: string, element: string): Promise<{ key: string; instance: string }> {
  let key = "";
  await expect.poll(async () => {
    const { items } = await api.post("/user-tasks/search", { filter: { processInstanceKey: instance, elementId: element, state: "CREATED" } });
    key = String(items[0]?.userTaskKey ?? "");
    return key;
  }).not.toBe("");
  return { key, instance };
}

const valueOf = async (api: Client, instance: string, name: string) =>
  (await api.post("/variables/search", { filter: { processInstanceKey: instance, name } })).items[0]?.value;

const iAm = (page: Page, name: string) => page.addInitScript((who) => localStorage.setItem("skep-who", who), name);

test("a form is filled in, and what was not touched keeps its digits", async ({ page, open, api }) => {
  const { key, instance } = await newTask(api);
  await open(`/tasks?task=${key}`);
  await expect(page.getByText("Has more digits than a form can show: claim")).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Customer" })).not.toBeEditable();
  await page.getByRole("button", { name: "Claim" }).last().click();
  await page.getByRole("textbox", { name: "Your name" }).fill("anna");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("anna (you)").last()).toBeVisible();
  await page.getByRole("textbox", { name: "Customer" }).fill("");
  await page.getByRole("button", { name: "Complete", exact: true }).click();
  await expect(page.getByText("Something in the form is not right yet.")).toBeVisible();
  await page.getByRole("textbox", { name: "Customer" }).fill("Somebody else");
  await page.getByLabel("Covered by the policy").check();
  await page.getByRole("button", { name: "Complete", exact: true }).click();
  await expect(page.getByText("Assess the damage is done")).toBeVisible();
  await expect.poll(() => valueOf(api, instance, "covered")).toBe("true");
  // The amount was 700.50, and still is: not one digit of what was not touched is another one.
  expect(await valueOf(api, instance, "claim")).toBe(`{"policy":${BIG},"customer":"Somebody else","amount":700.50}`);
  expect(await valueOf(api, instance, "urgency")).toBe('"low"');
  expect(await valueOf(api, instance, "overdue")).toBe("false");
});

test("a number that the form would round is not sent", async ({ page, open, api }) => {
  const { key } = await newTask(api);
  await iAm(page, "anna");
  await api.post(`/user-tasks/${key}/assignment`, { assignee: "anna" });
  await open(`/tasks?task=${key}`);
  await page.getByLabel("Amount").fill("1234567890123456789");
  await page.getByRole("button", { name: "Complete", exact: true }).click();
  await expect(page.getByText("A form would round what you typed: claim.amount")).toBeVisible();
});

test("a task without a form is completed with variables, as they were written", async ({ page, open, api }) => {
  const { key, instance } = await newTask(api);
  await api.post(`/user-tasks/${key}/completion`);
  const pay = await nextTask(api, instance, "pay");
  await iAm(page, "anna");
  await open(`/tasks?task=${pay.key}`);
  await page.getByRole("button", { name: "Claim" }).last().click();
  await page.getByRole("button", { name: "Add a variable" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("paid");
  await page.getByRole("textbox", { name: "Value, as JSON" }).fill(`{"amount": ${BIG}}`);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.locator(".value").filter({ hasText: "paid" })).toContainText(BIG);
  await page.getByRole("button", { name: "Complete", exact: true }).click();
  await expect(page.getByText("Pay the customer is done")).toBeVisible();
  await expect.poll(() => valueOf(api, instance, "paid")).toBe(`{"amount":${BIG}}`);
});

test("a draft is there again after the page was left", async ({ page, open, api }) => {
  const { key } = await newTask(api);
  await iAm(page, "anna");
  await api.post(`/user-tasks/${key}/assignment`, { assignee: "anna" });
  await open(`/tasks?task=${key}`);
  await page.getByRole("textbox", { name: "Customer" }).fill("Written before lunch");
  await expect(page.getByText("Draft kept in this browser")).toBeVisible();
  await open("/");
  await open(`/tasks?task=${key}`);
  await expect(page.getByRole("textbox", { name: "Customer" })).toHaveValue("Written before lunch");
  await page.getByRole("button", { name: "Discard what I wrote" }).click();
  await expect(page.getByRole("textbox", { name: "Customer" })).toHaveValue("Customer 7");
});

test("a task that somebody takes or completes meanwhile says who, and keeps what was written", async ({ page, open, api }) => {
  const { key } = await newTask(api);
  await iAm(page, "anna");
  await api.post(`/user-tasks/${key}/assignment`, { assignee: "anna" });
  await open(`/tasks?task=${key}`);
  await page.getByRole("textbox", { name: "Customer" }).fill("Mine");
  await api.post(`/user-tasks/${key}/assignment`, { assignee: "ben" });
  await expect(page.getByText("ben has taken this task meanwhile")).toBeVisible({ timeout: 90_000 });
  await expect(page.getByRole("textbox", { name: "Customer" })).toHaveValue("Mine");
  await expect(page.getByRole("button", { name: "Complete", exact: true })).toHaveCount(0);
  await page.getByRole("button", { name: "Take it over" }).click();
  await expect(page.getByRole("button", { name: "Complete", exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Stop updating" }).or(page.locator(".live")).first().click();
  await api.post(`/user-tasks/${key}/completion`);
  await page.getByRole("button", { name: "Complete", exact: true }).click();
  await expect(page.getByText("That was not done")).toBeVisible();
  await expect(page.getByText("This task was completed meanwhile; anna had it")).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Customer" })).toHaveValue("Mine");
});

test("views, filters and the order stand in the address", async ({ page, open }) => {
  await open("/");
  await page.getByRole("link", { name: "Open tasks" }).click();
  await expect(page.getByRole("heading", { name: "Tasks" })).toBeVisible();
  // What is due first stands first.
  await expect(page.locator(".task-item").first()).toContainText(/Due .* ago/);
  await page.getByRole("combobox", { name: "Filter" }).selectOption("Candidate group");
  await page.getByRole("searchbox", { name: "Candidate group" }).fill("managers");
  await expect(page).toHaveURL(/group=managers/);
  await expect(page.locator(".task-item").filter({ hasText: "Assess" })).toHaveCount(0);
  await expect(page.locator(".task-item").filter({ hasText: "Approve expense" }).first()).toBeVisible();
  await page.reload();
  await expect(page.getByRole("searchbox", { name: "Candidate group" })).toHaveValue("managers");
  await open("/tasks?view=unassigned&group=nobody-has-this");
  await expect(page.getByText("No task is of this filter")).toBeVisible();
});

test("many tasks are claimed and given back at a time", async ({ page, open, api }) => {
  await iAm(page, "carla");
  await open("/tasks?process=approval");
  const rows = page.locator(".task-row");
  await expect(rows.nth(2)).toBeVisible();
  await rows.nth(0).getByRole("checkbox").check();
  await rows.nth(1).getByRole("checkbox").check();
  await page.getByRole("button", { name: "Claim", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Claim" }).click();
  await expect(page.getByText("All 2 done")).toBeVisible();
  await page.getByRole("combobox", { name: "Which tasks" }).selectOption("Mine");
  await expect(page.getByRole("status").filter({ hasText: "2 tasks" })).toBeVisible();
  const { items } = await api.post("/user-tasks/search", { filter: { assignee: "carla" } });
  expect(items.length).toBe(2);
});

test("the next task that nobody has is claimed and opened, also while others claim theirs", async ({ page, open, api }) => {
  // Of a process of its own: what others wait for stays as it is.
  await api.deploy([["claimed.bpmn", damageModel.replace('id="damage" name="Damage report"', 'id="claimed" name="Claimed"').replace('bpmnElement="damage"', 'bpmnElement="claimed"')]]);
  for (const n of [1, 2, 3]) await api.start("claimed", damage(n, BIG));
  const free = async () => {
    const { items } = await api.post("/user-tasks/search", {
      filter: { processDefinitionId: "claimed", state: "CREATED", assignee: { $exists: false } },
      sort: [{ field: "dueDate", order: "ASC" }, { field: "creationDate", order: "ASC" }],
    });
    return items.map((each) => String(each.userTaskKey));
  };
  await expect.poll(async () => (await free()).length).toBe(3);
  await iAm(page, "dora");
  await open("/tasks?view=unassigned&process=claimed");
  const rows = page.locator(".task-item");
  await expect(rows).toHaveCount(3);
  // From now on the page does not learn by itself what others do.
  await page.getByRole("button", { name: "Live" }).click();
  const [first, second, third] = await free();
  await api.post(`/user-tasks/${first}/assignment`, { assignee: "ben" });
  await page.getByRole("button", { name: "Claim next" }).click();
  await expect(page).toHaveURL(new RegExp(`task=${second}`));
  await expect(page.getByText("dora (you)").first()).toBeVisible();
  await expect(rows).toHaveCount(1);
  await api.post(`/user-tasks/${third}/assignment`, { assignee: "ben" });
  await page.getByRole("button", { name: "Claim next" }).click();
  await expect(page.getByText("Somebody has each task of this list")).toBeVisible();
});

test("by keys: along the list, into a task and its process, and back", async ({ page, open }) => {
  await open("/tasks");
  await expect(page.locator(".task-item").first()).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await expect(page.getByText("1 selected")).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/task=\d+/);
  await page.getByRole("tab", { name: "Task" }).focus();
  await page.keyboard.press("ArrowRight");
  await expect(page.locator(".djs-element.sk-selected")).toBeVisible();
});

test("addresses of Tasklist lead to the same task and views, and a pasted key too", async ({ page, open, server, api }) => {
  const { key } = await newTask(api);
  await page.goto(`${server.url}/tasklist/${key}?filter=all-open`);
  await expect(page).toHaveURL(new RegExp(`/ui/tasks\\?task=${key}$`));
  await expect(page.getByRole("heading", { name: "Assess the damage" })).toBeVisible();
  await page.goto(`${server.url}/tasklist?filter=unassigned`);
  await expect(page.getByRole("combobox", { name: "Which tasks" })).toHaveValue("unassigned");
  await open("/");
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.getByRole("searchbox").fill(key);
  await page.getByRole("menuitem", { name: "User task" }).click();
  await expect(page).toHaveURL(new RegExp(`task=${key}`));
  await open("/tasks?task=2251799813685000");
  await expect(page.getByText("There is no such task")).toBeVisible();
});

test("the mark of bpmn.io stays visible on forms", async ({ page, open, api }) => {
  const { key } = await newTask(api);
  await open(`/tasks?task=${key}`);
  const mark = page.locator(".fjs-powered-by-link");
  await mark.scrollIntoViewIfNeeded();
  const seen = await mark.evaluate((element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    const there = document.elementFromPoint(left + width / 2, top + height / 2);
    return width > 20 && height > 10 && (element === there || element.contains(there));
  });
  expect(seen).toBe(true);
});

test("Home has the open tasks of who looks at it, the one that is due first at the top", async ({ page, open, api }) => {
  const later = await newTask(api);
  const late = await nextTask(api, String((await api.start("damage", damage(1, BIG))).processInstanceKey), "assess");
  await iAm(page, "mia");
  await open("/");
  await expect(page.getByText("wait for a person")).toBeVisible();
  const mine = page.getByRole("region", { name: "My tasks" });
  await expect(mine).toHaveCount(0);
  for (const { key } of [later, late]) await api.post(`/user-tasks/${key}/assignment`, { assignee: "mia" });
  await expect(mine.getByRole("listitem")).toHaveCount(2);
  await expect(page.getByText("2 of them assigned to you")).toBeVisible();
  await expect(mine.getByTitle("Overdue")).toHaveCount(1);
  await mine.getByRole("listitem").first().getByRole("link", { name: /^Assess the damage/ }).click();
  await expect(page).toHaveURL(new RegExp(`/tasks\\?view=mine&task=${late.key}$`));
});
