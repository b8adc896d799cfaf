// What holds on every screen: contrast and names by axe, and no sideways scroll.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Locator, Page } from "@playwright/test";
import { expect, fits } from "./journey";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  id: string;
  nodes: { target: string[]; failureSummary: string }[];
}

interface Checker {
  getRules: (tags: string[]) => { ruleId: string; tags: string[] }[];
  run: (context: unknown, options: unknown) => Promise<{ violations: Violation[] }>;
}

/** What the page, or what is within the element, breaks as it is now: of all rules, or of those that look at colours. */
async function broken(within: Locator, which: "all" | "colours"): Promise<string[]> {
  const violations = await within.evaluate(async (box, only) => {
    const { axe: checker } = globalThis as unknown as { axe: Checker };
    const levels = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
    const colours = checker.getRules(levels).filter(({ tags }) => tags.includes("cat.color") && !tags.includes("experimental"));
    // The mark of bpmn.io must not be changed, and its boards are as they are; the drawing says in words what it shows.
    const context = { include: [box], exclude: [".bjs-powered-by", ".fjs-powered-by", ".djs-container svg", ".board"] };
    return (await checker.run(context, { runOnly: only === "all" ? levels : colours.map(({ ruleId }) => ruleId), resultTypes: ["violations"] })).violations;
  }, which);
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id} ${node.target.join(" ")}: ${node.failureSummary}`));
}

/** In the dark look a page differs from the light one in its colours alone, and in another width in its layout: it is loaded once. */
const WAYS = [
  [1280, "light"],
  [1280, "dark"],
  [360, "dark"],
  [360, "light"],
] as const;

/** What axe has to say of what floats above a page, in one look: the page below is looked at by itself. */
export async function passes(float: Locator, name: string) {
  await float.page().evaluate(axe);
  expect(await broken(float, "all"), name).toEqual([]);
}

/** In these a page is as in those above, but for its room. */
const OTHERS = [768, 1920];

/** What has to hold of a page, as it stands: in four widths nothing sticks out, and in both looks axe has nothing to say. */
export async function sound(page: Page, name: string) {
  // As a function of the page: its policy lets no script of ours in by an element.
  await page.evaluate(axe);
  for (const [width, colorScheme] of WAYS) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await fits(page);
    expect(await broken(page.locator("html"), colorScheme === "light" ? "all" : "colours"), `${name}, ${colorScheme}, ${width} pixels`).toEqual([]);
  }
  for (const width of [...OTHERS, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    await fits(page);
  }
}
