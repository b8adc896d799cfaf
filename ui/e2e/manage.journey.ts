// What operators do on the page of the cluster: exporters, changes, backups and settings, on servers of their own.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { sound } from "./axe";
import { expect, passing } from "./journey";
import { logIn, test } from "./peopled";
import { startCluster, startServer } from "./server.mjs";

test("the log, what is processed and what is exported stand beside each other", async ({ page, open }) => {
  await open("/cluster");
  const partition = page.getByRole("listitem", { name: "Partition 1" });
  await expect(partition.getByText("Log", { exact: true })).toBeVisible();
  await expect(partition.getByText("secondary-storage")).toBeVisible();
  await expect(partition.getByText(/up to date|behind/).first()).toBeVisible();
  // A node that is alone has nobody to give leaders to.
  await expect(page.getByRole("button", { name: "Rebalance" })).toHaveCount(0);
});

test("exporting is paused and resumed, and an exporter disabled and enabled, each after a question", async ({ page }) => {
  const own = await startServer();
  try {
    await page.goto(`${own.url}/ui/cluster?tab=exporters`);
    const storage = page.getByRole("listitem").filter({ has: page.getByText("secondary-storage", { exact: true }) });
    await expect(storage.getByText("enabled", { exact: true })).toBeVisible();
    await page.getByRole("button", { name: "Pause exporting" }).click();
    await expect(page.getByRole("dialog")).toContainText("Secondary storage pauses as well");
    await page.getByRole("dialog").getByRole("button", { name: "Never mind" }).click();
    await expect(page.getByText("Exporting is paused on all partitions")).toHaveCount(0);
    await page.getByRole("button", { name: "Pause exporting" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Pause exporting" }).click();
    await expect(page.getByText("Exporting is paused on all partitions")).toBeVisible();
    await sound(page, "/cluster, exporting paused");
    await page.getByRole("button", { name: "Resume exporting" }).click();
    await expect(page.getByText("Exporting is paused on all partitions")).toHaveCount(0);

    await page.getByRole("button", { name: "Disable secondary-storage" }).click();
    await expect(page.getByRole("dialog")).toContainText("will show nothing newer");
    await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
    await expect(storage.locator(".exporter-name").getByText("disabled", { exact: true })).toBeVisible();
    await page.getByRole("button", { name: "Enable secondary-storage" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Enable" }).click();
    await expect(storage.getByText("enabled", { exact: true })).toBeVisible();
  } finally {
    await own.stop();
  }
});

test("partitions are added: the steps are shown, applied, and remembered", async ({ page }) => {
  const own = await startServer();
  try {
    await page.goto(`${own.url}/ui/cluster?tab=changes`);
    await expect(page.getByText("Nothing has been changed yet")).toBeVisible();
    await page.getByRole("button", { name: "Show the steps" }).click();
    await expect(page.getByText("Say what is to change")).toBeVisible();
    await page.getByLabel("Partitions", { exact: true }).fill("many");
    await page.keyboard.press("Enter");
    await expect(page.getByText("A whole number above 0")).toBeVisible();
    await page.getByLabel("Partitions", { exact: true }).fill("3");
    await page.keyboard.press("Enter");
    await expect(page.getByText("Nothing has been done yet.")).toBeVisible();
    await expect(page.getByText("Broker 0 starts partition 3")).toBeVisible();
    await sound(page, "/cluster, planned steps");
    await page.getByRole("button", { name: "Apply" }).click();
    await expect(page.getByText("Change 1 has begun")).toBeVisible();
    const over = page.getByRole("listitem").filter({ hasText: "Change 1" });
    await expect(over.getByText("completed")).toBeVisible();
    await over.getByText("Change 1").click();
    await expect(over.getByText("Broker 0 starts partition 3")).toBeVisible();
    await page.getByRole("tab", { name: "Nodes" }).click();
    await expect(page).toHaveURL(/\/ui\/cluster$/);
    await expect(page.getByRole("columnheader", { name: "Partition 3" })).toBeVisible();
  } finally {
    await own.stop();
  }
});

test("what cannot be done is refused with the reason, before anything happens", async ({ page, open }) => {
  await open("/cluster?tab=changes");
  await page.getByLabel("Brokers to add").fill("1");
  await page.getByRole("button", { name: "Show the steps" }).click();
  await expect(page.getByRole("alert")).toContainText("This node is alone");
});

test("a backup is taken, listed with its state, restorable, and deleted", async ({ page }) => {
  const store = await mkdtemp(path.join(tmpdir(), "skep-ui-store-"));
  const own = await startServer(["camunda.data.primary-storage.backup.store=FILESYSTEM", `camunda.data.primary-storage.backup.filesystem.base-path=${store}`]);
  try {
    await page.clock.install();
    await page.goto(`${own.url}/ui/cluster?tab=backups`);
    await expect(page.getByText("There are no backups yet")).toBeVisible();
    await page.getByRole("button", { name: "Take a backup" }).click();
    await page.getByLabel("Id", { exact: true }).fill("seven");
    await page.keyboard.press("Enter");
    await expect(page.getByText("A whole number above 0, or nothing")).toBeVisible();
    await page.getByLabel("Id", { exact: true }).fill("7");
    await page.keyboard.press("Enter");
    await expect(page.getByText("Backup 7 has begun")).toBeVisible();
    const row = page.getByRole("row").filter({ has: page.getByRole("rowheader", { name: "7" }) });
    await passing(page, () => expect(row.getByText("completed")).toBeVisible({ timeout: 500 }));
    await passing(page, () => expect(page.getByRole("region", { name: "What can be restored" }).getByText("Newest")).toBeVisible({ timeout: 500 }));
    await sound(page, "/cluster, backups");
    await page.getByRole("button", { name: "Delete 7" }).click();
    await expect(page.getByRole("dialog")).toContainText("cannot be restored any more");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await expect(page.getByText("There are no backups yet")).toBeVisible();
  } finally {
    await own.stop();
    await rm(store, { recursive: true, force: true });
  }
});

test("without a store the page says what to set", async ({ page, open }) => {
  await open("/cluster?tab=backups");
  await expect(page.getByText("There is no store for backups")).toBeVisible();
  await expect(page.getByText("camunda.data.primary-storage.backup.store")).toBeVisible();
});

test("settings are found by name, value and source, and the address keeps it", async ({ page, open }) => {
  await open("/cluster?tab=settings&find=partition-count");
  await expect(page.getByRole("searchbox", { name: "Find a setting" })).toHaveValue("partition-count");
  await expect(page.getByRole("rowheader", { name: "camunda.cluster.partition-count" })).toBeVisible();
  await expect(page.getByRole("rowheader")).toHaveCount(1);
  await page.getByRole("searchbox").fill("no such thing");
  await expect(page.getByText("No setting is like this")).toBeVisible();
  await page.getByRole("searchbox").fill("");
  await page.getByRole("checkbox", { name: "Only those that are set" }).check();
  await expect(page).toHaveURL(/tab=settings&set=yes$/);
  await expect(page.getByRole("rowheader", { name: "camunda.cluster.partition-count" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("checkbox", { name: "Only those that are set" })).toBeChecked();
});

test("parts are chosen by keys", async ({ page, open }) => {
  await open("/cluster");
  await page.getByRole("tab", { name: "Nodes" }).focus();
  await page.keyboard.press("ArrowRight");
  await expect(page).toHaveURL(/tab=exporters$/);
  await page.keyboard.press("End");
  await expect(page.getByRole("searchbox", { name: "Find a setting" })).toBeVisible();
});

test("who lacks the permission is told which, in each part", async ({ page, guarded }) => {
  await page.goto(`${guarded.url}/ui/cluster`);
  await logIn(page, "olaf");
  await expect(page.getByRole("heading", { name: "Cluster", level: 1 })).toBeVisible();
  for (const tab of ["exporters", "changes", "backups", "settings"]) {
    await page.goto(`${guarded.url}/ui/cluster?tab=${tab}`);
    await expect(page.getByText("You need READ on system. Ask an admin.").first(), tab).toBeVisible();
  }
});

test("a question that fails says so in its part, and is asked again", async ({ page, open }) => {
  let broken = true;
  await page.route("**/skep/v1/management/exporters", (route) =>
    broken ? route.fulfill({ status: 500, contentType: "application/problem+json", body: '{"title":"INTERNAL","status":500,"detail":"Something is out of order."}' }) : route.continue(),
  );
  await open("/cluster?tab=exporters");
  await expect(page.getByText("Something is out of order.")).toBeVisible();
  await sound(page, "/cluster, a question that failed");
  broken = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByText("secondary-storage", { exact: true })).toBeVisible();
});

test("a broker leaves a cluster of three, and leaders are spread", async ({ page }) => {
  test.setTimeout(240_000);
  const cluster = await startCluster();
  try {
    const [seen] = cluster.nodes;
    await page.goto(`${seen?.url}/ui/cluster`);
    await expect(page.getByText("All partitions have a leader")).toBeVisible();
    await page.getByRole("button", { name: "Rebalance" }).click();
    await expect(page.getByText("Leaders are being spread over the nodes")).toBeVisible();
    await page.getByRole("tab", { name: "Changes" }).click();
    await page.getByRole("checkbox", { name: "Node 2" }).check();
    await page.getByLabel("Copies of each partition").fill("2");
    await page.getByRole("button", { name: "Show the steps" }).click();
    await expect(page.getByText("Broker 2 gives up its copy of partition 1")).toBeVisible();
    await page.getByRole("button", { name: "Apply" }).click();
    await expect(page.getByText("Change 1 has begun")).toBeVisible();
    const over = page.getByRole("listitem").filter({ hasText: "Change 1" });
    await expect(over.getByText("completed")).toBeVisible({ timeout: 120_000 });
    await page.getByRole("tab", { name: "Nodes" }).click();
    // The process of node 2 still runs.
    const left = page.getByRole("row").filter({ has: page.getByRole("rowheader", { name: "2", exact: true }) });
    await expect(left.getByText("no copy here")).toHaveCount(2, { timeout: 60_000 });
  } finally {
    await cluster.stop();
  }
});
