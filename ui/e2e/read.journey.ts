// Reading: what an operator finds, by links, addresses and filters.
import { readFile } from "node:fs/promises";
import { BIG, client, HOSTILE, LONG } from "./seed.mjs";
import { expect, fits, instanceOf, test } from "./journey";
import { startServer } from "./server.mjs";

test("home says what goes wrong, and leads there", async ({ page, open }) => {
  await open("/");
  await expect(page.getByRole("link", { name: /card network did not answer/ })).toBeVisible();
  await expect(page.getByText("wait for a person")).toBeVisible();
  await page.getByRole("link", { name: /card network did not answer/ }).click();
  await expect(page.getByRole("heading", { name: /card network did not answer/ })).toBeVisible();
  await page.getByRole("link", { name: "Order v2" }).click();
  await page.getByRole("link", { name: "Show these instances" }).click();
  await expect(page).toHaveURL(/process=order&version=2&state=incident&hash=/);
  await expect(page.getByRole("row").nth(3)).toBeVisible();
});

test("two variables find one instance, and the link finds it again", async ({ page, open }) => {
  await open("/processes?process=order");
  const add = async (condition: string) => {
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    await page.getByRole("textbox", { name: "Variable" }).fill(condition);
    await page.getByRole("button", { name: "Apply" }).click();
  };
  await add('orderId = "o-105"');
  await add("amount = 35");
  await expect(page.getByRole("status").filter({ hasText: "1 instance" })).toBeVisible();
  const url = page.url();
  await page.goto("about:blank");
  await page.goto(url);
  await expect(page.getByRole("status").filter({ hasText: "1 instance" })).toBeVisible();
  await expect(page.getByText("amount = 35")).toBeVisible();
  await page.getByRole("button", { name: /Remove the filter Variable amount/ }).click();
  await expect(page).not.toHaveURL(/amount/);
});

test("one of several values of a variable finds the instances of each, also in the counts of the diagram", async ({ page, open }) => {
  await open("/processes?process=order&version=2");
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await page.getByRole("textbox", { name: "Variable" }).fill('orderId in ["o-105"');
  await page.getByRole("button", { name: "Apply" }).click();
  await expect(page.getByText("That is not a condition")).toBeVisible();
  await page.getByRole("textbox", { name: "Variable" }).fill('orderId in ["o-105", "o-106", "nobody"]');
  await page.getByRole("button", { name: "Apply" }).click();
  await expect(page.getByRole("status").filter({ hasText: "2 instances" })).toBeVisible();
  await expect(page.getByText('orderId in ["o-105","o-106","nobody"]')).toBeVisible();
  await page.reload();
  await expect(page.getByRole("status").filter({ hasText: "2 instances" })).toBeVisible();
});

test("a link with half a condition finds nothing, says which, and offers no command on all", async ({ page, open }) => {
  await open("/processes?process=order&var=amount+%3D");
  await expect(page.getByText("“amount =” is not a condition")).toBeVisible();
  await expect(page.getByRole("button", { name: /Cancel all/ })).toHaveCount(0);
  await page.getByRole("button", { name: /Remove the filter Variable/ }).click();
  await expect(page.getByRole("button", { name: /Cancel all/ })).toBeVisible();
});

test("old addresses lead to the screens that show the same", async ({ page, server, api }) => {
  const key = await instanceOf(api, "order");
  await page.goto(`${server.url}/operate/processes/${key}`);
  await expect(page).toHaveURL(new RegExp(`/ui/processes/i/${key}$`));
  await expect(page.getByRole("heading", { name: "Order", level: 1 })).toBeVisible();
  await page.goto(`${server.url}/operate/processes?process=order&version=1&active=true&incidents=true`);
  await expect(page).toHaveURL(/\/ui\/processes\?process=order&version=1&state=active,incident$/);
  await expect(page.getByRole("combobox", { name: "Version" })).toHaveValue("1");
});

test("counts change while one looks", async ({ page, open, api }) => {
  await open("/processes?process=vote&state=active");
  const count = page.getByRole("status").filter({ hasText: /instances?$/ });
  await expect(count).toHaveText(/\d+ instances/);
  const before = Number.parseInt((await count.textContent()) ?? "", 10);
  await api.start("vote", { members: ["anna"] });
  // A page that was answered late asks again later.
  await expect(count).toHaveText(`${before + 1} instances`, { timeout: 90_000 });
});

const STUCK = [
  ["repair", "No worker asks for estimate-repair", "Start a worker for jobs of the type 'estimate-repair', or check whether the worker asks for another type."],
  ["payment", "Waits for the message invoice-paid", "Waits for its timer, due in"],
  ["approval", "Waits for a member of managers", "due in"],
] as const;
for (const [process, first, second] of STUCK) {
  test(`an instance of ${process} says what it waits for`, async ({ page, open, api }) => {
    await open(`/processes/i/${await instanceOf(api, process)}`);
    const why = page.getByRole("region", { name: "What it waits for" });
    // An approval may wait for its listener first.
    if (process === "approval") await expect(why).toContainText(/managers/);
    else await expect(why).toContainText(first);
    if (process !== "approval") await expect(why).toContainText(second);
  });
}

test("an incident is the first thing that its instance says", async ({ page, open, api }) => {
  await open(`/processes/i/${await instanceOf(api, "order", { hasIncident: true })}`);
  await expect(page.getByRole("region", { name: "Why it is stuck" }).getByRole("button", { name: "Retry" })).toBeVisible();
});

test("history, data and drawing speak of the same element", async ({ page, open, api }) => {
  await open(`/processes/i/${await instanceOf(api, "vote")}`);
  await page.getByRole("tab", { name: "Variables" }).click();
  await page.getByRole("treeitem", { name: /Ask member/ }).nth(1).click();
  await expect(page.getByText("of Ask member")).toBeVisible();
  await expect(page).toHaveURL(/scope=\d+/);
  await expect(page.locator(".djs-element.sk-selected")).toHaveCount(1);
});

test("a pasted key is found, whatever it is the key of", async ({ page, open, api }) => {
  const { items } = await api.post("/incidents/search", { filter: { state: "ACTIVE" }, page: { limit: 1 } });
  await open("/");
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.getByRole("searchbox").fill(String(items[0]?.incidentKey));
  await page.getByRole("menuitem", { name: /Incident/ }).first().click();
  await expect(page).toHaveURL(new RegExp(`/processes/i/${String(items[0]?.processInstanceKey)}`));
  const first = async (what: string, filter: Record<string, unknown> = {}) => (await api.post(`/${what}/search`, { filter, page: { limit: 1 } })).items[0] ?? {};
  const [job, waits] = [await first("jobs", { type: "charge-card" }), await first("message-subscriptions", { messageName: "invoice-paid" })];
  const decision = await first("decision-definitions", { decisionDefinitionId: "payment" });
  await api.start("payment", { invoiceId: "i-pasted", patience: "P14D" });
  const message = await api.post("/messages/correlation", { name: "invoice-paid", correlationKey: "i-pasted" });
  const evaluated = await first("decision-instances", { decisionDefinitionId: "payment" });
  for (const [key, kind, where] of [
    [job.jobKey, "Job", `/processes/i/${String(job.processInstanceKey)}\\?.*tab=jobs`],
    [waits.messageSubscriptionKey, "Message subscription", `/processes/i/${String(waits.processInstanceKey)}\\?.*tab=messages`],
    [message.messageKey, "Message that arrived", `/processes/i/${String(message.processInstanceKey)}\\?.*tab=messages`],
    [decision.decisionRequirementsKey, "Decision", "/decisions\\?decision=(payment|cover)&version=1"],
    [decision.decisionDefinitionKey, "Decision", "/decisions\\?decision=payment&version=1"],
    [evaluated.decisionEvaluationKey, "Evaluated decision", `/decisions/i/${String(evaluated.decisionEvaluationKey)}`],
  ] as const) {
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("searchbox").fill(String(key));
    await page.getByRole("menuitem", { name: kind }).first().click();
    await expect(page).toHaveURL(new RegExp(where));
  }
  await page.keyboard.press("Control+k");
  await page.getByRole("searchbox").fill("999999999999");
  await expect(page.getByText("Nothing here has the key 999999999999")).toBeVisible();
});

test("names of people who do not mean well are names", async ({ page, open, api }) => {
  // Right to left, turned around by an invisible character, and of several code points.
  const mixed = "\u202eשלום עולם 🐝👩‍👩‍👧 naïve";
  const { processInstanceKey: key } = await api.start("hostile", `{"big": ${BIG}, "price": 100.10, "mixed": ${JSON.stringify(mixed)}, "html": ${JSON.stringify(HOSTILE)}, "long": ${JSON.stringify(LONG)}}`);
  await open(`/processes/i/${key}`);
  await page.getByRole("tab", { name: "Variables" }).click();
  await expect(page.getByText(BIG, { exact: true })).toBeVisible();
  await expect(page.getByText(HOSTILE).first()).toBeVisible();
  await expect(page.getByText("100.10", { exact: true })).toBeVisible();
  await expect(page.getByText(mixed).first()).toBeVisible();
  await page.getByRole("button", { name: "Value of mixed" }).click();
  await expect(page.getByRole("textbox", { name: "Value, as JSON" })).toHaveValue(`"${mixed}"`);
  await page.getByRole("button", { name: "Never mind" }).click();
  expect(await page.title()).toContain(LONG.slice(0, 40));
  await fits(page);
  // Who else has the same value is asked for with all of its digits.
  await page.getByRole("link", { name: "Instances with this big" }).click();
  await expect(page.getByText(`big = ${BIG}`)).toBeVisible();
  await expect(page.locator(`tr a[href$="/processes/i/${key}"], [role="row"] a[href$="/processes/i/${key}"]`).first()).toBeVisible();
});

test("what is not there says so", async ({ page, open }) => {
  await open("/processes/i/2251799813685000");
  await expect(page.getByText("There is no such process instance")).toBeVisible();
  await open("/no/such/page");
  await expect(page.getByRole("heading", { name: "There is no such page" })).toBeVisible();
  await open("/batches/2251799813685000");
  await expect(page.getByText("There is no such batch operation")).toBeVisible();
  await open("/processes?process=order&state=none");
  await expect(page.getByText("No state is chosen")).toBeVisible();
  await open("/processes?process=order&business=nobody");
  await expect(page.getByText("No instance matches these filters")).toBeVisible();
});

test("the mark of bpmn.io is seen, in both looks", async ({ page, open }) => {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await open("/processes?process=order");
    const mark = page.locator(".bjs-powered-by");
    await expect(mark).toBeVisible();
    const onTop = await mark.evaluate((element) => {
      const box = element.getBoundingClientRect();
      const corners = [[2, 2], [box.width - 2, 2], [2, box.height - 2], [box.width - 2, box.height - 2], [box.width / 2, box.height / 2]] as const;
      return corners.every(([x, y]) => element.contains(document.elementFromPoint(box.left + x, box.top + y)));
    });
    expect(onTop).toBe(true);
  }
});

test("all of it goes by keys", async ({ page, open }) => {
  await open("/");
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("p");
  await expect(page).toHaveURL(/\/processes$/);
  await expect(page.getByRole("combobox", { name: "Process" })).toBeVisible();
  await page.keyboard.press("/");
  await expect(page.getByRole("combobox", { name: "Process" })).toBeFocused();
  await page.getByRole("combobox", { name: "Process" }).selectOption("order");
  const drawing = page.getByRole("application");
  await expect(page.locator(".djs-shape").first()).toBeVisible();
  await expect(drawing.locator("svg[tabindex='0']"), "a diagram is one stop of the Tab key").toHaveCount(0);
  await drawing.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await expect(page).toHaveURL(/element=charge/);
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/element=/);
  await drawing.blur();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/processes\/i\/\d+/);
});

test("time is moved from moment to moment, and variables stay those of now", async ({ page, open, api }) => {
  const key = String((await api.post("/process-instances/search", { filter: { processDefinitionId: "order", state: "COMPLETED" }, page: { limit: 1 } })).items[0]?.processInstanceKey);
  await open(`/processes/i/${key}?tab=variables`);
  await page.getByRole("button", { name: "Replay" }).click();
  await expect(page.getByText("Variables show their current values")).toBeVisible();
  const slider = page.getByRole("slider", { name: "Moment" });
  await slider.press("ArrowRight");
  await expect(page).toHaveURL(/at=20/);
  await page.reload();
  await slider.press("Home");
  await expect(page.locator('.djs-element[data-element-id="charge"].sk-done')).toHaveCount(0);
  await slider.press("End");
  await expect(page.locator('.djs-element[data-element-id="charge"].sk-done')).toHaveCount(1);
  await page.getByRole("button", { name: "Now" }).click();
  await expect(page.getByText("Variables show their current values")).toHaveCount(0);
});

test("who did what is said as far as it is kept, and else the setting that would keep it", async ({ page, open, api }) => {
  const key = String((await api.post("/process-instances/search", { filter: { processDefinitionId: "order" }, page: { limit: 1 } })).items[0]?.processInstanceKey);
  await open(`/processes/i/${key}?tab=audit`);
  await expect(page.getByText("camunda.data.audit-log.unknown.categories")).toBeVisible();
  const kept = await startServer(["camunda.data.audit-log.unknown.categories=DEPLOYED_RESOURCES"]);
  try {
    const mine = client(kept.url);
    await mine.deploy([["order.bpmn", await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8")]]);
    const { processInstanceKey: other } = await mine.start("order", { orderId: "kept" });
    await mine.post(`/process-instances/${other}/cancellation`);
    await page.goto(`${kept.url}/ui/processes/i/${other}?tab=audit`);
    await expect(page.getByText("Cancel: process instance")).toBeVisible();
  } finally {
    await kept.stop();
  }
});
