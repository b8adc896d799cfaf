// What all journeys share: a seeded server per worker, an empty one where it is asked for, and eyes on what a page must never do.
import { type Locator, type Page, test as plain, expect } from "@playwright/test";
import { type Client, client, seed } from "./seed.mjs";
import { type Running, startServer } from "./server.mjs";

interface OfWorker {
  server: Running;
  empty: Running;
}

interface OfTest {
  api: Client;
  /** Opens a page of the seeded server. */
  open: (path: string) => Promise<void>;
  watched: undefined;
}

/** A page that says something to the console, asks another host, or is refused by its policy fails its journey. */
function watch(page: Page, allowed: () => string): string[] {
  const wrong: string[] = [];
  page.on("pageerror", (error) => wrong.push(`broke: ${error.message}`));
  page.on("console", (message) => {
    // The last is what bpmn-js says to its own authors, in a file of theirs.
    const expected = /Failed to load resource|dynamically imported module|Error in route match|ContextPad#getPad is deprecated/.test(message.text());
    if (["error", "warning"].includes(message.type()) && !expected) wrong.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(allowed()) && !/^(data|blob|about):/.test(url)) wrong.push(`asked elsewhere: ${url}`);
  });
  return wrong;
}

export const test = plain.extend<OfTest, OfWorker>({
  server: [
    // Playwright wants a pattern of objects here.
    async ({}, use) => {
      const running = await startServer();
      await seed(running.url);
      await use(running);
      await running.stop();
    },
    { scope: "worker", timeout: 120_000 },
  ],
  empty: [
    async ({}, use) => {
      const running = await startServer();
      await use(running);
      await running.stop();
    },
    { scope: "worker", timeout: 120_000 },
  ],
  api: async ({ server }, use) => use(client(server.url)),
  open: async ({ page, server }, use) =>
    use(async (path) => {
      await page.goto(`${server.url}/ui${path}`);
    }),
  watched: [
    async ({ page }, use) => {
      const wrong = watch(page, () => "http://127.0.0.1:");
      await use(undefined);
      expect(wrong, "nothing goes wrong behind what is seen").toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

/** Key of an instance of a process at work. */
export async function instanceOf(api: Client, process: string, more: Record<string, unknown> = {}): Promise<string> {
  const { items } = await api.post("/process-instances/search", {
    filter: { processDefinitionId: process, state: "ACTIVE", ...more },
    page: { limit: 1 },
  });
  return String(items[0]?.processInstanceKey);
}

/** Nothing sticks out of the screen sideways, once what a script places has followed the screen's width. */
export async function fits(page: Page) {
  const over = () =>
    page.evaluate(() => {
      const parts = [document.documentElement, document.querySelector(".content") ?? document.body];
      return Math.max(...parts.map((element) => element.scrollWidth - element.clientWidth));
    });
  await expect.poll(over, "pixels beside the screen").toBeLessThanOrEqual(0);
}

/** Nothing of what they say is cut. */
export async function whole(of: Locator) {
  const cut = () => of.evaluateAll((all) => all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.textContent));
  await expect.poll(cut, "words that are cut").toEqual([]);
}

/** Lets time go by for the page, whose clock is installed, until something holds: nobody waits for what a page asks again by itself. */
export async function passing(page: Page, what: () => Promise<void> | void) {
  await expect(async () => {
    await page.clock.fastForward(5_000);
    await what();
  }).toPass({ intervals: [500], timeout: 60_000 });
}
