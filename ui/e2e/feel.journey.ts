// The playground: expressions over one's own variables and those of an instance, by link and by keyboard, with what goes wrong at its place.
import { BIG } from "./seed.mjs";
import { expect, fits, test } from "./journey";

test("an expression is evaluated as it is written, and a link shows the same", async ({ page, open }) => {
  await open("/");
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("f");
  await expect(page.getByRole("heading", { name: "Playground" })).toBeVisible();
  await page.getByRole("button", { name: /^sum\(for line/ }).click();
  const result = page.getByRole("region", { name: "Result" });
  await expect(result).toContainText("49.8");
  await page.getByRole("textbox", { name: "Variables, as JSON" }).fill(`{"a": ${BIG}, "b": 0.10}`);
  await page.getByRole("textbox", { name: "FEEL expression" }).fill("[a + 1, b]");
  await expect(result).toContainText("[12345678901234567890124, 0.1]");
  await expect(page).toHaveURL(/expression=/);
  await page.reload();
  await expect(page.getByRole("textbox", { name: "FEEL expression" })).toHaveValue("[a + 1, b]");
  await expect(result).toContainText("[12345678901234567890124, 0.1]");
});

test("warnings are told, and what is no expression is shown where it is wrong", async ({ page, open }) => {
  await open("/feel");
  const field = page.getByRole("textbox", { name: "FEEL expression" });
  const result = page.getByRole("region", { name: "Result" });
  await field.fill("missing + 1");
  await expect(result).toContainText("null");
  await expect(result.getByRole("region", { name: "2 warnings" })).toContainText("No variable found with name 'missing'");
  await field.fill("1\n  + 2 2");
  await expect(result).toContainText("Line 2, column 7");
  await result.getByRole("button", { name: "Go there" }).click();
  await expect(field).toBeFocused();
  expect(await field.evaluate((area: HTMLTextAreaElement) => area.selectionStart)).toBe(8);
  await page.getByRole("textbox", { name: "Variables, as JSON" }).fill("[1]");
  await expect(page.getByText("Variables are an object")).toBeVisible();
  await expect(result).toContainText("No variables to evaluate it with");
  await page.setViewportSize({ width: 360, height: 760 });
  await fits(page);
});

test("an instance's variables are tried with, and stay as they are", async ({ page, open, api }) => {
  const { processInstanceKey: key } = await api.start("hostile", `{"big": ${BIG}, "items": [1, 2, 3]}`);
  await open(`/processes/i/${key}?tab=variables`);
  await page.getByRole("link", { name: "Try an expression" }).click();
  const variables = page.getByRole("textbox", { name: "Variables, as JSON" });
  await expect(variables).toHaveValue(new RegExp(`"big": ${BIG}`));
  await page.getByRole("textbox", { name: "FEEL expression" }).fill("count(items) + big");
  const result = page.getByRole("region", { name: "Result" });
  await expect(result).toContainText("12345678901234567890126");
  await variables.fill('{"big": 1, "items": []}');
  await page.keyboard.press("Control+Enter");
  await expect(result.locator(".json")).toHaveText("1");
  await page.getByRole("button", { name: "Those of the instance" }).click();
  await expect(result).toContainText("12345678901234567890126");
  const { items } = await api.post("/variables/search", { filter: { processInstanceKey: key, name: "big" } });
  expect(items[0]?.value).toBe(BIG);
});

test("the palette takes an expression", async ({ page, open }) => {
  await open("/");
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.getByRole("searchbox").fill("= 6 * 7");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("region", { name: "Result" })).toContainText("42");
});

test("what is written is coloured, brackets find each other, and what is wrong is underlined", async ({ page, open }) => {
  await open("/feel");
  const field = page.getByRole("textbox", { name: "FEEL expression" });
  const ink = page.locator(".code-ink").first();
  await field.fill('if (1 + 2) > 2 then "many" else null // why');
  await expect(ink.locator(".json-word")).toHaveText(["if", "then", "else", "null"]);
  await expect(ink.locator(".json-note")).toHaveText("// why");
  await expect(ink.locator(".code-pair")).toHaveCount(0);
  await page.keyboard.press("Home");
  for (let step = 0; step < 4; step++) await page.keyboard.press("ArrowRight");
  await expect(ink.locator(".code-pair")).toHaveText(["(", ")"]);
  await field.fill("1 + 2 2");
  await expect(ink.locator(".code-wrong")).toHaveText("2");
  const variables = page.getByRole("textbox", { name: "Variables, as JSON" });
  await variables.fill('{"a": 1 "b": 2}');
  await expect(page.locator(".code-ink").nth(1).locator(".code-wrong")).toHaveText('"b"');
});

/** Pixels. */
const LINE = 20;

test("what is drawn lies on what is written, and the line that one writes in stays in sight", async ({ page, open }) => {
  await open("/feel");
  const field = page.getByRole("textbox", { name: "FEEL expression" });
  const heights = () => field.evaluate((area) => [area.clientHeight, area.scrollHeight, area.nextElementSibling?.clientHeight]);
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 760 });
    await field.fill(`${"one + \n".repeat(30)}${"averylongname".repeat(20)} + "a text of some words that breaks somewhere, as it has to"`);
    const [seen, whole, drawn] = await heights();
    expect([whole, drawn]).toEqual([seen, seen]);
    await field.press("Control+End");
    await field.pressSequentially(" + 1");
    expect(await field.evaluate(({ parentElement: box }) => (box ? box.scrollHeight - box.scrollTop - box.clientHeight : -1)), "pixels below what is seen").toBeLessThan(LINE);
  }
  await field.fill("1 + ".repeat(3_000));
  await expect(page.locator(".code-ink")).toHaveCount(1);
  await expect(field).toHaveCSS("-webkit-text-fill-color", /rgb\(/);
});
