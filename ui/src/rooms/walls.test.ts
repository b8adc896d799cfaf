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
