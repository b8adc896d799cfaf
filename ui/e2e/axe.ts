// What axe finds wrong with a page, in words.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  id: string;
  nodes: { target: string[]; failureSummary: string }[];
}

export async function violations(page: Page, name: string): Promise<string[]> {
  // As a function of the page: its policy lets no script of ours in by an element.
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as { axe: { run: (context: unknown, options: unknown) => Promise<{ violations: unknown[] }> } };
    // The mark of bpmn.io must not be changed, and its boards are as they are; the drawing says in words what it shows.
    return (await checker.run({ exclude: [".bjs-powered-by", ".fjs-powered-by", ".djs-container svg", ".board"] }, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] })).violations;
  });
  return (found as Violation[]).flatMap(({ id, nodes }) => nodes.map((node) => `${name} ${id} ${node.target.join(" ")}: ${node.failureSummary}`));
}
