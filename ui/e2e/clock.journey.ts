// The clock of a cluster: moved to the time that an instance waits for, seen to stand still, and let run again.
import { readFile } from "node:fs/promises";
import { expect, fits, test as shared } from "./journey";
import { enter, test as peopled } from "./peopled";
import { client } from "./seed.mjs";
import { startServer } from "./server.mjs";

const model = await readFile(new URL("../../examples/payment.bpmn", import.meta.url), "utf8");
const DUE = /^Move it to /;

interface Deployed {
  deployments: { processDefinition: { processDefinitionKey: string } }[];
}

/** A clock is that of a whole server: nobody else's may stand still meanwhile. */
const test = shared.extend<{ own: { url: string } }>({
  own: async ({}, use) => {
    const running = await startServer();
    await use(running);
    await running.stop();
  },
});

test("a timer is waited for by moving the clock, which stands until it is let run again", async ({ page, own }) => {
  test.slow();
  const api = client(own.url);
  const deployed = (await api.deploy([["payment.bpmn", model]])) as Deployed;
  await page.goto(`${own.url}/ui/studio?definition=${deployed.deployments[0]?.processDefinition.processDefinitionKey}`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const run = page.getByRole("region", { name: "Run" });
  await run.getByRole("textbox").fill('{"invoiceId": "clock-1", "patience": "PT5H"}');
  await run.getByRole("button", { name: "Start an instance" }).click();
  await expect(run).toContainText("in 4h");
  await expect(run.locator(".run-clock")).toHaveCount(0);
  await run.getByRole("button", { name: "Move the clock" }).click();
  await expect(run).toContainText("All processes of the cluster share the clock");
  await run.getByRole("button", { name: DUE }).click();
  const stands = run.locator(".run-clock");
  await expect(stands).toContainText("The cluster's clock stands at");
  await expect(page.locator('.board .djs-element[data-element-id="patience-ends"]').first()).toHaveClass(/sk-done/);
  // The server says so itself, to whoever comes later.
  await page.reload();
  await expect(stands).toContainText("Timers, timeouts and retries of all processes wait.");
  await page.setViewportSize({ width: 360, height: 760 });
  await fits(page);
  await stands.getByRole("button", { name: "Let it run again" }).click();
  await expect(stands).toHaveCount(0);
  const { result } = await api.post("/expression/evaluation", { expression: "=now()" });
  expect(Math.abs(Date.parse(String(result)) - Date.now()), "the clock of the cluster runs").toBeLessThan(600_000);
});

peopled("whoever may not move the clock reads which right it takes", async ({ page, guarded }) => {
  peopled.slow();
  const deployed = (await guarded.root.deploy([["payment.bpmn", model]])) as Deployed;
  await guarded.root.post("/authorizations", { ownerType: "USER", ownerId: "olaf", resourceType: "PROCESS_DEFINITION", resourceId: "payment", permissionTypes: ["READ_PROCESS_DEFINITION", "READ_PROCESS_INSTANCE"] });
  const { processInstanceKey } = await guarded.root.start("payment", { invoiceId: "clock-2", patience: "PT5H" });
  await enter(page, guarded.url, `/studio?definition=${deployed.deployments[0]?.processDefinition.processDefinitionKey}`, "olaf");
  await page.locator(".djs-shape").first().waitFor();
  await page.goto(`${page.url()}?run=${processInstanceKey}`);
  const run = page.getByRole("region", { name: "Run" });
  await run.getByRole("button", { name: "Move the clock" }).click();
  await run.getByRole("button", { name: DUE }).click();
  await expect(run).toContainText("You need UPDATE on system");
  await expect(run.getByRole("button", { name: DUE })).toBeEnabled();
});
