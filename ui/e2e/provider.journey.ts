// Logging in at an identity provider: there and back, a refusal, a session that ends under an open page, and out of both; the same behind
// a proxy that offers the server under a path.
import type { Page } from "@playwright/test";
import { sound } from "./axe";
import { expect, test as shared } from "./journey";
import { type Provider, startProvider } from "./provider.mjs";
import { startProxy } from "./proxy";
import { startServer } from "./server.mjs";

interface Own {
  provider: Provider;
  url: string;
}

/** A server fetches the provider's keys and addresses by itself. */
const known = (server: string): Promise<void> => expect.poll(async () => (await fetch(`${server}/oauth2/authorization/oidc`, { redirect: "manual" })).status).toBe(302);

const test = shared.extend<object, { own: Own }>({
  own: [
    // Playwright wants a pattern of objects here.
    async ({}, use) => {
      const provider = await startProvider(["anna", "olaf"]);
      const server = await startServer(provider.settings);
      await known(server.url);
      await use({ provider, url: server.url });
      await server.stop();
      provider.stop();
    },
    { scope: "worker", timeout: 120_000 },
  ],
});

const WAY = "Log in with The provider";

/** All that scripts of the page can read of what the browser keeps. */
const kept = (page: Page): Promise<string> => page.evaluate(() => JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML]));

test("one logs in there, arrives where one wanted to go, and logs out of both", async ({ page, own }) => {
  await page.goto(`${own.url}/ui/processes?state=active`);
  await expect(page).toHaveURL(/\/ui\/login\?next=/);
  await expect(page.getByRole("link", { name: WAY })).toBeVisible();
  await sound(page, "the login at a provider");
  await page.getByRole("link", { name: WAY }).click();
  await expect(page).toHaveURL((url) => url.href.startsWith(own.provider.url));
  await page.getByRole("link", { name: "I am anna" }).click();
  await expect(page).toHaveURL(`${own.url}/ui/processes?state=active`);
  await expect(page.getByText("No instance matches these filters")).toBeVisible();
  // What the provider signed stays on the server.
  expect(own.provider.signed.length).toBeGreaterThan(0);
  const found = await kept(page);
  expect(own.provider.signed.filter((token) => found.includes(token))).toEqual([]);
  await page.getByRole("button", { name: "You are anna" }).click();
  await page.getByRole("button", { name: "Log out" }).click();
  await expect(page.getByRole("heading", { name: "You are logged out" })).toBeVisible();
  await page.goto(`${own.url}/ui/processes`);
  await expect(page).toHaveURL(/\/ui\/login/);
});

test("who refuses there is told so, and may try again", async ({ page, own }) => {
  await page.goto(`${own.url}/ui/`);
  await page.getByRole("link", { name: WAY }).click();
  await page.getByRole("link", { name: "I say no" }).click();
  await expect(page.getByText("The identity provider refused the login.")).toBeVisible();
  await page.getByRole("link", { name: WAY }).click();
  await page.getByRole("link", { name: "I am anna" }).click();
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
});

test("a session that ends is begun again in another tab, and the page goes on with what was asked", async ({ page, context, own }) => {
  await page.goto(`${own.url}/ui/admin/variables`);
  await page.getByRole("link", { name: WAY }).click();
  await page.getByRole("link", { name: "I am anna" }).click();
  await page.getByRole("button", { name: "New variable" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("limit");
  await page.getByRole("textbox", { name: "Value, as JSON" }).fill("12");
  await context.clearCookies();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Your session is over" })).toBeVisible();
  const [apart] = await Promise.all([context.waitForEvent("page"), page.getByRole("link", { name: WAY }).click()]);
  await apart.getByRole("link", { name: "I am anna" }).click();
  await expect(apart).toHaveURL((url) => url.href.startsWith(own.url));
  await apart.close();
  // What a browser tells a tab that one comes back to; this one takes all of its tabs for focused.
  await page.evaluate(() => dispatchEvent(new Event("focus")));
  await expect(page.getByRole("heading", { name: "Your session is over" })).toHaveCount(0);
  await expect(page.getByRole("row", { name: /limit/ })).toBeVisible();
});

for (const [how, settings, added] of [
  ["a setting names", ["skep.ui.base-path=/bpm"], {}],
  ["the proxy names itself", ["skep.ui.trust-forwarded-prefix=true"], { "x-forwarded-prefix": "/bpm" }],
] as const) {
  test(`behind a path that ${how}, one gets there, back below it, into a session that ended again, and out`, async ({ page, context }) => {
    const provider = await startProvider(["anna"]);
    const server = await startServer([...provider.settings, ...settings]);
    const proxy = await startProxy(server.url, "/bpm", added);
    try {
      await known(server.url);
      await page.goto(`${proxy.url}/ui/admin/variables`);
      await expect(page).toHaveURL((url) => url.href.startsWith(`${proxy.url}/ui/login?next=`));
      await page.getByRole("link", { name: WAY }).click();
      await page.getByRole("link", { name: "I say no" }).click();
      await expect(page.getByText("The identity provider refused the login.")).toBeVisible();
      await expect(page).toHaveURL((url) => url.href.startsWith(`${proxy.url}/ui/login`));
      await page.goto(`${proxy.url}/ui/admin/variables`);
      await page.getByRole("link", { name: WAY }).click();
      await page.getByRole("link", { name: "I am anna" }).click();
      await expect(page).toHaveURL(`${proxy.url}/ui/admin/variables`);
      // No other application behind the same proxy gets the cookies.
      const cookies = await context.cookies();
      expect(cookies.length).toBeGreaterThan(1);
      expect(cookies.filter(({ path }) => path !== "/bpm")).toEqual([]);
      await page.getByRole("button", { name: "New variable" }).click();
      await page.getByRole("textbox", { name: "Name" }).fill("limit");
      await page.getByRole("textbox", { name: "Value, as JSON" }).fill("12");
      await context.clearCookies();
      await page.getByRole("button", { name: "Save", exact: true }).click();
      const [apart] = await Promise.all([context.waitForEvent("page"), page.getByRole("link", { name: WAY }).click()]);
      await apart.getByRole("link", { name: "I am anna" }).click();
      await expect(apart).toHaveURL(`${proxy.url}/ui/`);
      await apart.close();
      await page.evaluate(() => dispatchEvent(new Event("focus")));
      await expect(page.getByRole("row", { name: /limit/ })).toBeVisible();
      await page.getByRole("button", { name: "You are anna" }).click();
      await page.getByRole("button", { name: "Log out" }).click();
      await expect(page).toHaveURL(`${proxy.url}/ui/logged-out`);
      await page.getByRole("link", { name: "Log in" }).click();
      await expect(page.getByRole("link", { name: WAY })).toBeVisible();
      expect(proxy.elsewhere).toEqual([]);
    } finally {
      proxy.stop();
      await server.stop();
      provider.stop();
    }
  });
}
