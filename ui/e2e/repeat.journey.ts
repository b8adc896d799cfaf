// A batch operation that failed for some is repeated for those, and for no others.
import { readFile } from "node:fs/promises";
import type { Client } from "./seed.mjs";
import { expect, test } from "./journey";

const HOW_MANY = 40;
const TRIES = 25;

/** Each of them has an incident then. */
async function failAll(api: Client, wanted: ReadonlySet<string>) {
  const open = new Set(wanted);
  while (open.size > 0) {
    for (const job of await api.jobs("charge-again", HOW_MANY)) {
      await api.fail(job, "The card network is down");
      open.delete(job.processInstanceKey);
    }
  }
  const filter = { state: "ACTIVE", processInstanceKey: { $in: [...wanted] } };
  await expect.poll(async () => (await api.post("/incidents/search", { filter, page: { limit: HOW_MANY } })).items.length).toBe(wanted.size);
}

/** What two operations both choose, only the first of them can do: begun together until that happens. Resolves with the other one. */
async function half(api: Client, keys: ReadonlySet<string>): Promise<{ key: string; failed: number }> {
  for (let left = TRIES; left > 0; left -= 1) {
    await failAll(api, keys);
    const begin = async () => String((await api.post("/process-instances/incident-resolution", { filter: { processInstanceKey: { $in: [...keys] } } })).batchOperationKey);
    for (const key of await Promise.all([begin(), begin(), begin()])) {
      await expect.poll(async () => Boolean((await api.send("GET", `/batch-operations/${key}`)).endDate)).toBe(true);
      const failed = Number((await api.send("GET", `/batch-operations/${key}`)).operationsFailedCount);
      if (failed > 0) return { key, failed };
    }
  }
  throw new Error(`none of ${TRIES} operations failed for any`);
}

test("what failed of a batch operation is repeated, and nothing else", async ({ page, open, api }) => {
  test.slow();
  const model = await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8");
  await api.deploy([["again.bpmn", model.replaceAll('"order"', '"again"').replace("charge-card", "charge-again")]]);
  const started = await Promise.all(Array.from({ length: HOW_MANY }, () => api.start("again")));
  const keys = new Set(started.map((each) => each.processInstanceKey));
  const { key, failed } = await half(api, keys);
  await failAll(api, keys);
  await open(`/batches/${key}`);
  // Each message names its incident, and all say the same.
  await expect(page.getByRole("region", { name: "Why items failed" }).getByRole("listitem")).toHaveText([new RegExp(`^${failed}\\D`)]);
  const request = page.waitForRequest((each) => each.url().endsWith("/process-instances/incident-resolution"));
  await page.getByRole("button", { name: `Repeat the ${failed} that failed` }).click();
  await expect(page.getByRole("dialog")).toContainText(`Retry the incidents of ${failed} instances?`);
  await page.getByRole("button", { name: "Retry them" }).click();
  const asked = JSON.parse((await request).postData() ?? "") as { filter: { processInstanceKey: { $in: string[] } } };
  const { items } = await api.post("/batch-operation-items/search", { filter: { batchOperationKey: key, state: "FAILED" }, page: { limit: HOW_MANY } });
  expect(asked.filter.processInstanceKey.$in.toSorted()).toEqual(items.map((each) => String(each.processInstanceKey)).toSorted());
  await page.getByRole("link", { name: "Watch it" }).click();
  await expect(page.locator(".batch-head").getByText(`${failed} of ${failed}`)).toBeVisible({ timeout: 20_000 });
  await expect(page.locator(".batch-head").getByText("Completed")).toBeVisible();
  await expect(page.getByRole("button", { name: /^Repeat/ })).toHaveCount(0);
});

test("a migration that failed is repeated by the plan that it was made with", async ({ page, open, api }) => {
  const model = (await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8")).replaceAll('"order"', '"stray"').replace('name="Order"', 'name="Stray"');
  await api.deploy([["stray.bpmn", model]]);
  const started = await Promise.all([api.start("stray"), api.start("stray")]);
  await api.deploy([["stray.bpmn", model.replace('name="Charge card"', 'name="Charge the card"')]]);
  const { items } = await api.post("/process-definitions/search", { filter: { processDefinitionId: "stray", version: 2 } });
  // No token can go on there: it is an end event.
  const plan = { targetProcessDefinitionKey: String(items[0]?.processDefinitionKey), mappingInstructions: [{ sourceElementId: "charge", targetElementId: "refused" }] };
  const { batchOperationKey } = await api.post("/process-instances/migration", { filter: { processDefinitionId: "stray", state: "ACTIVE" }, migrationPlan: plan });
  await open(`/batches/${String(batchOperationKey)}`);
  const asked = page.getByRole("region", { name: "Requested for" });
  await expect(asked).toContainText("Processstray");
  await expect(asked.getByRole("link", { name: "Stray v2" })).toBeVisible();
  const request = page.waitForRequest((each) => each.url().endsWith("/process-instances/migration"));
  await page.getByRole("button", { name: "Repeat the 2 that failed" }).click();
  const dialog = page.getByRole("dialog", { name: "Migrate 2 instances?" });
  await expect(dialog).toContainText("Maps charge → refused");
  await dialog.getByRole("button", { name: "Migrate them" }).click();
  const sent = JSON.parse((await request).postData() ?? "") as { filter: { processInstanceKey: { $in: string[] } }; migrationPlan: unknown };
  expect(sent.migrationPlan).toEqual(plan);
  expect(sent.filter.processInstanceKey.$in.toSorted()).toEqual(started.map((each) => String(each.processInstanceKey)).toSorted());
});
