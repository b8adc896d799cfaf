// What one may not do with this very object names the permission before it is tried: tasks, messages, decisions, starts, rows of Admin.
import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { expect } from "./journey";
import { damage, damageForm, damageModel } from "./people.mjs";
import { type Guarded, enter, test } from "./peopled";

/** Ben may look at all, claim tasks that name him, and publish one message. */
async function ben({ root }: Guarded) {
  const discount = await readFile(new URL("../../examples/discount.dmn", import.meta.url), "utf8");
  await root.deploy([["damage.bpmn", damageModel], ["damage.form", damageForm], ["discount.dmn", discount]]);
  await root.start("damage", damage(1, "1"));
  await root.post("/cluster-variables/global", { name: "rate", value: 1 });
  await root.post("/users", { username: "ben", password: "ben-secret", name: "Ben Cole", email: "ben@example.org" });
  const grant = (resourceType: string, where: object, ...permissionTypes: string[]) =>
    root.post("/authorizations", { ownerType: "USER", ownerId: "ben", resourceType, ...where, permissionTypes });
  const all = { resourceId: "*" };
  await grant("COMPONENT", all, "ACCESS");
  await grant("PROCESS_DEFINITION", all, "READ_PROCESS_DEFINITION", "READ_PROCESS_INSTANCE", "READ_USER_TASK");
  await grant("DECISION_DEFINITION", all, "READ_DECISION_DEFINITION");
  await grant("DECISION_REQUIREMENTS_DEFINITION", all, "READ");
  for (const kind of ["USER", "GROUP", "AUTHORIZATION", "CLUSTER_VARIABLE"]) await grant(kind, all, "READ");
  await grant("SYSTEM", all, "READ_JOB_METRIC");
  await grant("USER_TASK", { resourcePropertyName: "candidateUsers" }, "CLAIM");
  await grant("MESSAGE", { resourceId: "paid" }, "CREATE");
}

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true }).first();
const lacks = (page: Page, name: string | RegExp, permission: string, on: string) =>
  expect(button(page, name)).toHaveAccessibleDescription(`You need ${permission} on ${on}. Ask an admin.`);

test("what one may not do with a task, a message, a decision or a row of Admin is said before it is tried", async ({ page, guarded }) => {
  test.slow();
  await ben(guarded);
  const refused: string[] = [];
  page.on("response", (answer) => void (answer.status() === 403 && refused.push(answer.url())));

  await enter(page, guarded.url, "/tasks", "ben");
  await page.getByText("Assess the damage").first().click();
  await lacks(page, "Assign", "UPDATE_USER_TASK", "`damage`");
  await button(page, "Claim").click();
  await lacks(page, "Complete", "COMPLETE_USER_TASK", "`damage`");
  // The form is not sent by the key either.
  await page.getByLabel("Amount").fill("7");
  await page.getByLabel("Amount").press("Enter");
  await button(page, "Give back").click();
  await expect(button(page, "Claim")).not.toHaveAttribute("aria-disabled");
  await page.goto(`${guarded.url}/ui/tasks?start=damage`);
  await lacks(page, "Start", "CREATE_PROCESS_INSTANCE", "`damage`");

  await page.goto(`${guarded.url}/ui/messages`);
  await button(page, "Send").click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Message name" }).fill("other");
  await lacks(page, "Publish", "CREATE", "`other`");
  await dialog.getByRole("textbox", { name: "Message name" }).fill("paid");
  await expect(button(page, "Publish")).not.toHaveAttribute("aria-disabled");
  await dialog.getByLabel("How").selectOption("correlate");
  await lacks(page, "Correlate", "UPDATE_PROCESS_INSTANCE", "process definition");

  await page.goto(`${guarded.url}/ui/jobs/charge-card`);
  await page.getByRole("button", { name: /^Change the job/ }).first().click();
  await lacks(page, "Change", "UPDATE_PROCESS_INSTANCE", "`order`");

  await page.goto(`${guarded.url}/ui/decisions?decision=discount-rate&tab=try`);
  await lacks(page, "Evaluate", "CREATE_DECISION_INSTANCE", "`discount-rate`");

  await page.goto(`${guarded.url}/ui/admin/groups/assessors`);
  for (const name of ["Edit", "Add a user", "Remove anna"]) await lacks(page, name, "UPDATE", "`assessors`");
  await lacks(page, "Delete", "DELETE", "`assessors`");
  await page.goto(`${guarded.url}/ui/admin/variables`);
  await lacks(page, "Value of rate", "UPDATE", "`rate`");
  await lacks(page, "Delete rate?", "DELETE", "`rate`");
  await page.goto(`${guarded.url}/ui/admin/authorizations`);
  await lacks(page, /^Change the authorization/, "UPDATE", "authorization");
  await lacks(page, /^Revoke/, "DELETE", "authorization");
  expect(refused).toEqual([]);
});
