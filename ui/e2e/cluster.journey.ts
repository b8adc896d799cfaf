// The cluster: what REST tells of it, with and without storage for searches.
import { expect, fits, test } from "./journey";
import { startServer } from "./server.mjs";

test("home leads to the nodes and what they hold", async ({ page, open }) => {
  await open("/");
  await page.getByRole("link", { name: "Partitions" }).click();
  await expect(page).toHaveURL(/\/ui\/cluster$/);
  await expect(page.getByText("All partitions have a leader, and all copies are healthy")).toBeVisible();
  await expect(page.getByText("1 node, 2 partitions, one copy of each")).toBeVisible();
  await expect(page.getByRole("row").nth(1).getByText("Leader")).toHaveCount(2);
});

test("a drained partition says what is left in it", async ({ page, open }) => {
  // The page and the nodes are real; that one partition is drained is only said of it.
  await page.route("**/skep/v1/management/nodes", async (route) => {
    const answer = await route.fetch();
    const nodes = (await answer.json()) as Record<string, Record<string, object>>;
    const left = { isDraining: true, liveElementInstances: 12 };
    await route.fulfill({ json: { "0": { ...nodes["0"], "2": { ...nodes["0"]?.["2"], ...left } } } });
  });
  await open("/cluster");
  await expect(page.getByRole("columnheader", { name: "Partition 2" })).toHaveText(/draining, 12 elements left/);
  await expect(page.getByRole("columnheader", { name: "Partition 1" })).toHaveText("Partition 1");
  await fits(page);
});

test("nodes and partitions are told without storage as well, and a node that is away is missed", async ({ page }) => {
  const off = await startServer(["camunda.data.secondary-storage.type=none"]);
  try {
    await page.goto(`${off.url}/ui/cluster`);
    await expect(page.getByText("All partitions have a leader")).toBeVisible();
    // The page itself is real; a second node that is not there is only said to belong to the cluster.
    await page.route("**/v2/topology", async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...((await answer.json()) as object), clusterSize: 2, replicationFactor: 2 } });
    });
    await expect(page.getByText("One node is missing")).toBeVisible({ timeout: 90_000 });
    await expect(page.getByText("Fewer copies than there should be: 1, 2")).toBeVisible();
  } finally {
    await off.stop();
  }
});
