// A batch operation that waits: it goes on, or ends early, when somebody says so.
import { readFile } from "node:fs/promises";
import type { Client } from "./seed.mjs";
import { expect, test } from "./journey";

const HOW_MANY = 60;
const TRIES = 10;
const model = await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8");

const active = async (api: Client, process: string): Promise<number> =>
  (await api.post("/process-instances/search", { filter: { processDefinitionId: process, state: "ACTIVE" }, page: { limit: HOW_MANY } })).items.length;

/** A cancellation of instances of this process that was suspended before it was done. */
async function suspended(api: Client, process: string): Promise<string> {
  await api.deploy([[`${process}.bpmn`, model.replaceAll('"order"', `"${process}"`).replace("charge-card", `charge-${process}`)]]);
  for (let left = TRIES; left > 0; left -= 1) {
    await Promise.all(Array.from({ length: HOW_MANY }, () => api.start(process)));
    const key = String((await api.post("/process-instances/cancellation", { filter: { processDefinitionId: process, state: "ACTIVE" } })).batchOperationKey);
    // It may be over by then, or have nothing left to do.
    const isSuspended = await api.post(`/batch-operations/${key}/suspension`).then(() => true, () => false);
    if (isSuspended && (await active(api, process)) > 0) return key;
  }
  throw new Error(`none of ${TRIES} operations could be suspended`);
}

test("a suspended batch operation is resumed, and does then what it was asked for", async ({ page, open, api }) => {
  const key = await suspended(api, "paused");
  await open(`/batches/${key}`);
  const head = page.locator(".batch-head");
  await expect(head.getByText("Suspended")).toBeVisible();
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await expect(head.getByText("Completed")).toBeVisible();
  await expect(head.getByText(`${HOW_MANY} of ${HOW_MANY}`)).toBeVisible();
  // What is over can be neither suspended nor cancelled.
  await expect(page.getByRole("button", { name: /^(Resume|Suspend|Cancel)$/ })).toHaveCount(0);
});

test("a suspended batch operation is cancelled after a question, and leaves alone what it has not done", async ({ page, open, api }) => {
  const key = await suspended(api, "stopped");
  await open(`/batches/${key}`);
  const head = page.locator(".batch-head");
  await expect(head.getByText("Suspended")).toBeVisible();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Never mind" }).click();
  await expect(head.getByText("Suspended")).toBeVisible();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel", exact: true }).click();
  await expect(head.getByText("Cancelled")).toBeVisible();
  expect(await active(api, "stopped")).toBeGreaterThan(0);
});
