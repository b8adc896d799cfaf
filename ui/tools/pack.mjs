// From .build to dist: each file compressed as the binary carries it. A file that did not change is not written again, so that
// cargo has nothing to do either.
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");
const from = path.join(root, ".build");
const to = path.join(root, "dist");

const kept = new Set(["README.md", "VERSION", ".stamp"]);
const whole = createHash("sha256");

async function put(name, bytes) {
  const target = path.join(to, name);
  kept.add(name);
  const there = await readFile(target).catch(() => undefined);
  if (there?.equals(bytes)) return;
  await mkdir(path.dirname(target), { recursive: true });
  await writeFile(target, bytes);
}

const names = (await readdir(from, { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile())
  .map((entry) => path.relative(from, path.join(entry.parentPath, entry.name)))
  // What tools of the build read is not for browsers.
  .filter((name) => !name.startsWith(".vite"))
  .toSorted();
for (const name of names) {
  const bytes = await readFile(path.join(from, name));
  whole.update(name).update(bytes);
  await put(`${name}.gz`, gzipSync(bytes, { level: 9 }));
}
const { version } = JSON.parse(await readFile(path.join(root, "package.json"), "utf8"));
await put("VERSION", Buffer.from(`${version}+${whole.digest("hex").slice(0, 8)}\n`));

for (const entry of await readdir(to, { recursive: true, withFileTypes: true })) {
  const name = path.relative(to, path.join(entry.parentPath, entry.name));
  if (entry.isFile() && !kept.has(name)) await rm(path.join(to, name));
}
