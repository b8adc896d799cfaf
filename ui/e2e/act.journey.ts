// Acting: every command says what it does before, and what became of it afterwards.
import { readFile } from "node:fs/promises";
import { BIG } from "./seed.mjs";
import { expect, instanceOf, test } from "./journey";
import { client } from "./seed.mjs";

test("the first process comes by a file", async ({ page, empty }) => {
  await page.goto(`${empty.url}/ui/`);
  await expect(page.getByRole("heading", { name: "No processes yet" })).toBeVisible();
  const broken = Buffer.from("<nothing/>");
  await page.getByLabel("Deploy a file").last().setInputFiles({ name: "broken.bpmn", mimeType: "text/xml", buffer: broken });
  await expect(page.getByText("The deployment was refused")).toBeVisible();
  const model = await readFile(new URL("../../examples/first-process.bpmn", import.meta.url));
  await page.getByLabel("Deploy a file").last().setInputFiles({ name: "first-process.bpmn", mimeType: "text/xml", buffer: model });
  await expect(page.getByRole("link", { name: /^Order/ })).toBeVisible();
  await client(empty.url).start("order", { orderId: "o-1" });
  await page.getByRole("link", { name: /^Order/ }).click();
  await expect(page.getByRole("status").filter({ hasText: "1 instance" })).toBeVisible();
});

test("a variable is edited as text, and what was not touched is not sent", async ({ page, open, api }) => {
  const { processInstanceKey: key } = await api.start("hostile", `{"big": ${BIG}, "other": 1}`);
  await open(`/processes/i/${key}`);
  await page.getByRole("tab", { name: "Variables" }).click();
  await page.getByRole("button", { name: "Value of big" }).click();
  const value = page.getByRole("textbox", { name: "Value, as JSON" });
  await expect(value).toHaveValue(BIG);
  await expect(page.getByRole("button", { name: "Save" })).toBeDisabled();
  await value.fill("[1, 2");
  await expect(page.getByText("This is not valid JSON")).toBeVisible();
  await value.fill(`[${BIG}, 0.10]`);
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("big was saved")).toBeVisible();
  const { items } = await api.post("/variables/search", { filter: { processInstanceKey: key, name: "big" } });
  expect(items[0]?.value).toBe(`[${BIG},0.10]`);
});

test("a variable is added to the scope that is looked at", async ({ page, open, api }) => {
  const { processInstanceKey: key } = await api.start("vote", { members: ["anna"] });
  await open(`/processes/i/${key}`);
  await page.getByRole("tab", { name: "Variables" }).click();
  await page.getByRole("button", { name: "Add a variable" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("members");
  await expect(page.getByText("A variable of this name exists")).toBeVisible();
  await page.getByRole("textbox", { name: "Name" }).fill("note");
  await page.getByRole("textbox", { name: "Value, as JSON" }).fill('"hello"');
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.locator(".variable").filter({ hasText: "note" })).toContainText('"hello"');
});

test("a retry that works leaves no incident, and the data was mended before", async ({ page, open, api }) => {
  const { items } = await api.post("/incidents/search", { filter: { state: "ACTIVE", errorType: "EXTRACT_VALUE_ERROR" }, page: { limit: 1 } });
  const key = String(items[0]?.processInstanceKey);
  await api.send("PUT", `/element-instances/${key}/variables`, { variables: { charged: true } });
  await open(`/processes/i/${key}`);
  await page.getByRole("region", { name: "Why it is stuck" }).getByRole("button", { name: "Retry" }).click();
  await expect(page.locator(".instance-facts").getByText("Completed")).toBeVisible();
});

test("an instance is cancelled after one has said so twice", async ({ page, open, api }) => {
  const { processInstanceKey: key } = await api.start("repair", { item: "clock" });
  await open(`/processes/i/${key}`);
  await page.getByRole("button", { name: "Cancel instance" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Never mind" }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.getByRole("button", { name: "Cancel instance" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel instance" }).click();
  await expect(page.locator(".instance-facts").getByText("Cancelled")).toBeVisible();
});

test("a cancellation whose answer does not come in time is said to be open, until the instance has ended", async ({ page, open, api }) => {
  const { processInstanceKey: key } = await api.start("repair", { item: "clock" });
  await page.route("**/cancellation", (route) =>
    route.fulfill({
      status: 504,
      contentType: "application/problem+json",
      body: JSON.stringify({ type: "about:blank", status: 504, title: "DEADLINE_EXCEEDED", detail: "The broker did not answer within 20 ms." }),
    }),
  );
  await open(`/processes/i/${String(key)}`);
  await page.getByRole("button", { name: "Cancel instance" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel instance" }).click();
  const unknown = page.getByText("It is not known whether that was done");
  await expect(unknown).toBeVisible();
  await expect(page.getByText("The broker did not answer within 20 ms.")).toBeVisible();
  await expect(page.getByText("That was not done")).toHaveCount(0);
  await expect(page.locator(".instance-facts").getByText("Active")).toBeVisible();
  // The server gets to it.
  await api.post(`/process-instances/${String(key)}/cancellation`, {});
  await expect(page.getByText("The instance was cancelled")).toBeVisible();
  await expect(unknown).toHaveCount(0);
});

test("an instance that ends under a question says so, and what was written about it stays", async ({ page, open, api }) => {
  const { processInstanceKey: key } = await api.start("repair", { item: "clock" });
  await open(`/processes/i/${String(key)}`);
  await page.getByRole("tab", { name: "Variables" }).click();
  await page.getByRole("button", { name: "Value of item" }).click();
  const value = page.getByRole("textbox", { name: "Value, as JSON" });
  await value.fill('"watch"');
  await expect(page.getByRole("button", { name: "Save" })).toBeEnabled();
  const atWork = page.locator(".tree-row .state.active");
  await expect(atWork.first()).toBeVisible();
  // A press beside what is written does not throw it away.
  await page.mouse.click(4, 4);
  await expect(value).toHaveValue('"watch"');
  await api.post(`/process-instances/${String(key)}/cancellation`, {});
  await expect(page.getByText("The instance has ended meanwhile. Its variables cannot be changed any more.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Save" })).toBeDisabled();
  await expect(value).toHaveValue('"watch"');
  // Nothing in its history looks as if it went on.
  await expect(atWork).toHaveCount(0);
  const { processInstanceKey: other } = await api.start("repair", { item: "clock" });
  await open(`/processes/i/${String(other)}`);
  await page.getByRole("button", { name: "Cancel instance" }).click();
  await expect(page.getByRole("dialog")).toBeVisible();
  await api.post(`/process-instances/${String(other)}/cancellation`, {});
  await expect(page.getByText("The instance has ended meanwhile")).toBeVisible();
  await expect(page.getByRole("dialog")).toHaveCount(0);
});

test("all incidents of an error are retried at a time, and the batch is watched", async ({ page, open }) => {
  await open("/incidents");
  await page.getByRole("link", { name: /Card expired/ }).click();
  await page.getByRole("button", { name: /Retry all 7/ }).click();
  await expect(page.getByRole("dialog")).toContainText("Retry the incidents of 7 instances?");
  await page.getByRole("button", { name: "Retry them" }).click();
  await page.getByRole("link", { name: "Watch it" }).click();
  await expect(page.getByRole("heading", { name: "Retry incidents" })).toBeVisible();
  await expect(page.locator(".batch-head").getByText("Completed")).toBeVisible();
  await expect(page.getByText("7 of 7").first()).toBeVisible();
});

test("an error is grouped by process and element, and what is at one element is retried alone", async ({ page, open, api }) => {
  await open("/incidents");
  await page.getByRole("link", { name: /card network/ }).click();
  const where = page.getByRole("list", { name: "Where it is" });
  await expect(where.getByRole("list", { name: "Elements of Order v2" }).getByRole("listitem")).toContainText("19 incidents");
  await where.getByRole("link", { name: "Charge card" }).click();
  await expect(page.getByText("at charge in Order v1")).toBeVisible();
  await expect(page.getByRole("status").filter({ hasText: "3 incidents" })).toBeVisible();
  await page.getByRole("button", { name: "Retry all 3" }).click();
  await expect(page.getByRole("dialog").getByText("charge in Order v1")).toBeVisible();
  await page.getByRole("button", { name: "Retry them" }).click();
  await expect(where.getByRole("link", { name: "Charge card" })).toHaveCount(0);
  await page.getByRole("link", { name: "Show all places" }).click();
  await expect(page.getByRole("status").filter({ hasText: "19 incidents" })).toBeVisible();
  const left = await api.post("/incidents/search", { filter: { state: "ACTIVE", elementId: "charge", errorMessage: { $like: "The card network*" } } });
  expect(left.items.length).toBe(19);
});

test("exactly what the filter finds is cancelled, and above a hundred the number is typed", async ({ page, open, api }) => {
  test.slow();
  for (let n = 0; n < 105; n += 1) await api.start("trip", { traveller: n < 103 ? "everybody" : "nobody" });
  await open('/processes?process=trip&state=active&var=traveller+%3D+"everybody"');
  await page.getByRole("button", { name: "Cancel all 103" }).click();
  const go = page.getByRole("button", { name: "Cancel them" });
  await expect(go).toBeDisabled();
  await page.getByRole("dialog").getByRole("textbox").fill("102");
  await expect(go).toBeDisabled();
  await page.getByRole("dialog").getByRole("textbox").fill("103");
  await go.click();
  await page.getByRole("link", { name: "Watch it" }).click();
  await expect(page.locator(".batch-head").getByText("103 of 103")).toBeVisible({ timeout: 20_000 });
  const left = await api.post("/process-instances/search", { filter: { processDefinitionId: "trip", state: "ACTIVE", variables: [{ name: "traveller", value: '"nobody"' }] } });
  expect(left.items.length).toBe(2);
});

test("chosen rows alone are cancelled", async ({ page, open, api }) => {
  const keys: string[] = [];
  for (let n = 0; n < 3; n += 1) keys.push((await api.start("inspection", { checks: ["brakes"] })).processInstanceKey);
  await open(`/processes?process=inspection&key=${keys.join(",")}`);
  await expect(page.getByRole("row")).toHaveCount(4);
  await page.getByRole("row").nth(1).locator(".box").click();
  await page.getByRole("row").nth(3).locator(".box").click();
  await expect(page.getByText("2 selected")).toBeVisible();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("button", { name: "Cancel them" }).click();
  await expect(page.getByText("The batch operation has started")).toBeVisible();
  const active = async () => (await api.post("/process-instances/search", { filter: { processInstanceKey: { $in: keys }, state: "ACTIVE" } })).items.length;
  await expect.poll(active).toBe(1);
});

test("a refusal is told with the server's reason", async ({ page, open, api }) => {
  const key = await instanceOf(api, "repair");
  await open(`/processes/i/${key}`);
  await page.getByRole("button", { name: "Stop updating" }).or(page.locator(".live")).first().click();
  await api.post(`/process-instances/${key}/cancellation`);
  await page.getByRole("button", { name: "Cancel instance" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel instance" }).click();
  await expect(page.getByText("That was not done")).toBeVisible();
  await expect(page.locator(".announcement.failed")).toContainText(key);
});

test("one incident is retried before all are, and what became of it is said", async ({ page, open, api }) => {
  const model = await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8");
  await api.deploy([["print.bpmn", model.replaceAll('"order"', '"print"').replace('type="charge-card"', 'type="print"')]]);
  for (let n = 0; n < 3; n += 1) await api.start("print", { orderId: `p-${n}`, amount: 5 });
  for (const job of await api.jobs("print", 3)) await api.fail(job, "The printer has no ink");
  const worker = async () => {
    const [job] = await api.jobs("print");
    if (!job) throw new Error("no job was tried again");
    return job;
  };
  await open("/incidents");
  await page.getByRole("link", { name: /no ink/ }).click();
  await page.getByRole("button", { name: "Retry one first" }).click();
  const said = page.getByRole("status").filter({ hasText: "The one" });
  await expect(said).toHaveText("The one is at work again");
  await api.complete(await worker(), { charged: true });
  await expect(said).toHaveText("The one went on");
  await expect(page.getByRole("button", { name: "Retry all 2" })).toBeVisible();
  await page.getByRole("button", { name: "Retry another one" }).click();
  await expect(said).toHaveText("The one is at work again");
  await api.fail(await worker(), "The printer has no ink");
  await expect(said).toHaveText("The one failed again");
  await expect(page.getByRole("button", { name: "Retry all 2" })).toBeVisible();
});
