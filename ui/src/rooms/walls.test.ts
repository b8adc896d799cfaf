// Rooms are apart: what two of them need is a part, and lies in parts.
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const src = path.join(import.meta.dirname, "..");
const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name) && name !== "api/schema.ts");
const text = (name: string) => readFileSync(path.join(src, name), "utf8");
const imports = (name: string) => [...text(name).matchAll(/from "(\.[^"]+)"|import\("(\.[^"]+)"\)/g)].map((found) => path.join(path.dirname(name), found[1] ?? found[2] ?? ""));
const room = (name: string) => /^rooms\/([^/]+)\//.exec(name)?.[1];

test("no room imports another", () => {
  const crossing = files.flatMap((name) => imports(name).filter((to) => room(name) && room(to) && room(name) !== room(to)).map((to) => `${name} -> ${to}`));
  expect(crossing).toEqual([]);
});

test("parts and questions know no room", () => {
  const upward = files.filter((name) => /^(parts|api|text)\//.test(name)).flatMap((name) => imports(name).filter((to) => room(to)).map((to) => `${name} -> ${to}`));
  expect(upward).toEqual([]);
});

/** By class, the style sheets that have rules of its own, for it alone. */
function homes(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const name of readdirSync(src, { recursive: true, encoding: "utf8" }).filter((each) => each.endsWith(".css"))) {
    const selectors = text(name).replaceAll(/\/\*.*?\*\//gs, "").matchAll(/([^{}]+)\{/g);
    for (const [, list = ""] of selectors) {
      for (const [, plain = ""] of list.split(",").flatMap((each) => [/^\s*\.([\w-]+)\s*$/.exec(each) ?? []])) found.set(plain, (found.get(plain) ?? new Set()).add(name));
    }
  }
  found.delete("");
  return found;
}

test("a class has rules of its own in one style sheet: another one would change what it never saw", () => {
  const found = homes();
  // The studio's board is placed in one, and coloured in the other.
  found.delete("board");
  expect([...found].filter(([, names]) => names.size > 1).map(([plain, names]) => `${plain}: ${[...names].join(", ")}`)).toEqual([]);
});

test("what is seen in several rooms has its rules outside of them: those of one room are not there in another", () => {
  const found = homes();
  const away = files.flatMap((name) =>
    [...text(name).matchAll(/className=(?:"([^"]+)"|\{`([^`]+)`\})/g)]
      .flatMap(([, plain, composed]) => (plain ?? composed ?? "").replaceAll(/\$\{[^}]*\}/g, " ").split(/\s+/))
      .flatMap((each) => [...(found.get(each) ?? [])].filter((sheet) => room(sheet) && room(sheet) !== room(name)).map((sheet) => `${name}: ${each} is in ${sheet}`)),
  );
  expect(away).toEqual([]);
});
