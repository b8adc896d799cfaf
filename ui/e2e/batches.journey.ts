// Batch operations: one that waits goes on, or ends early, when somebody says so; and one for more than anything counts.
import { readFile } from "node:fs/promises";
import type { Client } from "./seed.mjs";
import { expect, test } from "./journey";

const HOW_MANY = 60;
const model = await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8");

const active = async (api: Client, process: string): Promise<number> =>
  (await api.post("/process-instances/search", { filter: { processDefinitionId: process, state: "ACTIVE" }, page: { limit: HOW_MANY } })).items.length;

/** While the store gets no records, an operation cannot choose its instances. */
async function exporting(url: string, how: "pause" | "resume") {
  const answer = await fetch(`${url}/skep/v1/management/exporting/${how}`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  expect(answer.ok, `${how} exporting`).toBe(true);
}

/** A cancellation of instances of this process that was suspended before it did anything. */
async function suspended(api: Client, url: string, process: string): Promise<string> {
  await api.deploy([[`${process}.bpmn`, model.replaceAll('"order"', `"${process}"`).replace("charge-card", `charge-${process}`)]]);
  await Promise.all(Array.from({ length: HOW_MANY }, () => api.start(process)));
  expect(await active(api, process)).toBe(HOW_MANY);
  await exporting(url, "pause");
  try {
    const key = String((await api.post("/process-instances/cancellation", { filter: { processDefinitionId: process, state: "ACTIVE" } })).batchOperationKey);
    await api.post(`/batch-operations/${key}/suspension`);
    return key;
  } finally {
    await exporting(url, "resume");
  }
}

test("a suspended batch operation is resumed, and does then what it was asked for", async ({ page, open, api, server }) => {
  const key = await suspended(api, server.url, "paused");
  await open(`/batches/${key}`);
  const head = page.locator(".batch-head");
  await expect(head.getByText("Suspended")).toBeVisible();
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await expect(head.getByText("Completed")).toBeVisible();
  await expect(head.getByText(`${HOW_MANY} of ${HOW_MANY}`)).toBeVisible();
  // An operation that is over can be neither suspended nor cancelled.
  await expect(page.getByRole("button", { name: /^(Resume|Suspend|Cancel)$/ })).toHaveCount(0);
});

/** One at work that chooses no instances: it tries each second, and whenever it does the store lacks something. */
async function waiting(api: Client, url: string, process: string): Promise<string> {
  const key = await suspended(api, url, process);
  const state = async () => String((await api.send("GET", `/batch-operations/${key}`)).state);
  await expect.poll(state).toBe("SUSPENDED");
  await exporting(url, "pause");
  await api.post(`/batch-operations/${key}/resumption`);
  // Long enough for the store to learn that it goes on.
  await exporting(url, "resume");
  await expect.poll(state, { intervals: [20] }).not.toBe("SUSPENDED");
  await exporting(url, "pause");
  await api.start(process);
  return key;
}

test("a batch operation at work is suspended, and goes on when it is resumed", async ({ page, open, api, server }) => {
  let key = "";
  try {
    // Where it tried again just then, it is over, and another one is begun.
    await expect(async () => {
      await exporting(server.url, "resume");
      key = await waiting(api, server.url, "held");
      expect(await active(api, "held")).toBe(HOW_MANY);
    }).toPass();
    await open(`/batches/${key}`);
    await expect(page.locator(".batch-head").getByText(/Created|Active/)).toBeVisible();
    await page.getByRole("button", { name: "Suspend", exact: true }).click();
  } finally {
    await exporting(server.url, "resume");
  }
  const head = page.locator(".batch-head");
  await expect(head.getByText("Suspended")).toBeVisible();
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await expect(head.getByText("Completed")).toBeVisible();
  // All but the one that was started after it.
  await expect.poll(() => active(api, "held")).toBe(1);
});

test("a suspended batch operation is cancelled after a question, and leaves alone what it has not done", async ({ page, open, api, server }) => {
  const key = await suspended(api, server.url, "stopped");
  await open(`/batches/${key}`);
  const head = page.locator(".batch-head");
  await expect(head.getByText("Suspended")).toBeVisible();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Never mind" }).click();
  await expect(head.getByText("Suspended")).toBeVisible();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel", exact: true }).click();
  await expect(head.getByText("Cancelled")).toBeVisible();
  expect(await active(api, "stopped")).toBe(HOW_MANY);
});

test("more than ten thousand are cancelled at a time, and all of them are", async ({ page, open, api }) => {
  test.slow();
  const most = 10_050;
  await api.deploy([["crowd.bpmn", model.replaceAll('"order"', '"crowd"').replace("charge-card", "charge-crowd")]]);
  let left = most;
  await Promise.all(Array.from({ length: 32 }, async () => {
    while (left-- > 0) await api.start("crowd");
  }));
  await open("/processes?process=crowd&state=active&cols=amount&sort=variable+amount");
  await expect(page.getByText("Only lists of up to 2,000 instances are sorted by amount: filter for fewer.")).toBeVisible();
  await page.getByRole("button", { name: "More" }).click();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "Save as CSV" }).click()]);
  await expect(page.getByText("10,000 rows were saved")).toBeVisible();
  await expect(page.getByText("A file holds 10,000 rows at most.")).toBeVisible();
  await expect(page.getByText("The file is being made")).toHaveCount(0);
  const keys = (await readFile(await file.path(), "utf8")).trim().split("\r\n").slice(1).map((line) => line.split(",")[0]);
  expect(keys.length).toBe(10_000);
  expect(new Set(keys).size).toBe(10_000);
  // Nothing counts further; what is typed is what is shown.
  await page.getByRole("button", { name: "Cancel all 10,000+" }).click();
  const dialog = page.getByRole("dialog");
  const go = dialog.getByRole("button", { name: "Cancel them" });
  await dialog.getByRole("textbox").fill("1000");
  await expect(go).toBeDisabled();
  await dialog.getByRole("textbox").fill("10000");
  await go.click();
  await page.getByRole("link", { name: "Watch it" }).click();
  await expect(page.locator(".batch-head").getByText("10,050 of 10,050")).toBeVisible();
  await expect(page.locator(".batch-head").getByText("Completed")).toBeVisible();
  expect(await active(api, "crowd")).toBe(0);
});
