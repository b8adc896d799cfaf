// Live: pages follow what happens by the pulse, ask for nothing while nothing happens, and go on without a pulse.
import type { Page } from "@playwright/test";
import { readFile } from "node:fs/promises";
import { expect, passing, test as plain } from "./journey";
import { client } from "./seed.mjs";
import { startServer } from "./server.mjs";

const model = new URL("../../examples/first-process.bpmn", import.meta.url);

/** What a page asks for again and again, as it was sent. */
function listen(page: Page) {
  const heard = { pulses: 0, unchanged: 0, repeats: [] as string[], others: [] as string[] };
  page.on("response", (response) => {
    const request = response.request();
    const { pathname } = new URL(response.url());
    if (pathname === "/skep/v1/pulse") {
      heard.pulses++;
      if (response.status() === 304) heard.unchanged++;
    } else if (pathname.startsWith("/v2/") && pathname !== "/v2/topology" && pathname !== "/v2/status") {
      const consistency = request.headers()["skep-consistency"] ?? "own";
      (consistency === "shared" ? heard.repeats : heard.others).push(pathname);
    }
  });
  return heard;
}

interface Own {
  url: string;
  id: string;
  start: () => Promise<unknown>;
}

/** A server on which nothing happens but what the journey does. */
const test = plain.extend<{ own: Own }>({
  // Playwright wants a pattern of objects here.
  own: async ({}, use) => {
    const server = await startServer();
    const api = client(server.url);
    await api.deploy([["first-process.bpmn", await readFile(model, "utf8")]]);
    const { items } = await api.post("/process-definitions/search", {});
    const id = String(items[0]?.processDefinitionId);
    await api.start(id);
    await use({ url: server.url, id, start: () => api.start(id) });
    await server.stop();
  },
});

test("a page asks for the pulse alone while nothing happens, and shows what does", async ({ page, own: { url, id, start } }) => {
  const heard = listen(page);
  await page.goto(`${url}/ui/processes?process=${id}&state=active`);
  const count = page.getByRole("status").filter({ hasText: /instances?$/ });
  await expect(count).toHaveText("1 instance");
  // What came before the first pulse is asked for once more, the versions after 15 s. Then there are pulses alone.
  const asked = () => heard.repeats.length + heard.others.length;
  let since = { asked: asked(), unchanged: 0 };
  const quiet = () => {
    if (asked() !== since.asked) since = { asked: asked(), unchanged: heard.unchanged };
    return heard.unchanged - since.unchanged;
  };
  await expect.poll(quiet, { timeout: 120_000, message: "pulses that say that nothing has changed, and no question" }).toBeGreaterThan(4);
  const own = heard.others.length;
  await start();
  await expect(count).toHaveText("2 instances", { timeout: 60_000 });
  expect(heard.repeats).toContain("/v2/process-instances/search");
  expect(heard.others.slice(own), "repeated questions are shared").toEqual([]);
});

test("a page that is paused asks for nothing, and catches up", async ({ page, own: { url, id, start } }) => {
  await page.clock.install();
  await page.goto(`${url}/ui/processes?process=${id}&state=active`);
  const count = page.getByRole("status").filter({ hasText: /instances?$/ });
  await expect(count).toHaveText("1 instance");
  // The drawing and its counts are there, too.
  await page.waitForLoadState("networkidle");
  await page.getByRole("button", { name: "Live" }).click();
  const heard = listen(page);
  await start();
  // Longer than a page that is not paused waits.
  for (let waited = 0; waited < 20; waited += 1) await page.clock.fastForward(1_000);
  await page.waitForLoadState("networkidle");
  expect(heard).toMatchObject({ pulses: 0, repeats: [], others: [] });
  await expect(count).toHaveText("1 instance");
  await page.getByRole("button", { name: "Paused" }).click();
  await passing(page, () => expect(count).toHaveText("2 instances", { timeout: 500 }));
});

test("a tab that nobody sees asks once a minute, and follows again once it is seen, also after an hour of sleep", async ({ page, own: { url, id, start } }) => {
  // As a browser tells it.
  const seen = (isSeen: boolean) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      Object.defineProperty(document, "visibilityState", { value: hidden ? "hidden" : "visible", configurable: true });
      document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
    }, !isSeen);
  await page.clock.install();
  await page.goto(`${url}/ui/processes?process=${id}&state=active`);
  const count = page.getByRole("status").filter({ hasText: /instances?$/ });
  await expect(count).toHaveText("1 instance");
  await page.waitForLoadState("networkidle");
  await seen(false);
  await page.clock.fastForward("01:00:00");
  await start();
  await seen(true);
  // By the clock of the server, which bounds how old an answer is.
  await expect(count).toHaveText("2 instances", { timeout: 90_000 });
  await expect(page.locator('[role="rowgroup"] time').first()).toHaveText(/^1 ?h/);
  await seen(false);
  const heard = listen(page);
  const minutes = 10;
  for (let waited = 0; waited < minutes * 6; waited += 1) await page.clock.fastForward(10_000);
  await page.waitForLoadState("networkidle");
  expect(heard.pulses).toBeGreaterThan(0);
  expect(heard.pulses).toBeLessThanOrEqual(minutes + 1);
});

for (const status of [404, 503]) {
  test(`without a pulse (${status}) a page asks again by itself`, async ({ page, own: { url, id, start } }) => {
    await page.route("**/skep/v1/pulse", (route) => route.fulfill({ status, body: "" }));
    await page.clock.install();
    await page.goto(`${url}/ui/processes?process=${id}&state=active`);
    const count = page.getByRole("status").filter({ hasText: /instances?$/ });
    await expect(count).toHaveText("1 instance");
    await start();
    await passing(page, () => expect(count).toHaveText("2 instances", { timeout: 500 }));
  });
}

test("after a command of one's own the page shows it at once", async ({ page, own: { url, id } }) => {
  await page.goto(`${url}/ui/processes?process=${id}&state=active`);
  await expect(page.getByRole("status").filter({ hasText: "1 instance" })).toBeVisible();
  const heard = listen(page);
  await page.getByRole("row").nth(1).getByRole("checkbox").check({ force: true });
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: /^Cancel/ }).last().click();
  await expect(page.getByRole("status").filter({ hasText: /^0 instances|No instances/ })).toBeVisible();
  expect(heard.others).toContain("/v2/process-instances/search");
});

test("while the store of searches is behind, pages say by how much, and when it has caught up no more", async ({ page, own: { url, id, start } }) => {
  const exporting = async (how: "pause" | "resume") => {
    const answer = await fetch(`${url}/skep/v1/management/exporting/${how}`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
    expect(answer.ok, `${how} exporting`).toBe(true);
  };
  await page.goto(`${url}/ui/processes?process=${id}&state=active`);
  const count = page.getByRole("status").filter({ hasText: /instances?$/ });
  await expect(count).toHaveText("1 instance");
  await exporting("pause");
  await start();
  await page.reload();
  const behind = page.getByRole("status").filter({ hasText: /^Lists are .+ behind$/ });
  await expect(behind).toBeVisible({ timeout: 90_000 });
  // The page still shows the data that the store has.
  await expect(count).toHaveText("1 instance");
  await exporting("resume");
  await expect(count).toHaveText("2 instances", { timeout: 90_000 });
  await expect(behind).toHaveCount(0, { timeout: 90_000 });
});
