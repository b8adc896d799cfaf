// What holds on every screen: contrast and names by axe, no sideways scroll, and the ways a server can be.
import { readFile } from "node:fs/promises";
import { sound } from "./axe";
import { expect, instanceOf, passing, test } from "./journey";
import { startProxy } from "./proxy";
import { startServer } from "./server.mjs";

const ROUTES = [
  "/",
  "/processes",
  "/processes?process=order&state=active,incident",
  "INSTANCE",
  "INSTANCE?do=modify&element=charge&plan=add+charge",
  "INSTANCE?do=migrate",
  "INSTANCE?tab=variables&at=2026-11-01T00:00:00Z",
  "INSTANCE?tab=jobs",
  "INSTANCE?tab=messages",
  "INSTANCE?tab=audit",
  "/incidents",
  "/incidents?error=1806147757",
  "/jobs",
  "/jobs/charge-card",
  "/processes?process=order&heat=1",
  "/processes?process=order&version=2&versus=1",
  "/processes?process=order&cols=orderId,amount",
  "/batches",
  "BATCH",
  "/studio",
  "/studio?sample=order",
  "/help",
  "/help/errors",
  "/help/errors/JOB_NO_RETRIES",
  "/tasks",
  "TASK",
  "TASK&tab=process",
  "/tasks?start=any",
  "/tasks?start=order",
  "/decisions",
  "/decisions?decision=payment&tab=table",
  "/decisions?decision=payment&tab=try",
  "EVALUATION",
  "/messages",
  "/messages?view=timers",
  "/monitor",
  "/monitor?span=day",
  "/cluster",
  "/cluster?tab=exporters",
  "/cluster?tab=changes",
  "/cluster?tab=backups",
  "/cluster?tab=settings",
  "/admin",
  "/admin/listeners",
  "/admin/usage",
  "/admin/audit",
  "/feel",
  "/feel?expression=a+%2B+missing&with={\"a\":1}",
  "/feel?expression=a+%2B",
];

/** Held to the same in other files: people.journey.ts and look.journey.ts. The sample becomes a draft. */
const ELSEWHERE = ["/login", "/logged-out", "/admin/users/olaf", "/parts", "/studio/draft"];

test("no route of the router is left out", async () => {
  const router = await readFile(new URL("../src/app/router.tsx", import.meta.url), "utf8");
  const names: Record<string, string> = { INSTANCE: "/processes/i/1", TASK: "/tasks", EVALUATION: "/decisions/i/1", BATCH: "/batches/1" };
  const seen = [...ROUTES, ...ELSEWHERE].map((route) => route.replace(/[?#].*$/, "").replace(/^[A-Z]+/, (name) => names[name] ?? name));
  const paths = [...router.matchAll(/path: "([^"]+)"/g)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(20);
  const matches = (path: string) => seen.some((route) => new RegExp(`^${path.replaceAll(/\$\w+/g, "[^/]+")}$`).test(route));
  expect(paths.filter((path) => !matches(path))).toEqual([]);
});

/** In parts, for workers to share. */
const PARTS = 4;
for (let part = 0; part < PARTS; part++) {
  test(`every screen passes axe and fits, part ${part + 1} of ${PARTS}`, async ({ page, open, api }) => {
    test.slow();
    const key = await instanceOf(api, "order", { hasIncident: true });
    const { items: tasks } = await api.post("/user-tasks/search", { filter: { elementId: "assess", state: "CREATED" }, page: { limit: 1 } });
    const { items: evaluations } = await api.post("/decision-instances/search", { filter: { state: "FAILED" }, page: { limit: 1 } });
    const { batchOperationKey } = await api.post("/process-instances/cancellation", { filter: { processDefinitionId: "no-such-process" } });
    const places: Record<string, string> = {
      BATCH: `/batches/${String(batchOperationKey)}`,
      INSTANCE: `/processes/i/${key}`,
      TASK: `/tasks?task=${String(tasks[0]?.userTaskKey)}`,
      EVALUATION: `/decisions/i/${String(evaluations[0]?.decisionEvaluationInstanceKey)}`,
    };
    for (const route of ROUTES.filter((_, at) => at % PARTS === part)) {
      await open(route.replace(/^[A-Z]+/, (name) => places[name] ?? name));
      await expect(page.locator("#page-title h1")).toBeVisible();
      await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
      if (route.includes("process=order") || route.startsWith("INSTANCE") || route.includes("tab=process")) await expect(page.locator(".djs-shape").first()).toBeVisible();
      if (route === "TASK") await expect(page.locator(".fjs-form")).toBeVisible();
      if (route.startsWith("/studio?sample")) {
        await expect(page.locator(".djs-shape").first()).toBeVisible();
        await page.getByRole("button", { name: "Run", exact: true }).click();
        await expect(page.getByRole("button", { name: "Start an instance" })).toBeVisible();
      }
      await sound(page, route);
    }
  });
}

test("without storage for searches each screen says so, and names the setting", async ({ page }) => {
  const off = await startServer(["camunda.data.secondary-storage.type=none"]);
  try {
    for (const route of ["/", "/processes", "/processes?process=order&version=2", "/incidents", "/batches", "/tasks", "/tasks?start=any", "/decisions", "/messages", "/monitor", "/studio", "/admin/audit"]) {
      await page.goto(`${off.url}/ui${route}`);
      await expect(page.getByText("This server keeps no history to search").first()).toBeVisible();
      await expect(page.getByText("camunda.data.secondary-storage.type").first()).toBeVisible();
    }
    for (const route of ["/batches/2251799813685250", "/jobs/charge-card", "/processes/i/2251799813685250", "/decisions/i/2251799813685250-1", "/admin/usage"]) {
      await page.goto(`${off.url}/ui${route}`);
      await expect(page.getByText("camunda.data.secondary-storage.type"), `${route} says it once`).toHaveCount(1);
      await page.waitForLoadState("networkidle");
      await expect(page.getByText("camunda.data.secondary-storage.type"), `${route} says it once`).toHaveCount(1);
    }
  } finally {
    await off.stop();
  }
});

test("behind a prefix every file, link and question has it", async ({ page }) => {
  const server = await startServer(["skep.ui.base-path=/bpm"]);
  const proxy = await startProxy(server.url, "/bpm");
  try {
    await page.goto(`${proxy.url}/`);
    await expect(page).toHaveURL(/\/bpm\/ui\/$/);
    await expect(page.getByRole("heading", { name: "No processes yet" })).toBeVisible();
    await page.getByRole("link", { name: "Processes" }).click();
    await expect(page).toHaveURL(/\/bpm\/ui\/processes$/);
    await page.reload();
    await expect(page.getByText("No process instances")).toBeVisible();
    expect(proxy.elsewhere).toEqual([]);
  } finally {
    proxy.stop();
    await server.stop();
  }
});

test("a server that goes away is told, and the page goes on when it is back", async ({ page }) => {
  const server = await startServer();
  await page.clock.install();
  await page.goto(`${server.url}/ui/processes`);
  await expect(page.getByText("No process instances")).toBeVisible();
  await page.route("**/v2/**", (route) => route.abort());
  const said = page.getByText("The server did not answer");
  await passing(page, () => expect(said.first()).toBeVisible({ timeout: 500 }));
  await page.unroute("**/v2/**");
  await passing(page, () => expect(said).toHaveCount(0, { timeout: 500 }));
  await server.stop();
});

test("a page of an earlier version loads itself again when its files are gone", async ({ page, open }) => {
  await open("/");
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
  let refused = 0;
  await page.route(/assets\/Help-.*\.js/, async (route) => {
    refused += 1;
    await (refused === 1 ? route.fulfill({ status: 404 }) : route.continue());
  });
  await page.getByRole("link", { name: "Help" }).click();
  await expect(page.getByRole("heading", { name: "Help" })).toBeVisible();
  expect(refused).toBeGreaterThan(0);
});

test("the look is kept, and the page comes with it", async ({ page, open, server }) => {
  await open("/");
  await page.getByRole("button", { name: "Look" }).click();
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  const answer = await page.request.get(`${server.url}/ui/processes`);
  expect(await answer.text()).toContain('data-theme="dark"');
});

test("a menu of the bar that is fetched when it is pressed opens by keyboard, and gives the focus back", async ({ page, open }) => {
  await open("/");
  const look = page.getByRole("button", { name: "Look" });
  await look.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("menuitemradio", { name: "Dark" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("menu")).toHaveCount(0);
  await expect(look).toBeFocused();
  // By now it is here.
  await page.keyboard.press("Enter");
  await expect(page.getByRole("menuitemradio", { name: "Dark" })).toBeVisible();
});

for (const [what, question] of [["process", "process-definitions/search"], ["instance", "process-instances/*"]] as const) {
  test(`the code of a page comes while the server is asked who looks at it, and that of a diagram while it is asked for the ${what}`, async ({ page, open, api }) => {
    const address = what === "process" ? "/processes?process=order" : `/processes/i/${await instanceOf(api, "order")}`;
    const code = (name: string) => page.waitForRequest((each) => new RegExp(`/assets/${name}-[^/]+\\.js$`).test(each.url()));
    const waited = new Set<string>();
    // As a page of a server with a login: that of one without it does not ask.
    await page.route("**/ui/processes**", async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, body: (await answer.text()).replace('name="skep-access" content="open"', 'name="skep-access" content=""') });
    });
    // Each answer waits until the code that would otherwise come after it is asked for.
    for (const [asked, first] of [["authentication/me", code("page")], [question, code("Diagram")]] as const) {
      await page.route(`**/v2/${asked}`, async (route) => {
        waited.add(asked);
        await first;
        await route.continue();
      });
    }
    await open(address);
    await expect(page.locator(".djs-shape").first()).toBeVisible();
    expect(waited.size).toBe(2);
  });
}

test("a list and the model above it are asked for while the code of their page is on its way", async ({ page, open }) => {
  const asked = Promise.all(["process-instances/search", "/xml", "statistics/element-instances"].map((path) => page.waitForRequest((each) => each.url().includes(path))));
  // Its code comes when all of them are on their way.
  await page.route(/\/assets\/page-[^/]+\.js$/, async (route) => {
    await asked;
    await route.continue();
  });
  await open("/processes?process=order");
  await expect(page.locator('[role="rowgroup"] [role="row"] a').first()).toBeVisible();
});
