// Errors lead to the page of their code: what it means, and what to do.
import { expect, instanceOf, test } from "./journey";

test("an incident leads to what its type means, and from there to all error codes", async ({ page, open, api }) => {
  await open(`/processes/i/${await instanceOf(api, "order", { hasIncident: true })}?tab=incidents`);
  await page.getByRole("link", { name: "What it means, and what to do" }).first().click();
  await expect(page).toHaveURL(/\/help\/errors\/JOB_NO_RETRIES$/);
  await expect(page.getByRole("heading", { level: 1, name: "JOB_NO_RETRIES" })).toBeVisible();
  await expect(page.getByRole("heading", { name: "What to do" })).toBeVisible();
  await page.getByRole("link", { name: "All error codes" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Error codes" })).toBeVisible();
  await page.getByRole("link", { name: "UNAVAILABLE", exact: true }).first().click();
  await expect(page.getByRole("heading", { level: 1, name: "UNAVAILABLE" })).toBeVisible();
});

test("a question that the server refuses names its error, and leads to the page of it", async ({ page, open }) => {
  const problem = { title: "RESOURCE_EXHAUSTED", status: 503, detail: "Partition 2 takes no more work for now." };
  const exporters = "**/skep/v1/management/exporters";
  await page.route(exporters, (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: JSON.stringify(problem) }));
  await open("/cluster?tab=exporters");
  const failure = page.getByRole("alert").filter({ hasText: problem.detail });
  await failure.getByRole("link", { name: "What it means, and what to do" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "RESOURCE_EXHAUSTED" })).toBeVisible();
  // The way back is the way one came.
  await page.unroute(exporters);
  await page.goBack();
  await expect(page.getByRole("tab", { name: "Exporters" })).toHaveAttribute("aria-selected", "true");
});

test("a code that this version does not have is called that, with the way to all others", async ({ page, open }) => {
  await open("/help/errors/NO_SUCH_CODE");
  await expect(page.getByText("There is no such error code")).toBeVisible();
  await expect(page.getByRole("link", { name: "All error codes" })).toBeVisible();
});
