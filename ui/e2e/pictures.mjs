// The pictures of the documentation, in docs/images: `make ui-pictures` takes them again.
import { fileURLToPath } from "node:url";
import path from "node:path";
import { asRoot, camera, places, watch, weight } from "./camera.mjs";
import { GUARDED, people } from "./guarded.mjs";
import { client, seed } from "./seed.mjs";
import { startServer } from "./server.mjs";

/** Kilobytes. */
const MOST = 150;
const to = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../docs/images");
const look = [{ name: "", width: 1280, height: 800, colorScheme: "light" }];
const { shoot, close } = await camera(to);

const full = await startServer();
await seed(full.url);
const api = client(full.url);
const { stuck, task, error, failedDecision } = await places(api);
/** Work for as long as the monitor needs for a few points. */
const work = async (page) => {
  for (let n = 0; n < 50; n += 1) {
    await api.start("order", { orderId: `w-${n}`, amount: n });
    await page.waitForTimeout(400);
  }
};
const pages = [
  ["home", "/"],
  ["processes", "/processes?process=order&state=active,incident", (page) => page.locator(".pill.incident").first().waitFor()],
  ["instance", `/processes/i/${stuck}`, (page) => page.locator(".djs-shape").first().waitFor()],
  ["incidents", `/incidents?error=${error}`],
  ["task", `/tasks?task=${task}`, (page) => page.locator(".fjs-form").waitFor()],
  ["decision", `/decisions/i/${failedDecision}`],
  ["monitor", "/monitor", work],
  ["studio", "/studio?sample=order", watch(stuck)],
  ["playground", `/feel?${new URLSearchParams({ expression: "amount +\n  if x then" })}`],
];
await shoot(full.url, pages, look);
await full.stop();

const guarded = await startServer(GUARDED);
await people(guarded.url);
const peopled = [["access", "/admin/access?type=USER&id=anna"]];
await shoot(guarded.url, peopled, look, asRoot);
await guarded.stop();
await close();

let heavy = false;
for (const [name] of [...pages, ...peopled]) {
  const kilobytes = await weight(path.join(to, `${name}.png`));
  heavy ||= kilobytes > MOST;
  console.log(`${kilobytes > MOST ? "TOO LARGE" : "ok       "} docs/images/${name}.png ${kilobytes.toFixed(0)} of ${MOST} KB`);
}
process.exit(heavy ? 1 : 0);
