// What somebody keeps on the server: views that others open too, a model that is drawn in two browsers, and what is written on a task.
import { sound } from "./axe";
import { expect } from "./journey";
import { damage, damageForm, damageModel } from "./people.mjs";
import { enter, logIn, test } from "./peopled";

test("a view is saved, shared, opened by somebody else, and deleted", async ({ page, browser, guarded }) => {
  const title = `Broken orders ${Date.now()}`;
  await page.goto(`${guarded.url}/ui/processes?process=order&state=incident`);
  await logIn(page, "root");
  const views = page.getByRole("button", { name: "Saved views" });
  await views.click();
  await page.getByRole("textbox", { name: "Name of the view" }).fill(title);
  await page.keyboard.press("Enter");
  await expect(page.getByText(`The view ${title} is saved`)).toBeVisible();
  await page.getByRole("button", { name: `Share ${title} with everyone` }).click();
  await expect(page.getByRole("button", { name: `Do not share ${title}` })).toBeVisible();
  await sound(page, "saved views");
  await expect(page.getByRole("dialog", { name: "Saved views" })).toBeVisible();

  const elsewhere = await browser.newContext();
  const other = await elsewhere.newPage();
  await other.goto(`${guarded.url}/ui/processes`);
  await logIn(other, "olaf");
  await other.getByRole("button", { name: "Saved views" }).click();
  await expect(other.getByText("shared by root")).toBeVisible();
  await expect(other.getByRole("button", { name: `Delete the view ${title}` })).toHaveCount(0);
  await other.getByRole("button", { name: title }).first().click();
  await expect(other).toHaveURL(/process=order/);
  await expect(other).toHaveURL(/state=incident/);
  await elsewhere.close();

  await page.getByRole("button", { name: `Delete the view ${title}` }).click();
  await expect(page.getByText(title, { exact: true })).toHaveCount(0);
});

test("a model that two browsers draw is overwritten by neither, and a draft from before the login is taken along", async ({ page, browser, guarded }) => {
  await page.goto(`${guarded.url}/ui/login`);
  // As a browser had it while the server had no login.
  await page.evaluate(() => localStorage.setItem("skep-draft-123456789012", JSON.stringify({ name: "Old", xml: '{"id": "old-form", "type": "default", "components": []}', saved: Date.now() })));
  await page.goto(`${guarded.url}/ui/studio`);
  await logIn(page, "root");
  await expect(page.getByText("only in this browser")).toBeVisible();
  await page.getByRole("button", { name: "Keep the draft of this browser on the server" }).click();
  await expect(page.getByText("only in this browser")).toHaveCount(0);
  await expect(page.getByText("old-form")).toBeVisible();

  await page.getByRole("button", { name: "New process" }).click();
  const kept = page.getByText("Kept on the server");
  await expect(kept).toBeVisible();
  const address = page.url();
  const elsewhere = await browser.newContext();
  const other = await elsewhere.newPage();
  await other.goto(address);
  await logIn(other, "root");
  await expect(other.getByText("Kept on the server")).toBeVisible();

  const append = async (of: typeof page, what: string) => {
    await of.locator('.djs-element[data-element-id="start"]').click();
    await of.locator(`.djs-context-pad [data-action="append.${what}"]`).click();
  };
  await append(page, "end-event");
  await expect(page.locator('.djs-shape[data-element-id^="Event_"]')).toBeVisible();
  // It is sent a moment later, and then the browser has nothing that the server has not.
  await expect.poll(() => page.evaluate(() => Object.keys(localStorage).filter((name) => name.startsWith("skep-unsent-")).length)).toBe(0);
  await expect(kept).toBeVisible();
  await append(other, "append-task");
  await expect(other.getByRole("alert")).toContainText("Changed elsewhere meanwhile");
  await other.getByRole("button", { name: "Keep yours as a copy" }).click();
  await expect(other).not.toHaveURL(address);
  await expect(other.getByText("Kept on the server")).toBeVisible();
  await expect(other.locator('.djs-shape[data-element-id^="Activity_"]')).toBeVisible();
  await other.goto(address);
  await expect(other.locator('.djs-shape[data-element-id^="Event_"]')).toBeVisible();
  await expect(other.locator('.djs-shape[data-element-id^="Activity_"]')).toHaveCount(0);
  await elsewhere.close();
});

test("a model is shared, and drawn on by somebody else as a model of his own", async ({ page, browser, guarded }) => {
  await enter(page, guarded.url, "/studio");
  await page.getByRole("button", { name: "New form" }).click();
  await expect(page.getByText("Kept on the server")).toBeVisible();
  const address = page.url();
  const name = (await page.locator("#page-title h1").textContent()) ?? "";
  await page.getByRole("link", { name: "Drafts" }).click();
  await page.getByRole("button", { name: `Share ${name} with everyone` }).click();
  await expect(page.getByRole("button", { name: `Do not share ${name}` })).toHaveAttribute("aria-pressed", "true");

  const elsewhere = await browser.newContext();
  const other = await elsewhere.newPage();
  await enter(other, guarded.url, "/studio", "olaf");
  const row = other.locator(".studio-list li").filter({ hasText: name });
  await expect(row.getByText("shared by root")).toBeVisible();
  await expect(row.getByRole("button", { name: /Share|Do not share|Delete/ })).toHaveCount(0);
  await row.getByRole("button", { name }).click();
  await expect(other.getByText("Kept on the server")).toBeVisible();
  expect(other.url()).not.toBe(address);

  await page.getByRole("button", { name: `Do not share ${name}` }).click();
  await expect(page.getByRole("button", { name: `Share ${name} with everyone` })).toBeVisible();
  await other.goto(`${guarded.url}/ui/studio`);
  await expect(other.locator(".studio-list li").filter({ hasText: name })).toHaveCount(1);
  await expect(other.getByText("shared by root")).toHaveCount(0);
  await elsewhere.close();
});

test("what is written on a task is there in another browser, and goes with the task", async ({ page, browser, guarded }) => {
  await guarded.root.deploy([["damage.bpmn", damageModel], ["damage.form", damageForm]]);
  const { processInstanceKey } = await guarded.root.start("damage", damage(7, "12345678901234567890"));
  let task = "";
  await expect.poll(async () => (task = String((await guarded.root.post("/user-tasks/search", { filter: { processInstanceKey, state: "CREATED" } })).items[0]?.userTaskKey ?? ""))).not.toBe("");
  await guarded.root.post(`/user-tasks/${task}/assignment`, { assignee: "root" });
  await enter(page, guarded.url, `/tasks?task=${task}`);
  const customer = page.getByRole("textbox", { name: "Customer" });
  await customer.fill("Written at home");
  await expect(page.getByText("Draft kept on the server")).toBeVisible();
  expect(await page.evaluate(() => Object.keys(localStorage).filter((name) => name.startsWith("skep-draft-")))).toEqual([]);

  const elsewhere = await browser.newContext();
  const other = await elsewhere.newPage();
  await enter(other, guarded.url, `/tasks?task=${task}`);
  await expect(other.getByText("Draft restored")).toBeVisible();
  await expect(other.getByRole("textbox", { name: "Customer" })).toHaveValue("Written at home");
  await sound(other, "a draft that is restored");
  const kept = () => page.evaluate(async (name) => (await fetch(`/skep/v1/kept/drafts/task-${name}`)).text(), task);
  // Both write: what one did not touch is the other one's.
  await other.getByLabel("Covered by the policy").check();
  await expect.poll(kept).toContain('"covered"');
  await customer.fill("Written at work");
  await expect.poll(kept).toContain("Written at work");
  await page.reload();
  await expect(customer).toHaveValue("Written at work");
  await expect(page.getByLabel("Covered by the policy")).toBeChecked();
  await page.getByRole("button", { name: "Discard what I wrote" }).click();
  await expect(customer).toHaveValue("Customer 7");
  await expect(page.getByText("Draft restored")).toHaveCount(0);

  await customer.fill("Somebody else");
  await expect(page.getByText("Draft kept on the server")).toBeVisible();
  await page.getByRole("button", { name: "Complete", exact: true }).click();
  await expect(page.getByText("Assess the damage is done")).toBeVisible();
  const drafts = () => page.evaluate(async () => ((await (await fetch("/skep/v1/kept/drafts")).json()) as { items: unknown[] }).items.length);
  await expect.poll(drafts).toBe(0);
  await elsewhere.close();
});
