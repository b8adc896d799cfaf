// What somebody keeps on the server: views that others open too, and a model that is drawn in two browsers.
import { expect } from "./journey";
import { logIn, test } from "./peopled";

test("a view is saved, shared, opened by somebody else, and deleted", async ({ page, browser, guarded }) => {
  const title = `Broken orders ${Date.now()}`;
  await page.goto(`${guarded.url}/ui/processes?process=order&state=incident`);
  await logIn(page, "root");
  const views = page.getByRole("button", { name: "Saved views" });
  await views.click();
  await page.getByRole("textbox", { name: "Name of the view" }).fill(title);
  await page.keyboard.press("Enter");
  await expect(page.getByText(`The view ${title} is saved`)).toBeVisible();
  await page.getByRole("button", { name: `Share ${title} with everyone` }).click();
  await expect(page.getByRole("button", { name: `Do not share ${title}` })).toBeVisible();

  const elsewhere = await browser.newContext();
  const other = await elsewhere.newPage();
  await other.goto(`${guarded.url}/ui/processes`);
  await logIn(other, "olaf");
  await other.getByRole("button", { name: "Saved views" }).click();
  await expect(other.getByText("shared by root")).toBeVisible();
  await expect(other.getByRole("button", { name: `Delete the view ${title}` })).toHaveCount(0);
  await other.getByRole("button", { name: title }).first().click();
  await expect(other).toHaveURL(/process=order/);
  await expect(other).toHaveURL(/state=incident/);
  await elsewhere.close();

  await page.getByRole("button", { name: `Delete the view ${title}` }).click();
  await expect(page.getByText(title, { exact: true })).toHaveCount(0);
});

test("a model that two browsers draw is overwritten by neither, and a draft from before the login is taken along", async ({ page, browser, guarded }) => {
  await page.goto(`${guarded.url}/ui/login`);
  // As a browser had it while the server had no login.
  await page.evaluate(() => localStorage.setItem("skep-draft-123456789012", JSON.stringify({ name: "Old", xml: '{"id": "old-form", "type": "default", "components": []}', saved: Date.now() })));
  await page.goto(`${guarded.url}/ui/studio`);
  await logIn(page, "root");
  await expect(page.getByText("only in this browser")).toBeVisible();
  await page.getByRole("button", { name: "Keep the draft of this browser on the server" }).click();
  await expect(page.getByText("only in this browser")).toHaveCount(0);
  await expect(page.getByText("old-form")).toBeVisible();

  await page.getByRole("button", { name: "New process" }).click();
  const kept = page.getByText("Kept on the server");
  await expect(kept).toBeVisible();
  const address = page.url();
  const elsewhere = await browser.newContext();
  const other = await elsewhere.newPage();
  await other.goto(address);
  await logIn(other, "root");
  await expect(other.getByText("Kept on the server")).toBeVisible();

  const append = async (of: typeof page, what: string) => {
    await of.locator('.djs-element[data-element-id="start"]').click();
    await of.locator(`.djs-context-pad [data-action="append.${what}"]`).click();
  };
  await append(page, "end-event");
  await expect(page.locator('.djs-shape[data-element-id^="Event_"]')).toBeVisible();
  // It is sent a moment later, and then the browser has nothing that the server has not.
  await expect.poll(() => page.evaluate(() => Object.keys(localStorage).filter((name) => name.startsWith("skep-unsent-")).length)).toBe(0);
  await expect(kept).toBeVisible();
  await append(other, "append-task");
  await expect(other.getByRole("alert")).toContainText("Changed elsewhere meanwhile");
  await other.getByRole("button", { name: "Keep yours as a copy" }).click();
  await expect(other).not.toHaveURL(address);
  await expect(other.getByText("Kept on the server")).toBeVisible();
  await expect(other.locator('.djs-shape[data-element-id^="Activity_"]')).toBeVisible();
  await other.goto(address);
  await expect(other.locator('.djs-shape[data-element-id^="Event_"]')).toBeVisible();
  await expect(other.locator('.djs-shape[data-element-id^="Activity_"]')).toHaveCount(0);
  await elsewhere.close();
});
