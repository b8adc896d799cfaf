// The monitor: what happened in the last hour, in bars and in figures, and what it says when the server does not answer.
import { expect, fits, test } from "./journey";
import { startServer } from "./server.mjs";

test("jobs and instances of the hour are counted, and the figures are a table", async ({ page, open, api }) => {
  await open("/monitor");
  const jobs = page.getByRole("region", { name: "Jobs", exact: true });
  await jobs.getByText("The figures").click();
  const table = jobs.getByRole("table", { name: "Jobs" });
  await expect(table.getByRole("row")).toHaveCount(13);
  const { completed } = (await api.send("GET", `/jobs/statistics/global?${new URLSearchParams({ from: new Date(Date.now() - 3_600_000).toISOString(), to: new Date(Date.now() + 60_000).toISOString() })}`)) as unknown as { completed: { count: number } };
  const cells = await table.locator("tbody td:nth-child(3)").allTextContents();
  expect(cells.reduce((sum, each) => sum + Number(each.replaceAll(",", "")), 0)).toBe(completed.count);
  await expect(page.getByRole("region", { name: "Job types" }).getByRole("link", { name: "charge-card" })).toBeVisible();
  await page.getByRole("combobox", { name: "Time span" }).selectOption("day");
  await expect(page).toHaveURL(/\/monitor\?span=day$/);
  await expect(page.getByRole("region", { name: "Process instances" })).toBeVisible();
});

test("an hour without work says so", async ({ page }) => {
  // One of its own: other journeys leave jobs on the empty server that they share.
  const idle = await startServer();
  await page.goto(`${idle.url}/ui/monitor`);
  await expect(page.getByText("No jobs in this time")).toBeVisible();
  await expect(page.getByText("No job types in this time")).toBeVisible();
  await idle.stop();
});

test("a setting leads to Grafana, in a tab of its own; without it there is no such link", async ({ page, open }) => {
  const address = "https://grafana.example.com/d/skep?orgId=1&refresh=10s";
  const one = await startServer([`skep.ui.grafana-url=${address}`]);
  await page.goto(`${one.url}/ui/monitor`);
  const link = page.getByRole("link", { name: "Grafana" });
  await expect(link).toHaveAttribute("href", address);
  await expect(link).toHaveAttribute("target", "_blank");
  await page.setViewportSize({ width: 360, height: 760 });
  await fits(page);
  await one.stop();
  await open("/monitor");
  await expect(page.getByRole("heading", { name: "Monitor" })).toBeVisible();
  await expect(link).toHaveCount(0);
});

test("what cannot be counted now says why in its own place, and is asked again", async ({ page, open }) => {
  await page.route("**/v2/jobs/statistics/**", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: '{"title":"UNAVAILABLE","status":503,"detail":"Partition 2 has no leader."}' }));
  await open("/monitor");
  await expect(page.getByText("Partition 2 has no leader.").first()).toBeVisible();
  await expect(page.getByRole("region", { name: "Process instances" }).getByText("started").first()).toBeVisible();
  await page.unroute("**/v2/jobs/statistics/**");
  await expect(page.getByText("Partition 2 has no leader.")).toHaveCount(0, { timeout: 30_000 });
});
