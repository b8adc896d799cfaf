// Many instances at a time, by plan: migrated, moved, deleted from history, and saved as a file.
import { readFile } from "node:fs/promises";
import { expect, test } from "./journey";

const named = (text: string, id: string): string => text.replace('id="order" name="Order"', `id="${id}" name="Many ${id}"`).replaceAll('"order"', `"${id}"`);
const model = await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8");

test("all that match are migrated, with a mapping for what changed its id", async ({ page, open, api }) => {
  await api.deploy([["herd.bpmn", named(model, "herd")]]);
  for (let n = 0; n < 3; n += 1) await api.start("herd", { orderId: n < 2 ? "yes" : "no" });
  await api.deploy([["herd.bpmn", named(model, "herd").replaceAll('"charge"', '"collect"').replace("Charge card", "Collect")]]);
  await open('/processes?process=herd&version=1&state=active&var=orderId+%3D+"yes"');
  await expect(page.getByRole("status").filter({ hasText: "2 instances" })).toBeVisible();
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Migrate…" }).click();
  const go = page.getByRole("button", { name: "Migrate them" });
  await expect(page.getByText("1 element with tokens has no target")).toBeVisible();
  await expect(go).toBeDisabled();
  await page.getByLabel("Charge card (2) becomes").selectOption({ label: "Collect" });
  await go.click();
  await page.getByRole("link", { name: "Watch it" }).click();
  await expect(page.locator(".batch-head").getByText("2 of 2")).toBeVisible();
  // The page still knows what the operation was meant for.
  const asked = page.getByRole("region", { name: "Requested for" });
  await expect(asked.getByRole("listitem")).toContainText([/^Processherd/, /^StateActive/, /^VariableorderId = "yes"/, /charge → collect/]);
  await page.getByRole("link", { name: "Its process instances" }).click();
  await expect(page).toHaveURL(/\/processes\?batch=\d+$/);
  await expect(page.getByRole("status").filter({ hasText: "2 instances" })).toBeVisible();
  const there = await api.post("/process-instances/search", { filter: { processDefinitionId: "herd", processDefinitionVersion: 2 } });
  expect(there.items.length).toBe(2);
});

test("tokens of many are moved, and what ended is deleted from history", async ({ page, open, api }) => {
  await api.deploy([["flock.bpmn", named(model, "flock")]]);
  for (let n = 0; n < 3; n += 1) await api.start("flock", { orderId: `f-${n}` });
  await open("/processes?process=flock&state=active");
  await page.getByRole("button", { name: "More" }).click();
  await expect(page.getByRole("menuitem", { name: "Delete from history…" })).toHaveAttribute("aria-disabled", "true");
  await page.getByRole("menuitem", { name: "Move tokens…" }).click();
  await expect(page.getByLabel("All tokens of")).toHaveValue("charge");
  await page.getByLabel("go to").selectOption({ label: "Order refused" });
  await page.getByRole("button", { name: "Move them" }).click();
  await page.getByRole("link", { name: "Watch it" }).click();
  await expect(page.locator(".batch-head").getByText("3 of 3")).toBeVisible();
  await open("/processes?process=flock&state=completed");
  await expect(page.getByRole("status").filter({ hasText: "3 instances" })).toBeVisible();
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Delete from history…" }).click();
  await page.getByRole("button", { name: "Delete them" }).click();
  await expect(page.getByText("The batch operation has started")).toBeVisible();
  await expect(page.getByText("No instance matches these filters")).toBeVisible({ timeout: 20_000 });
});

test("the list is saved as a file, and heat says how often each step was reached", async ({ page, open }) => {
  await open("/processes?process=order&version=1");
  const going = page.getByText("The file is being made");
  await page.route("**/process-instances/search", async (route) => {
    // A page of the file comes late, and that it goes on is said meanwhile.
    if (route.request().postData()?.includes('"limit":1000')) await expect(going).toBeVisible();
    await route.continue();
  });
  await page.getByRole("button", { name: "More" }).click();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "Save as CSV" }).click()]);
  const lines = (await readFile(await file.path(), "utf8")).trim().split("\r\n");
  expect(lines[0]).toMatch(/^key,process,name,version/);
  expect(lines.length).toBe(7);
  await expect(going).toHaveCount(0);
  await page.getByRole("button", { name: "Heat" }).click();
  await expect(page.locator(".pill.heat").first()).toHaveText("6");
  await expect(page).toHaveURL(/heat=1/);
});

test("either of two fields is enough, in the list, the link, the diagram and what is done with all of them", async ({ page, open, api }) => {
  await api.deploy([["twins.bpmn", named(model, "twins")]]);
  const started: Record<string, unknown>[] = [];
  for (let n = 0; n < 5; n += 1) started.push(await api.start("twins", { orderId: `t-${n}`, amount: n }));
  await open("/processes?process=twins&state=active");
  const found = page.getByRole("status").filter({ hasText: /instances?$/ });
  await expect(found).toHaveText("5 instances");
  const add = async (kind: string, label: string, value: string, where?: string) => {
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    await page.getByLabel("What to filter by").selectOption({ label: kind });
    await page.getByRole("textbox", { name: label }).fill(value);
    if (where === undefined) await expect(page.getByLabel("How it counts")).toHaveCount(0);
    else await page.getByLabel("How it counts").selectOption({ label: where });
    await page.getByRole("button", { name: "Apply" }).click();
  };
  await add("Variable", "Variable", 'orderId = "t-1"');
  await expect(found).toHaveText("1 instance");
  await add("Keys", "Keys", `${started[2]?.processInstanceKey}, ${started[3]?.processInstanceKey}`, "Or: this is enough as well");
  await expect(found).toHaveText("3 instances");
  await add("Variable", "Variable", "amount = 3", `And with: Keys ${started[2]?.processInstanceKey}, ${started[3]?.processInstanceKey}`);
  await expect(found).toHaveText("2 instances");
  const either = page.getByRole("group", { name: "Any of these is enough" });
  await expect(either).toContainText(/^eitherVariableorderId = "t-1"orVariableamount = 3andKeys/);
  await page.reload();
  await expect(found).toHaveText("2 instances");
  await expect(page.locator(".pill").first()).toHaveText("2");
  await page.getByRole("button", { name: "Cancel all 2" }).click();
  await expect(page.getByRole("dialog").getByText(/^either Variable orderId = "t-1", or Variable amount = 3 and Keys/)).toBeVisible();
  await page.getByRole("button", { name: "Cancel them" }).click();
  await page.getByRole("link", { name: "Watch it" }).click();
  await expect(page.locator(".batch-head").getByText("2 of 2")).toBeVisible();
  const left = await api.post("/process-instances/search", { filter: { processDefinitionId: "twins", state: "ACTIVE" } });
  expect(left.items.map((each) => String(each.processInstanceKey)).toSorted()).toEqual([0, 2, 4].map((n) => String(started[n]?.processInstanceKey)).toSorted());
});

test("one alternative that is left is a condition like others, and half of one in a link finds nothing", async ({ page, open }) => {
  await open("/processes?process=order&or=var%3DorderId+%253D+%22o-105%22&or=var%3Damount+%253D+42");
  const found = page.getByRole("status").filter({ hasText: /instances?$/ });
  await expect(found).toHaveText("2 instances");
  await page.getByRole("button", { name: /Remove the filter Variable amount/ }).click();
  await expect(found).toHaveText("1 instance");
  await expect(page).not.toHaveURL(/or=/);
  await open("/processes?process=order&or=colour%3Dred");
  await expect(page.getByText("“colour=red” is not a condition")).toBeVisible();
  await expect(page.getByRole("button", { name: /Cancel all/ })).toHaveCount(0);
  await page.getByRole("button", { name: "Remove the filter colour=red" }).click();
  await expect(page.getByRole("button", { name: /Cancel all/ })).toBeVisible();
  // It stays while others are taken away: nothing else is found, and acted on, than the link meant.
  await open("/processes?process=order&or=var%3DorderId+%253D+%22o-105%22&or=var%3Damount+%253D+42&or=colour%3Dred");
  await page.getByRole("button", { name: /Remove the filter Variable amount/ }).click();
  await expect(page).toHaveURL(/or=.*or=colour/);
  await expect(page.getByText("“colour=red” is not a condition")).toBeVisible();
  await expect(page.getByRole("button", { name: /Cancel all/ })).toHaveCount(0);
  await page.getByRole("button", { name: "Remove the filter colour=red" }).click();
  await expect(found).toHaveText("1 instance");
});
