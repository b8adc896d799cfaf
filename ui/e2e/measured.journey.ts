// What nodes measure, on the monitor: plots with a legend and a cursor for keys, and what they say when there is nothing to draw.
import { sound } from "./axe";
import { expect, fits, passing, test } from "./journey";
import { enter, test as guardedTest } from "./peopled";
import { startServer } from "./server.mjs";

test("throughput of the hour is drawn, and lines are switched by keys", async ({ page, open, api }) => {
  await open("/monitor");
  const throughput = page.getByRole("region", { name: "Throughput" });
  await expect(throughput.locator("canvas")).toBeVisible();
  // What happens now is drawn within two steps.
  await api.start("order", { orderId: "measured", amount: 1 });
  await throughput.getByText("The figures").click();
  const started = throughput.getByRole("table").locator("tbody td:nth-child(2)");
  await expect.poll(async () => (await started.allTextContents()).some((each) => /^[\d.,]*[1-9][\d.,]*\/s$/.test(each))).toBe(true);
  const key = throughput.getByRole("button", { name: "Jobs failed" });
  await expect(key).toHaveAttribute("aria-pressed", "true");
  await key.focus();
  await page.keyboard.press("Space");
  await expect(key).toHaveAttribute("aria-pressed", "false");
  await page.keyboard.press("Space");
  // The cursor goes to a moment, and away again.
  const plot = throughput.getByRole("application");
  await plot.focus();
  await page.keyboard.press("Home");
  const moment = throughput.getByRole("figure").locator("[aria-live]");
  await expect(moment).toHaveText(/^\d\d:\d\d$/);
  await page.keyboard.press("Escape");
  await expect(moment).toHaveText("newest");
});

test("latency, back-pressure, partitions, exporters and disks each have their place", async ({ page, open }) => {
  await open("/monitor");
  await expect(page.getByRole("region", { name: "Latency by stage" }).getByRole("button", { name: "Flush to disk" })).toBeVisible();
  await expect(page.getByRole("region", { name: "Back-pressure" }).getByText("Nothing was refused")).toBeVisible();
  await expect(page.getByRole("region", { name: "Back-pressure" }).getByText(/of [\d,]+ in flight/)).toBeVisible();
  await expect(page.getByRole("region", { name: "Records by partition" }).getByRole("button", { name: "Partition 2" })).toBeVisible();
  await expect(page.getByRole("region", { name: "Export lag" }).getByRole("button", { name: "Searches" })).toBeVisible();
  await expect(page.getByRole("region", { name: "Free disk" }).getByRole("button", { name: /Node 0 .*iB/ })).toBeVisible();
  await sound(page, "/monitor");
  for (const width of [360, 768, 1920]) {
    await page.setViewportSize({ width, height: 800 });
    await fits(page);
  }
});

test("a node that was just started says that it begins to measure", async ({ page }) => {
  const young = await startServer();
  try {
    await page.clock.install();
    await page.goto(`${young.url}/ui/monitor`);
    await passing(page, () => expect(page.getByRole("region", { name: "Free disk" }).locator("canvas")).toBeVisible({ timeout: 500 }));
    await expect(page.getByRole("region", { name: "Throughput" }).locator("canvas")).toBeVisible();
    await page.route("**/skep/v1/monitor*", (route) => route.fulfill({ json: { from: new Date().toISOString(), stepMs: 5_000, missing: [], series: [] } }));
    await page.reload();
    await expect(page.getByText("Measurements have just begun")).toBeVisible();
  } finally {
    await young.stop();
  }
});

test("a node that does not answer is named, and an error is in its place alone", async ({ page, open }) => {
  await page.route("**/skep/v1/monitor*", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ json: { ...((await answer.json()) as object), missing: [3] } });
  });
  await open("/monitor");
  await expect(page.getByText("Node 3 does not answer")).toBeVisible();
  await page.unroute("**/skep/v1/monitor*");
  await page.reload();
  await expect(page.getByRole("region", { name: "Throughput" })).toBeVisible();
  await expect(page.getByText("Node 3 does not answer")).toHaveCount(0);
  await page.route("**/skep/v1/monitor*", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: '{"title":"UNAVAILABLE","status":503,"detail":"The cluster rests."}' }));
  await page.reload();
  await expect(page.getByText("The cluster rests.")).toBeVisible();
  await expect(page.getByRole("region", { name: "Jobs", exact: true })).toBeVisible();
});

test("refusals are drawn by their causes, and a full disk is said", async ({ page, open }) => {
  await page.route("**/skep/v1/monitor*", async (route) => {
    const answer = await route.fetch();
    const told = (await answer.json()) as { series: { name: string; points: (number | null)[] }[] };
    const changed = { "refused.writeRate": 12, "refusing.disk": 1 } as Record<string, number>;
    const series = told.series.map((each) => (each.name in changed ? { ...each, points: each.points.map(() => changed[each.name] ?? null) } : each));
    await route.fulfill({ json: { ...told, series } });
  });
  await open("/monitor");
  const refusals = page.getByRole("region", { name: "Back-pressure" });
  await expect(refusals.getByRole("button", { name: /Write rate .*\/s/ })).toBeVisible();
  await expect(refusals.getByText("Node 0 accepts no new work: its disk is nearly full")).toBeVisible();
});

test("the day has no measurements, and the cluster leads here", async ({ page, open }) => {
  await open("/cluster");
  await page.locator("main").getByRole("link", { name: "Monitor" }).click();
  await expect(page).toHaveURL(/\/ui\/monitor$/);
  await expect(page.getByRole("region", { name: "Throughput" })).toBeVisible();
  await page.getByRole("combobox", { name: "Time span" }).selectOption("day");
  await expect(page.getByRole("region", { name: "Throughput" })).toHaveCount(0);
});

guardedTest("who may not read the system is told of the permission, and sees what searches count", async ({ page, guarded }) => {
  await enter(page, guarded.url, "/monitor", "olaf");
  const measured = page.getByRole("region", { name: "Measured by the nodes" });
  await expect(measured.getByText(/READ.*SYSTEM|SYSTEM.*READ/i).first()).toBeVisible();
  await expect(page.getByRole("region", { name: "Process instances" })).toBeVisible();
});
