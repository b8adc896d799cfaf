// Three nodes: a page stays of use while the leader of what it shows is killed.
import { expect, test } from "./journey";
import { client } from "./seed.mjs";
import { startCluster } from "./server.mjs";
import { readFile } from "node:fs/promises";

interface Topology {
  brokers: { nodeId: number; partitions: { partitionId: number; role: string }[] }[];
}

test("a leader is killed under an open page: it says so, goes on, and commands work", async ({ page }) => {
  test.setTimeout(120_000);
  const cluster = await startCluster();
  try {
    const { nodes } = cluster;
    const api = client(nodes[0]?.url ?? "");
    const topology = async () => (await api.send("GET", "/topology")) as unknown as Topology;
    const leads = async (partition: number) => (await topology()).brokers.find(({ partitions }) => partitions.some((each) => each.partitionId === partition && each.role === "leader"));
    await expect.poll(async () => [await leads(1), await leads(2)].filter(Boolean).length, { timeout: 30_000 }).toBe(2);
    await api.deploy([["order.bpmn", await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8")]]);
    const { processInstanceKey } = await api.start("order", { orderId: "o-1", amount: 5 });
    const partition = Number(BigInt(processInstanceKey) >> 51n);
    const leader = await leads(partition);
    expect(leader).toBeDefined();
    // The page comes from another node than the one that is killed.
    const [seen, other] = nodes.filter((_, id) => id !== leader?.nodeId);
    await page.goto(`${seen?.url}/ui/processes/i/${processInstanceKey}`);
    await expect(page.getByText("Charge card").first()).toBeVisible();
    await nodes[leader?.nodeId ?? 0]?.kill();

    // A command is carried out by the new leader, and the page shows it.
    await page.getByRole("button", { name: "Add a variable" }).first().click();
    await page.getByRole("textbox", { name: "Name" }).fill("after");
    await page.getByRole("textbox", { name: "Value, as JSON" }).fill('"the kill"');
    await expect(async () => {
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await expect(page.getByText("after was saved")).toBeVisible({ timeout: 3_000 });
    }).toPass({ timeout: 30_000 });
    await expect(page.getByText('"the kill"').first()).toBeVisible({ timeout: 90_000 });
    await expect(page.getByText("The server did not answer")).toHaveCount(0, { timeout: 90_000 });

    // The monitor goes on without the measurements of that node.
    await page.goto(`${other?.url}/ui/monitor`);
    await expect(page.getByText(`Node ${leader?.nodeId} does not answer`)).toBeVisible();
    await expect(page.getByRole("region", { name: "Records by partition" }).locator("canvas")).toBeVisible();

    // Cluster names the node that is gone, and the other node's pages say the same.
    for (const node of [seen, other]) {
      await page.goto(`${node?.url}/ui/cluster`);
      await expect(page.getByText(/not there|gone|missing|unreachable/i).first()).toBeVisible({ timeout: 90_000 });
    }
    await page.goto(`${other?.url}/ui/processes/i/${processInstanceKey}`);
    await expect(page.getByText('"the kill"').first()).toBeVisible({ timeout: 90_000 });
  } finally {
    await cluster.stop();
  }
});

test("without a quorum a command is refused with the partition that it is for, and the page of the code", async ({ page }) => {
  test.setTimeout(180_000);
  const cluster = await startCluster();
  try {
    const [seen, ...others] = cluster.nodes;
    const api = client(seen?.url ?? "");
    await api.deploy([["order.bpmn", await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8")]]);
    const { processInstanceKey } = await api.start("order", { orderId: "o-1", amount: 5 });
    await page.goto(`${seen?.url}/ui/processes/i/${processInstanceKey}`);
    await expect(page.getByText("Charge card").first()).toBeVisible();
    await Promise.all(others.map((node) => node.kill()));
    await page.getByRole("button", { name: "Add a variable" }).first().click();
    await page.getByRole("textbox", { name: "Name" }).fill("alone");
    await page.getByRole("textbox", { name: "Value, as JSON" }).fill("1");
    const partition = Number(BigInt(processInstanceKey) >> 51n);
    // At first the leader does not know yet that it is alone.
    await expect(async () => {
      await page.getByRole("button", { name: "Save", exact: true }).click();
      const refusal = page.locator(".announcement").filter({ hasText: new RegExp(`partition ${partition}`, "i") });
      await expect(refusal.first()).toBeVisible({ timeout: 15_000 });
      await expect(refusal.first().getByRole("link", { name: "What it means, and what to do" })).toHaveAttribute("href", /UNAVAILABLE$/);
    }).toPass({ timeout: 120_000 });
    // What was written is still there.
    await expect(page.getByRole("textbox", { name: "Name" })).toHaveValue("alone");
  } finally {
    await cluster.stop();
  }
});
