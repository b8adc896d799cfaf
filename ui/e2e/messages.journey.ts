// Messages: who waits, what came, and what is sent by hand.
import { expect, test } from "./journey";

test("a message is sent to somebody who waits, and stands among those that arrived", async ({ page, open, api }) => {
  const { processInstanceKey: key } = await api.start("payment", { invoiceId: "i-by-hand", patience: "P14D" });
  await open("/messages");
  await page.getByRole("searchbox", { name: "Correlation key" }).fill("i-by-hand");
  await expect(page.getByRole("status").filter({ hasText: "1 subscription" })).toBeVisible();
  await expect(page).toHaveURL(/key=i-by-hand/);
  await page.getByRole("row").nth(1).getByRole("button", { name: "Send" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("textbox", { name: "Message name" })).toHaveValue("invoice-paid");
  await expect(dialog.getByRole("textbox", { name: "Correlation key" })).toHaveValue("i-by-hand");
  await dialog.getByRole("textbox", { name: "Variables, as JSON" }).fill("[1]");
  await expect(dialog.getByRole("alert")).toContainText("Variables are an object");
  await dialog.getByRole("textbox", { name: "Variables, as JSON" }).fill('{"paid": 12345678901234567890123}');
  await dialog.getByRole("button", { name: "Correlate" }).click();
  await expect(page.getByText("The message has reached an instance")).toBeVisible();
  await page.getByRole("link", { name: "Arrived" }).click();
  await expect(page.getByRole("row").filter({ hasText: "i-by-hand" }).getByRole("link", { name: key })).toBeVisible();
  const { items } = await api.post("/variables/search", { filter: { processInstanceKey: key, name: "paid" } });
  expect(items[0]?.value).toBe("12345678901234567890123");
});

test("a message to nobody is refused, and published instead it waits", async ({ page, open }) => {
  await open("/messages");
  await page.getByRole("button", { name: "Send" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("combobox", { name: "How" }).selectOption("Correlate");
  await dialog.getByRole("textbox", { name: "Message name" }).fill("nobody-waits-for-this");
  await dialog.getByRole("button", { name: "Correlate" }).click();
  await expect(page.locator(".announcement.failed")).toContainText("nobody-waits-for-this");
  await dialog.getByRole("combobox", { name: "How" }).selectOption("Publish");
  await dialog.getByRole("textbox", { name: "Time to live, in seconds" }).fill("60");
  await dialog.getByRole("button", { name: "Publish" }).click();
  await expect(page.getByText("The message was published")).toBeVisible();
});

test("timers say when, signals reach all who wait, and each list has its address", async ({ page, open }) => {
  await open("/messages?view=timers");
  await expect(page.getByRole("row").nth(1)).toContainText(/in \d+/);
  await open("/messages?view=signals");
  await expect(page.getByText("Nothing waits for a signal")).toBeVisible();
  await page.getByRole("button", { name: "Send" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Signal name" }).fill("closing-time");
  await dialog.getByRole("button", { name: "Broadcast a signal" }).click();
  await expect(page.getByText("The signal was broadcast")).toBeVisible();
  await open("/messages?name=none-has-this-name");
  await expect(page.getByText("None is of this filter")).toBeVisible();
});
