// Takes pictures of pages, and knows where what is worth a picture is on a seeded server.
import { mkdir, stat } from "node:fs/promises";
import path from "node:path";
import { chromium } from "@playwright/test";

/** A browser that leaves pictures in a directory. */
export async function camera(to) {
  await mkdir(to, { recursive: true });
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  /** Pages are `[name, address, before]`; looks `{ name, width, height, colorScheme }`. `first` is done once for each look, before its pages. */
  const shoot = async (base, pages, looks, first) => {
    for (const { name: look, width, height, colorScheme } of pages.length === 0 ? [] : looks) {
      const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: "reduce" });
      const page = await context.newPage();
      await first?.(page, base);
      for (const [name, address, before] of pages) {
        await page.goto(`${base}/ui${address}`);
        await page.waitForLoadState("networkidle").catch(() => undefined);
        await page.locator("#page-title h1, .bare h1").first().waitFor();
        await page.waitForTimeout(400);
        await before?.(page);
        await page.screenshot({ path: path.join(to, `${[name, look].filter(Boolean).join("-")}.png`) });
      }
      await context.close();
    }
  };
  return { shoot, close: () => browser.close() };
}

/** Kilobytes of a picture. */
export const weight = async (file) => (await stat(file)).size / 1000;

/** Logs in as the first admin of a server with people. */
export async function asRoot(page, base) {
  await page.goto(`${base}/ui/help`);
  await page.getByLabel("User name").fill("root");
  await page.getByLabel("Password").fill("root-secret");
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.locator("#page-title h1").waitFor();
}

/** Keys of a seeded server: an instance that is stuck and others by a filter, the most frequent error, a task with a form, a decision that failed. */
export async function places(api) {
  const instance = async (filter) => {
    const { items } = await api.post("/process-instances/search", { filter, sort: [{ field: "hasIncident", order: "DESC" }], page: { limit: 1 } });
    return items[0].processInstanceKey;
  };
  const one = async (search, body) => (await api.post(search, { page: { limit: 1 }, ...body })).items[0];
  return {
    instance,
    stuck: await instance({ processDefinitionId: "order", hasIncident: true, processDefinitionVersion: 2 }),
    error: (await one("/incidents/statistics/process-instances-by-error", { sort: [{ field: "activeInstancesWithErrorCount", order: "DESC" }] })).errorHashCode,
    task: (await one("/user-tasks/search", { filter: { elementId: "assess" } })).userTaskKey,
    failedDecision: (await one("/decision-instances/search", { filter: { state: "FAILED" } })).decisionEvaluationInstanceKey,
  };
}

/** An instance that is watched in the studio, with the first thing that can be done for it open. */
export const watch = (key) => async (page) => {
  await page.locator(".djs-shape").first().waitFor();
  await page.goto(`${page.url()}?run=${key}`);
  await page.locator(".pill.incident").waitFor();
  await page.locator(".run-acts .button").first().click();
};
