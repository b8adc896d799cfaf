// Notices and the mark of bpmn.io: both are whole, one beside the other, in every room that draws, whatever the width.
import type { Page } from "@playwright/test";
import { expect, fits, instanceOf, test } from "./journey";

const WIDTHS = [360, 420, 768, 1024, 1280];

/** Notices that stay until somebody has read them, as many as a page keeps. */
async function notices(page: Page) {
  for (let more = 0; more < 4; more += 1) await page.getByRole("button", { name: "Say that it was refused" }).click();
  await expect(page.locator(".announcement.failed")).toHaveCount(4);
}

/** To another address without a load of the page, as by a link in it. */
const go = (page: Page, path: string) => page.evaluate((to) => history.pushState(null, "", to), `/ui${path}`);

/** Each mark, brought into view, is on top of its place; and no notice that is in view is below a mark. */
async function apart(page: Page, name: string) {
  const mark = page.locator(".bjs-powered-by:visible, .fjs-powered-by-link:visible");
  const notice = page.locator(".announcement").last();
  await expect(mark.first()).toBeVisible();
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 760 });
    await fits(page);
    for (const each of [...(await mark.all()), notice]) {
      await each.scrollIntoViewIfNeeded();
      const covered = () => each.evaluate((element) => {
        const { left, top, right, bottom } = element.getBoundingClientRect();
        const places = [[left + 4, top + 4], [right - 4, top + 4], [left + 4, bottom - 4], [right - 4, bottom - 4]] as const;
        return places.filter(([x, y]) => !element.contains(document.elementFromPoint(x, y))).length;
      });
      await expect.poll(covered, `${name}, ${width} pixels: corners of ${await each.getAttribute("class")} that are covered`).toBe(0);
    }
  }
}

test("a notice and the mark of bpmn.io cover each other in no room", async ({ page, open, api }) => {
  test.slow();
  const key = await instanceOf(api, "order", { hasIncident: true });
  const { items: [task] } = await api.post("/user-tasks/search", { filter: { elementId: "assess", state: "CREATED" }, page: { limit: 1 } });
  await open("/parts");
  await notices(page);
  for (const path of [
    "/processes?process=order",
    "/processes?process=order&version=2&versus=1",
    `/processes/i/${key}`,
    `/processes/i/${key}?do=modify`,
    `/processes/i/${key}?do=migrate`,
    `/tasks?task=${String(task?.userTaskKey)}`,
    `/tasks?task=${String(task?.userTaskKey)}&tab=process`,
  ]) {
    await go(page, path);
    await expect(page.locator(".content .bjs-powered-by:visible, .content .fjs-powered-by-link:visible").first()).toBeVisible();
    await apart(page, path);
  }
});

test("nor in the studio", async ({ page, open }) => {
  await open("/studio?sample=order");
  await expect(page.locator(".djs-shape").first()).toBeVisible();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.route("**/v2/process-instances", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: '{"title":"UNAVAILABLE","status":503,"detail":"Partition 1 has no leader."}' }));
  await page.getByRole("button", { name: "Start an instance" }).click();
  await expect(page.locator(".announcement.failed")).toHaveCount(1);
  await apart(page, "studio");
});
