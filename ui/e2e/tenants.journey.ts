// Tenants that are kept apart: what is shown says whose it is, one of them is chosen for all pages, and what is made is made for one.
import { sound } from "./axe";
import { TENANTED, people, tenants } from "./guarded.mjs";
import { expect, test as shared, whole } from "./journey";
import { ORDER, enter } from "./peopled";
import type { Client } from "./seed.mjs";
import { startServer } from "./server.mjs";

const test = shared.extend<object, { apart: { url: string; root: Client } }>({
  apart: [
    // Playwright wants a pattern of objects here.
    async ({}, use) => {
      const running = await startServer(TENANTED);
      const root = await people(running.url);
      await tenants(root, ORDER);
      await use({ url: running.url, root });
      await running.stop();
    },
    { scope: "worker", timeout: 120_000 },
  ],
});

test("a tenant is chosen for all pages, and rows say whose they are as long as none is", async ({ page, apart }) => {
  await enter(page, apart.url, "/");
  const processes = page.getByRole("region", { name: "Processes" });
  await expect(processes.getByRole("link", { name: "acme" })).toContainText("3");
  await expect(processes.getByRole("link", { name: "globex" })).toContainText("2");
  await page.goto(`${apart.url}/ui/processes`);
  await expect(page.getByRole("status").filter({ hasText: "5 instances" })).toBeVisible();
  await expect(page.getByRole("columnheader", { name: "Tenant" })).toBeVisible();
  await page.getByRole("combobox", { name: "Tenant" }).selectOption({ label: "Acme" });
  await expect(page).toHaveURL(/\/ui\/processes\?tenant=acme$/);
  await expect(page.getByRole("status").filter({ hasText: "3 instances" })).toBeVisible();
  await expect(page.getByRole("columnheader", { name: "Tenant" })).toHaveCount(0);
  // Other pages are of the same tenant, and a link says so.
  await page.getByRole("link", { name: "Home", exact: true }).first().click();
  await expect(page).toHaveURL(/\/ui\/\?tenant=acme$/);
  await expect(page.getByRole("region", { name: "Processes" }).getByRole("link", { name: "Order" })).toHaveCount(1);
  await page.reload();
  await expect(page.getByRole("combobox", { name: "Tenant" })).toHaveValue("acme");
  await page.getByRole("combobox", { name: "Tenant" }).selectOption("");
  await expect(page).toHaveURL(/\/ui\/$/);
  await expect(page.getByRole("region", { name: "Processes" }).getByRole("link", { name: "globex" })).toBeVisible();
});

test("of two processes with one id the one that is picked is shown", async ({ page, apart }) => {
  await enter(page, apart.url, "/processes");
  await page.getByRole("combobox", { name: "Process", exact: true }).selectOption({ label: "Order · globex" });
  await expect(page).toHaveURL(/process=order/);
  await expect(page).toHaveURL(/tenant=globex/);
  await expect(page.getByRole("status").filter({ hasText: "2 instances" })).toBeVisible();
  await expect(page.locator(".djs-shape").first()).toBeVisible();
});

test("what is sent, deployed and started is of a tenant that somebody chose", async ({ page, apart }) => {
  await enter(page, apart.url, "/messages");
  await page.getByRole("button", { name: "Send" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Message name").fill("paid");
  await expect(dialog.getByRole("button", { name: "Publish" })).toBeDisabled();
  await dialog.getByLabel("Tenant").selectOption("acme");
  await dialog.getByRole("button", { name: "Publish" }).click();
  await expect(page.getByText("The message was published")).toBeVisible();
  await page.goto(`${apart.url}/ui/studio?sample=order`);
  await expect(page.locator(".djs-shape").first()).toBeVisible();
  await expect(page.getByRole("button", { name: "Deploy" })).toBeDisabled();
  await page.getByRole("toolbar").getByRole("combobox", { name: "Tenant" }).selectOption("globex");
  await page.getByRole("button", { name: "Deploy" }).click();
  const search = async (tenantId: string) => (await apart.root.post("/process-definitions/search", { filter: { processDefinitionId: "order", tenantId } })).items.length;
  await expect.poll(() => search("globex")).toBeGreaterThan(0);
  await page.goto(`${apart.url}/ui/tasks?start=order&tenant=acme`);
  await page.getByRole("button", { name: "Start", exact: true }).last().click();
  await expect(page.getByText("was started")).toBeVisible();
  const count = async (tenantId: string) => (await apart.root.post("/process-instances/search", { filter: { processDefinitionId: "order", tenantId } })).items.length;
  await expect.poll(() => count("acme")).toBe(4);
});

test("who belongs to one tenant sees its name, and has nothing to choose", async ({ page, apart }) => {
  await enter(page, apart.url, "/processes", "olaf");
  await expect(page.getByText("Acme", { exact: true })).toBeVisible();
  await expect(page.getByRole("combobox", { name: "Tenant" })).toHaveCount(0);
});

test("on a phone the name of a page is whole beside the choice of a tenant", async ({ page, apart }) => {
  await page.setViewportSize({ width: 360, height: 760 });
  await enter(page, apart.url, "/");
  for (const route of ["processes", "messages", "incidents", "decisions"]) {
    await page.goto(`${apart.url}/ui/${route}`);
    await expect(page.getByRole("combobox", { name: "Tenant" })).toBeVisible();
    await whole(page.locator("#page-title h1"));
  }
});

test("pages with tenants pass axe and fit", async ({ page, apart }) => {
  await enter(page, apart.url, "/");
  for (const route of ["/", "/processes", "/processes?process=order&tenant=acme", "/tasks?start=order", "/messages?view=timers", "/jobs/charge-card", "/studio?sample=order"]) {
    await page.goto(`${apart.url}/ui${route}`);
    await expect(page.locator("#page-title h1")).toBeVisible();
    await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
    await expect(page.getByRole("combobox", { name: "Tenant" }).first()).toBeVisible();
    await sound(page, route);
  }
});
