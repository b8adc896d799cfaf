// Pages that only a server with people has: contrast and names by axe, no sideways scroll, in both themes and two widths.
import { violations } from "./axe";
import { expect, fits } from "./journey";
import { enter, logIn, test } from "./peopled";

/** What the first admin sees of Admin. */
const ADMIN = ["users", "users/olaf", "groups", "groups/assessors", "roles", "roles/clerk", "roles/admin", "tenants", "mapping-rules", "authorizations", "access?type=USER&id=anna", "variables", "audit"];

for (const colorScheme of ["light", "dark"] as const) {
  for (const width of [1280, 360]) {
    test(`pages with people pass axe and fit, ${colorScheme}, ${width} pixels`, async ({ page, context, guarded }) => {
      test.slow();
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      const check = async (name: string) => {
        await fits(page);
        expect(await violations(page, name)).toEqual([]);
      };
      await page.goto(`${guarded.url}/ui/login`);
      await expect(page.getByLabel("Password")).toBeVisible();
      await check("login");
      await logIn(page, "root", "nonsense");
      await expect(page.getByText("This name and password do not belong together.")).toBeVisible();
      await check("login, refused");
      await enter(page, guarded.url, "/admin/users");
      for (const part of ADMIN) {
        await page.goto(`${guarded.url}/ui/admin/${part}`);
        await expect(page.locator("#page-title h1")).toBeVisible();
        await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
        await check(part);
      }
      for (const [part, button] of [["users", "New user"], ["users/olaf", "New authorization"], ["groups/assessors", "Add a user"], ["groups/assessors", "Delete"]] as const) {
        await page.goto(`${guarded.url}/ui/admin/${part}`);
        await page.getByRole("button", { name: button }).click();
        await expect(page.getByRole("dialog")).toBeVisible();
        await check(`${part}: ${button}`);
      }
      await page.goto(`${guarded.url}/ui/processes/i/${guarded.instance}`);
      await page.getByRole("button", { name: "You are Root" }).click();
      await expect(page.getByRole("button", { name: "Log out" })).toBeVisible();
      await check("who one is");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Add a variable" }).first().click();
      await expect(page.getByRole("dialog")).toBeVisible();
      // What the page asks for next is refused: on a slow machine it asks more rarely.
      await context.clearCookies();
      await expect(page.getByRole("heading", { name: "Your session is over" })).toBeVisible({ timeout: 60_000 });
      await check("session over");
      await page.goto(`${guarded.url}/ui/logged-out`);
      await expect(page.getByRole("heading", { name: "You are logged out" })).toBeVisible();
      await check("logged out");
      await enter(page, guarded.url, "/admin/users", "olaf");
      await expect(page.getByText("Admin is not open to you")).toBeVisible();
      await check("not allowed");
    });
  }
}
