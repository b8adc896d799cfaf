// What journeys with logins share: a server that asks who one is, with people, and the way in.
import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { GUARDED, people } from "./guarded.mjs";
import { expect, test as shared } from "./journey";
import type { Client } from "./seed.mjs";
import { startServer } from "./server.mjs";

export const ORDER = await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8");

export interface Guarded {
  url: string;
  /** The first admin. */
  root: Client;
  /** Of the order process, at work. */
  instance: string;
}

export const test = shared.extend<object, { guarded: Guarded }>({
  guarded: [
    // Playwright wants a pattern of objects here.
    async ({}, use) => {
      const running = await startServer(GUARDED);
      const root = await people(running.url);
      await root.deploy([["order.bpmn", ORDER]]);
      const { processInstanceKey } = await root.start("order", { orderId: "o-1" });
      await use({ url: running.url, root, instance: processInstanceKey });
      await running.stop();
    },
    { scope: "worker", timeout: 120_000 },
  ],
});

export async function logIn(page: Page, name: string, password = `${name}-secret`) {
  await page.getByLabel("User name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
}

/** Goes to a page that asks for a login first, and arrives. */
export async function enter(page: Page, url: string, path: string, name = "root") {
  await page.goto(`${url}/ui${path}`);
  await logIn(page, name);
  await expect(page.getByLabel("Password")).toHaveCount(0);
}
