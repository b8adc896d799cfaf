// The cluster: what REST tells of it, with and without storage for searches.
import { expect, test } from "./journey";
import { startServer } from "./server.mjs";

test("home leads to the nodes and what they hold", async ({ page, open }) => {
  await open("/");
  await page.getByRole("link", { name: "Partitions" }).click();
  await expect(page).toHaveURL(/\/ui\/cluster$/);
  await expect(page.getByText("All partitions have a leader, and all copies are well")).toBeVisible();
  await expect(page.getByText("1 node, 2 partitions, one copy of each")).toBeVisible();
  await expect(page.getByRole("row").nth(1).getByText("Leader")).toHaveCount(2);
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
    await expect(page.getByText("One node is not there")).toBeVisible({ timeout: 90_000 });
    await expect(page.getByText("Fewer copies than there should be: 1, 2")).toBeVisible();
  } finally {
    await off.stop();
  }
});
