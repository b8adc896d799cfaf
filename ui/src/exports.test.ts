// What a file offers to others is used by another one: what nobody uses any more is not left behind.
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const ui = path.join(import.meta.dirname, "..");
const texts = new Map(
  ["src", "e2e"].flatMap((where) =>
    readdirSync(path.join(ui, where), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(tsx?|mjs)$/.test(name) && name !== "api/schema.ts")
      .map((name) => [path.join(where, name), readFileSync(path.join(ui, where, name), "utf8")] as const),
  ),
);

/** The file that is meant by an import. */
function fileOf(from: string, named: string): string | undefined {
  const to = path.join(path.dirname(from), named);
  return [to, `${to}.ts`, `${to}.tsx`, path.join(to, "index.ts"), path.join(to, "index.tsx")].find((each) => texts.has(each));
}

/** By file, the names that others take from it; `*` are all. */
function used(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const use = (from: string, named: string, names: readonly string[]) => {
    const to = fileOf(from, named);
    if (to !== undefined) found.set(to, names.reduce((all, name) => all.add(name), found.get(to) ?? new Set<string>()));
  };
  for (const [file, text] of texts) {
    for (const [, what = "", from = ""] of text.matchAll(/\b(?:import|export)\s+([^;"']*?)\s+from\s+"(\.[^"]+)"/g)) {
      const listed = /\{([^}]*)\}/.exec(what)?.[1]?.split(",") ?? [];
      use(file, from, [...listed.map((each) => each.trim().replace(/^type\s+/, "").replace(/\s+as\s.*/, "")), ...(what.includes("*") ? ["*"] : [])]);
    }
    // What is loaded later is named beside: `import("./page"), "Page"`, or `import("./page").then(({ Page }) => …`.
    for (const [, from = "", beside = ""] of text.matchAll(/\bimport\("(\.[^"]+)"\)(.{0,80})/g)) use(file, from, beside.match(/\w+/g) ?? []);
    for (const [, from = ""] of text.matchAll(/typeof import\("(\.[^"]+)"\)/g)) use(file, from, ["*"]);
  }
  return found;
}

test("each value that a file exports is used by another file, and each type somewhere", () => {
  const taken = used();
  const dead = [...texts].flatMap(([file, text]) => {
    const names = taken.get(file) ?? new Set<string>();
    if (names.has("*") || /\.(test|journey)\.ts$/.test(file)) return [];
    return [...text.matchAll(/^export\s+(?:async\s+)?(const|function|class|interface|type)\s+(\w+)/gm)]
      .filter(([, kind, name = ""]) => !names.has(name) && (!/interface|type/.test(kind ?? "") || text.split(new RegExp(`\\b${name}\\b`)).length < 3))
      .map(([, , name]) => `${file}: ${name}`);
  });
  expect(dead).toEqual([]);
});
