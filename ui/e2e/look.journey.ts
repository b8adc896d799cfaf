// What is seen, in the widths that people have: names are whole, what belongs together stands together, and figures add up.
import { sound } from "./axe";
import { expect, test, whole } from "./journey";

for (const [width, height] of [[1280, 800], [360, 760]] as const) {
  test(`names of tasks and what is chosen of them are whole at ${width} pixels`, async ({ page, open }) => {
    await page.setViewportSize({ width, height });
    await open("/tasks");
    await expect(page.getByRole("link", { name: /Assess the damage/ }).first()).toBeVisible();
    await whole(page.locator(".task-name"));
    const [due = 0] = await page.getByRole("combobox").filter({ hasText: "Due soonest" }).evaluateAll((all) => all.map((each) => each.clientWidth));
    expect(due, "room for the order").toBeGreaterThan(100);
  });
}

test("a process on the first page counts its instances with incidents among those at work", async ({ page, open }) => {
  await open("/");
  // Other journeys deploy processes of the same name.
  const row = page.getByRole("region", { name: "Processes" }).locator('a[href*="process=order&"], a[href$="process=order"]');
  const words = (await row.locator(".process-load").getAttribute("title")) ?? "";
  const [active, stuck] = (/^(\d+) active, (\d+) of them with incidents$/.exec(words) ?? []).slice(1).map(Number);
  expect(stuck).toBeGreaterThan(0);
  expect(active).toBeGreaterThan(stuck ?? 0);
  await expect(row.locator(".figure").last()).toHaveText(String(active));
});

test("a row of instances is read from one end of a wide screen to the other", async ({ page, open }) => {
  await page.setViewportSize({ width: 1920, height: 1080 });
  await open("/processes?process=order");
  const key = page.getByRole("columnheader", { name: "Key" });
  const version = page.getByRole("columnheader", { name: "Version" });
  await expect(version).toBeVisible();
  const [from, to] = [await key.boundingBox(), await version.boundingBox()];
  expect((to?.x ?? 0) - (from?.x ?? 0), "from a key to what comes next").toBeLessThan(260);
});

test("on a phone the place of a task in its process is drawn as high as there is room", async ({ page, open, api }) => {
  await page.setViewportSize({ width: 360, height: 760 });
  const { items: [task] } = await api.post("/user-tasks/search", { filter: { elementId: "assess", state: "CREATED" }, page: { limit: 1 } });
  await open(`/tasks?task=${String(task?.userTaskKey)}&tab=process`);
  await expect(page.locator(".task-drawing .djs-shape").first()).toBeVisible();
  expect((await page.locator(".task-drawing .diagram").boundingBox())?.height ?? 0).toBeGreaterThan(300);
});

test("on a phone what belongs together in the studio stays in one line", async ({ page, open }) => {
  await page.setViewportSize({ width: 360, height: 760 });
  await open("/studio?sample=order");
  await expect(page.locator(".djs-shape").first()).toBeVisible();
  const [undo, redo] = [await page.getByRole("button", { name: "Undo" }).boundingBox(), await page.getByRole("button", { name: "Redo" }).boundingBox()];
  expect(redo?.y).toBe(undo?.y);
});

test("all parts in all states pass axe and fit, and ask the server nothing", async ({ page, open }) => {
  const asked: string[] = [];
  page.on("request", (each) => void (each.url().includes("/v2/") && asked.push(new URL(each.url()).pathname)));
  await open("/parts");
  await expect(page.getByText("Partition 1 has no leader at the moment.")).toBeVisible();
  await expect(page.locator(".skeleton-row").first()).toBeVisible();
  await sound(page, "/parts");
  await page.getByRole("button", { name: "main", exact: true }).first().click();
  await expect(page.getByRole("dialog", { name: "A question" })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Say that it was refused" }).click();
  await expect(page.getByText("With the server's reason.")).toBeVisible();
  await sound(page, "/parts with an announcement");
  expect(asked.filter((path) => !/authentication|system|pulse/.test(path))).toEqual([]);
});
