// What operators do and read beside the instances: jobs that are changed, the feed of an instance, batch operations by state and type.
import { readFile } from "node:fs/promises";
import { sound } from "./axe";
import { expect, test } from "./journey";
import { client } from "./seed.mjs";

test("a job gets more tries, and its worker more time while it has it", async ({ page, open, api }) => {
  const example = await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8");
  await api.deploy([["order.bpmn", example.replaceAll('"order"', '"order-changed"').replaceAll("charge-card", "charge-changed")]]);
  await api.start("order-changed");
  await open("/jobs/charge-changed");
  const change = page.getByRole("button", { name: /^Change the job/ });
  await change.click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByLabel("Time from now on")).toBeDisabled();
  await expect(dialog.getByRole("button", { name: "Change" })).toBeDisabled();
  await dialog.getByLabel("Tries left").fill("0");
  await expect(dialog.getByRole("alert")).toHaveText("Tries are a whole number, at least 1.");
  await dialog.getByLabel("Tries left").fill("7");
  await sound(page, "a job is changed");
  await page.keyboard.press("Enter");
  await expect(page.getByText("The job charge-changed is changed")).toBeVisible();
  const row = page.getByRole("row").nth(1);
  await expect(row.getByRole("gridcell").nth(3)).toHaveText("7");

  const [held] = await api.jobs("charge-changed", 1, "w-1");
  if (held === undefined) throw new Error("no worker got the job");
  await expect(row).toContainText("w-1");
  await change.click();
  await expect(dialog.getByText("w-1 has the job")).toBeVisible();
  await dialog.getByLabel("Time from now on").fill("7200");
  await dialog.getByRole("button", { name: "Change" }).click();
  await expect(dialog).toHaveCount(0);
  const deadline = async () => Date.parse(String((await api.post("/jobs/search", { filter: { jobKey: held.jobKey } })).items[0]?.deadline)) - Date.now();
  await expect.poll(deadline).toBeGreaterThan(3_600_000);

  // It ends while it is being changed: that is said where one stands.
  await change.click();
  await dialog.getByLabel("Tries left").fill("9");
  await api.complete(held);
  await dialog.getByRole("button", { name: "Change" }).click();
  await expect(dialog.getByRole("alert")).toContainText(held.jobKey);
});

test("the feed says what happened, the newest first, and leads to the elements", async ({ page, open, api }) => {
  const example = await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8");
  await api.deploy([["order.bpmn", example.replaceAll('"order"', '"order-fed"').replaceAll("charge-card", "charge-fed")]]);
  const { processInstanceKey: key } = await api.start("order-fed");
  const [job] = await api.jobs("charge-fed");
  if (job === undefined) throw new Error("no worker got the job");
  await api.fail(job, "The card network is down");
  await open(`/processes/i/${key}?tab=feed`);
  const rows = page.getByRole("list", { name: "Feed" }).getByRole("listitem");
  await expect(rows.first()).toContainText("Job failed, no tries left");
  await expect(rows.first()).toContainText("The card network is down");
  await expect(rows.last()).toContainText("The instance began");
  await rows.filter({ hasText: "Charge card" }).filter({ hasText: "activated" }).getByRole("button", { name: "Charge card" }).click();
  await expect(page).toHaveURL(/scope=\d+/);
  await sound(page, "the feed");
  await api.post(`/process-instances/${key}/cancellation`);
  await expect(rows.first()).toContainText("The instance is cancelled");
});

test("batch operations are listed by state and type", async ({ page, empty }) => {
  const api = client(empty.url);
  const operation = (what: string) => api.post(`/process-instances/${what}`, { filter: { processInstanceKey: "2251799813685000" } });
  await Promise.all([operation("cancellation"), operation("incident-resolution")]);
  await page.goto(`${empty.url}/ui/batches`);
  await expect(page.getByRole("row", { name: /Cancel process instances/ }).first()).toBeVisible();
  await page.getByRole("combobox", { name: "Operation" }).selectOption("Retry incidents");
  await expect(page).toHaveURL(/type=RESOLVE_INCIDENT/);
  await expect(page.getByRole("row", { name: /Retry incidents/ }).first()).toBeVisible();
  await expect(page.getByRole("row", { name: /Cancel process instances/ })).toHaveCount(0);
  await page.getByRole("combobox", { name: "State" }).selectOption("Suspended");
  await expect(page.getByText("No batch operation is of this filter")).toBeVisible();
  await page.getByRole("link", { name: "Show all" }).click();
  await expect(page.getByRole("row", { name: /Cancel process instances/ }).first()).toBeVisible();
});

test("jobs say who works on them, and which nobody takes", async ({ page, open }) => {
  await open("/jobs");
  const alone = page.getByRole("row", { name: /estimate-repair/ });
  await expect(alone).toContainText("no worker asks");
  await page.getByRole("navigation", { name: "Job types" }).getByRole("link", { name: /charge-card/ }).click();
  await expect(page.getByRole("list", { name: "Workers" })).toContainText("payments-7f9c");
  await expect(page.getByRole("figure", { name: "Within the hour" })).toContainText(/[1-9]\d* created[1-9]\d* done[1-9]\d* failed/);
  await page.getByRole("link", { name: "Failed", exact: true }).click();
  await expect(page).toHaveURL(/jobs\/charge-card\?view=failed/);
  await expect(page.locator('.list-head [aria-current="page"]')).toHaveText(["Failed"]);
  await expect(page.getByRole("row").nth(2)).toContainText("card network");
  await page.getByRole("link", { name: /estimate-repair/ }).click();
  await expect(page.getByText(/No worker has asked since .* Start one for jobs of the type estimate-repair/)).toBeVisible();
  await expect(page.getByRole("figure", { name: "Within the hour" })).toHaveText(/Within the hour[1-9]\d* created$/);
});

test("a worker that begins to ask is seen: by its type, and where its job is", async ({ page, empty }) => {
  const api = client(empty.url);
  // Other journeys on this server leave jobs of the type that the example has, and a worker would be given one of those.
  const example = await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8");
  await api.deploy([["order.bpmn", example.replaceAll("charge-card", "charge-later")]]);
  const { processInstanceKey } = await api.start("order", { orderId: "o-1", amount: 5 });
  await page.goto(`${empty.url}/ui/jobs`);
  const row = page.getByRole("row", { name: /charge-later/ });
  await expect(row).toContainText("no worker asks");
  await page.goto(`${empty.url}/ui/processes/i/${processInstanceKey}`);
  const why = page.getByRole("region", { name: "What it waits for" });
  await expect(why).toContainText("No worker asks for charge-later");
  expect(await api.jobs("charge-later", 1, "w-1")).toHaveLength(1);
  await expect(why).toContainText("Worker w-1 is at work on charge-later");
  await page.goto(`${empty.url}/ui/jobs`);
  await expect(row).toContainText("w-1");
  await expect(row).not.toContainText("no worker asks");
  await row.getByRole("link").click();
  await expect(page.getByRole("list", { name: "Workers" }).getByRole("listitem")).toContainText(["w-11 at work"]);
});

test("of more variables than one list holds, one goes on by a link that shows others the same", async ({ page, open, api }) => {
  const { processInstanceKey } = await api.start("order", Object.fromEntries(Array.from({ length: 1_005 }, (_, n) => [`v${String(n).padStart(4, "0")}`, n])));
  await open(`/processes/i/${processInstanceKey}?tab=variables`);
  await expect(page.getByText("Only 1,000 of 1,005 are listed.")).toBeVisible();
  await expect(page.getByText("v1004", { exact: true })).toHaveCount(0);
  await page.getByRole("link", { name: "Continue from here" }).click();
  await expect(page.getByText("v1004", { exact: true })).toBeVisible();
  await expect(page.locator(".variable")).toHaveCount(5);
  await page.reload();
  await expect(page.getByText("5 more of 1,005 are listed.")).toBeVisible();
  await expect(page.getByRole("link", { name: "Continue from here" })).toHaveCount(0);
  await page.getByRole("link", { name: "Back to the beginning" }).click();
  await expect(page.getByText("v0000", { exact: true })).toBeVisible();
  await expect(page).not.toHaveURL(/after=/);
});
