// How fast the pages are: `make ui-bench`. Fills a server, then measures a list, a diagram, scrolling, writing and memory.
//
//   BENCH_INSTANCES   process instances in the list (20,000)
//   BENCH_TOKENS      tokens in the diagram of 500 elements (2,000)
//   BENCH_MINUTES     how long a page is left open before its memory is looked at (1)
import { readFile } from "node:fs/promises";
import { chromium } from "@playwright/test";
import { longModel } from "./long.mjs";
import { client } from "./seed.mjs";
import { startServer } from "./server.mjs";
import { wideModel, BRANCHES } from "./wide.mjs";

const asked = (name, usual) => Number(process.env[name] ?? usual);
const [INSTANCES, TOKENS, MINUTES] = [asked("BENCH_INSTANCES", 20_000), asked("BENCH_TOKENS", 2_000), asked("BENCH_MINUTES", 1)];
const STEPS = 10_000;
const ROUNDS = 5;

const quantile = (values, share) => values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(values.length * share) - 1)];
const show = (name, goal, figure) => console.log(`${name.padEnd(62)} ${figure.padStart(22)}   ${goal}`);

async function fill(api) {
  const order = await readFile(new URL("../../examples/first-process.bpmn", import.meta.url), "utf8");
  await api.deploy([["order.bpmn", order], ["wide.bpmn", wideModel()], ["long.bpmn", longModel]]);
  const start = async (count, id, variables) => {
    let left = count;
    await Promise.all(Array.from({ length: 32 }, async () => {
      while (left > 0) await api.start(id, variables(left--));
    }));
  };
  await start(INSTANCES, "order", (n) => ({ orderId: `o-${n}`, amount: n }));
  await start(TOKENS, "wide", (n) => ({ branch: n % BRANCHES }));
}

const server = await startServer();
const api = client(server.url);
await fill(api);
const long = await api.start("long", { count: STEPS });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
const page = await context.newPage();
const cdp = await context.newCDPSession(page);

/** Milliseconds from the navigation until something is there, the median of some rounds. */
async function until(address, there) {
  const took = [];
  for (let round = 0; round < ROUNDS; round++) {
    await page.goto("about:blank");
    const began = performance.now();
    await page.goto(`${server.url}/ui${address}`, { waitUntil: "commit" });
    await there();
    took.push(performance.now() - began);
  }
  return `${Math.round(quantile(took, 0.5))} ms`;
}

const list = () => page.locator('[role="rowgroup"] [role="row"] a').first().waitFor();
const instances = INSTANCES.toLocaleString("en");
show(`list over ${instances} instances: first row`, "goal 1,000 ms", await until("/processes?process=order&state=active", list));
await cdp.send("Emulation.setCPUThrottlingRate", { rate: 4 });
show("the same, CPU / 4", "goal 2,000 ms", await until("/processes?process=order&state=active", list));
await cdp.send("Emulation.setCPUThrottlingRate", { rate: 1 });
show(`diagram of 500 elements, ${TOKENS.toLocaleString("en")} tokens: counts drawn`, "goal 1,500 ms", await until("/processes?process=wide", () => page.locator(".pill").first().waitFor({ state: "attached" })));

/** Milliseconds between the frames while what is at a point is scrolled. */
async function scrolled(name, x, y) {
  await page.mouse.move(x, y);
  await page.evaluate(() => {
    globalThis.frameTimes = [];
    let last = performance.now();
    const next = (now) => {
      globalThis.frameTimes.push(now - last);
      last = now;
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  for (let n = 0; n < 200; n++) {
    await page.mouse.wheel(0, 240);
    await page.waitForTimeout(16);
  }
  const frames = await page.evaluate(() => globalThis.frameTimes);
  show(`scrolling ${name}: time between frames, p50 and p95`, "goal 17 and 33 ms", `${quantile(frames, 0.5).toFixed(0)} and ${quantile(frames, 0.95).toFixed(0)} ms`);
}

await page.goto(`${server.url}/ui/processes?state=active`);
await list();
await scrolled("the list", 640, 500);

await page.goto(`${server.url}/ui/processes/i/${long.processInstanceKey}`);
await page.locator(".tree-row").nth(10).waitFor();
const { x, y } = await page.locator(".tree").boundingBox();
await scrolled(`a history of ${STEPS.toLocaleString("en")} steps`, x + 100, y + 100);

await page.goto(`${server.url}/ui/feel`);
await page.evaluate(() => {
  globalThis.keyTimes = [];
  new PerformanceObserver((all) => globalThis.keyTimes.push(...all.getEntries().filter(({ name }) => name === "keydown").map(({ duration }) => duration))).observe({ type: "event", durationThreshold: 16 });
});
const KEYS = 80;
await page.locator("textarea").first().pressSequentially("amount + 1 ".repeat(KEYS / 10).slice(0, KEYS), { delay: 40 });
await page.waitForTimeout(300);
// A key whose frame came within 16 ms is not reported.
const slow = await page.evaluate(() => globalThis.keyTimes);
const inputs = [...slow, ...Array.from({ length: Math.max(0, KEYS - slow.length) }, () => 16)];
show("writing in the playground: key to frame, p95", "goal 100 ms", `${quantile(inputs, 0.95)} ms`);

await page.goto(`${server.url}/ui/processes?process=order`);
await list();
await page.waitForTimeout(MINUTES * 60_000);
await cdp.send("HeapProfiler.collectGarbage");
const { usedSize } = await cdp.send("Runtime.getHeapUsage");
show(`heap of the open list after ${MINUTES} min of updates`, "goal 150 MB after 1 h", `${(usedSize / 1e6).toFixed(1)} MB`);
await browser.close();
await server.stop();
