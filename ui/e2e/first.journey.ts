// The first five minutes, with a browser only: the sample is drawn on, refused, mended, deployed, run, stuck, mended, and finished.
import { expect, test } from "./journey";
import { startServer } from "./server.mjs";

test("somebody who has nothing but a browser gets a process to its end", async ({ page }) => {
  test.slow();
  const server = await startServer();
  try {
    await page.goto(`${server.url}/`);
    await expect(page.getByRole("heading", { name: "No processes yet" })).toBeVisible();
    await page.getByRole("link", { name: "Begin with the sample" }).click();
    const charge = page.locator('.board .djs-shape[data-element-id="charge"]');
    await charge.dblclick();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("Charge the customer");
    await page.locator(".board-canvas svg").first().click({ position: { x: 400, y: 20 } });
    await expect(charge).toContainText("Charge the");

    // It is forgotten what its worker asks for, and the server says so where it is.
    await charge.click();
    await page.locator(".bio-properties-panel-group-header-title", { hasText: "Task definition" }).click();
    const type = page.locator('[data-entry-id="taskDefinitionType"] [contenteditable], [data-entry-id="taskDefinitionType"] input').first();
    await type.fill("");
    await page.keyboard.press("Tab");
    await page.getByRole("button", { name: "Deploy" }).click();
    const refused = page.getByRole("alert", { name: /The server refuses it/ });
    await expect(refused).toBeVisible();
    await expect(page.locator(".finding-mark")).toHaveCount(1);
    await refused.getByRole("button", { name: "charge" }).first().click();
    await type.fill("charge-customer");
    await page.keyboard.press("Tab");
    await page.getByRole("button", { name: "Deploy" }).click();
    await expect(page.getByText("order is deployed as version 1")).toBeVisible();
    await expect(page.locator(".finding-mark")).toHaveCount(0);

    await page.getByRole("button", { name: "Run it" }).click();
    const run = page.getByRole("region", { name: "Run" });
    await run.getByRole("textbox").fill('{"orderId": "o-1", "amount": 35}');
    await run.getByRole("button", { name: "Start an instance" }).click();
    await expect(run).toContainText("No worker asks for charge-customer");
    await run.getByRole("button", { name: "Complete" }).click();
    await run.locator("form").getByRole("button", { name: "Complete" }).click();

    // Nobody said whether the card was charged: the gateway cannot decide.
    await expect(page.locator('.board .djs-shape[data-element-id="charged"]')).toHaveClass(/sk-incident/);
    await expect(run).toContainText("An expression failed");
    await run.getByRole("button", { name: "Retry" }).click();
    await run.locator("form").getByRole("textbox").fill('{"charged": true}');
    await run.locator("form").getByRole("button", { name: "Retry" }).click();
    await expect(run).toContainText("Completed. The board shows the way it took.");
    await expect(page.locator('.board .djs-shape[data-element-id="paid"]')).toHaveClass(/sk-done/);

    await page.getByRole("link", { name: "Home", exact: true }).click();
    await expect(page.getByRole("link", { name: /^Order/ })).toBeVisible();
  } finally {
    await server.stop();
  }
});
