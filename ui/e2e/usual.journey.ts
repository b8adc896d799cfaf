// What waits longer than usual: marked on the drawing, and said in words, once enough is known of what is usual.
import { sound } from "./axe";
import { expect, fits, test } from "./journey";
import { PACK } from "./usual.mjs";

interface Durations {
  elements: { elementId: string; count: number; p95Ms: number }[];
}

test("an element that waits longer than nearly all before it is marked and says so", async ({ page, open, api, server }) => {
  const { deployments } = (await api.deploy([["parcel.bpmn", PACK]])) as unknown as { deployments: { processDefinition: { processDefinitionKey: string } }[] };
  const definition = deployments[0]?.processDefinition.processDefinitionKey;
  for (let n = 0; n < 20; n++) await api.start("parcel");
  await expect(async () => {
    for (const job of await api.jobs("pack-parcel", 20)) await api.complete(job);
    const answer = await fetch(`${server.url}/skep/v1/process-definitions/${definition}/durations`);
    const { elements } = (await answer.json()) as Durations;
    expect(elements.find(({ elementId }) => elementId === "pack")?.count).toBe(20);
  }).toPass();
  const { processInstanceKey } = await api.start("parcel");

  // It has just begun.
  await open(`/processes/i/${processInstanceKey}`);
  await expect(page.getByText("No worker", { exact: false }).first()).toBeVisible();
  await expect(page.locator("g.sk-active")).toBeVisible();
  await expect(page.getByText("Longer than usual")).toHaveCount(0);

  // The browser's clock is a day ahead: nobody waits for that.
  await page.clock.setSystemTime(Date.now() + 86_400_000);
  await expect(page.getByText(/Longer than usual: 1 d.* so far, mostly done within/)).toBeVisible();
  await expect(page.locator("g.sk-late")).toBeVisible();
  await expect(page.locator(".pill.late")).toHaveText("1");
  await expect(page.locator(".pill.active")).toHaveCount(0);
  await page.getByRole("button", { name: "Elements" }).click();
  await expect(page.getByRole("navigation", { name: "Elements" }).getByRole("button", { name: "Pack" })).toContainText("longer than usual");
  await sound(page, "INSTANCE, longer than usual");
  await fits(page);
});

test("Home lists where tokens wait longer than usual, and leads to them", async ({ page, open, api }) => {
  await api.deploy([["letter.bpmn", PACK.replaceAll("parcel", "letter").replace("Parcel", "Letter")]]);
  for (let n = 0; n < 21; n++) await api.start("letter");
  let done = 0;
  await expect(async () => {
    for (const job of await api.jobs("pack-letter", 20 - done)) {
      await api.complete(job);
      done += 1;
    }
    expect(done).toBe(20);
  }).toPass();

  // The last one is late after ten seconds, however quick the others were.
  await open("/");
  const late = page.getByRole("region", { name: "Waiting too long" });
  const row = late.getByRole("link").filter({ hasText: "Letter, version 1" });
  await expect(row).toBeVisible({ timeout: 60_000 });
  await expect(row).toContainText("Pack");
  await expect(row).toContainText(/the oldest for [\d.]+ (s|min).*, mostly done within/);
  await expect(row.locator(".late-count")).toHaveText("1");
  await sound(page, "HOME, waiting too long");
  await fits(page);
  await row.click();
  await expect(page).toHaveURL(/process=letter.*element=pack/);
  await expect(page.getByRole("grid", { name: "Instances" }).getByRole("rowheader")).toHaveCount(1);
});
