// Holds the packages of the lock file against licences.json: each has a licence that is allowed, and what reaches browsers is listed.
//
//   node tools/licences.mjs          checks
//   node tools/licences.mjs write    writes the list of what reaches browsers
import { readFile, writeFile } from "node:fs/promises";

const root = new URL("../", import.meta.url);
const listAt = new URL("licences.json", root);
const lock = JSON.parse(await readFile(new URL("package-lock.json", root), "utf8"));
const list = JSON.parse(await readFile(listAt, "utf8"));

const problems = [];
const shipped = [];
for (const [at, entry] of Object.entries(lock.packages)) {
  if (at === "") continue;
  const name = at.slice(at.lastIndexOf("node_modules/") + 13);
  const manifest = await readFile(new URL(`${at}/package.json`, root), "utf8").then(JSON.parse, () => ({}));
  // Some say it in their Readme alone.
  const licence = entry.license ?? manifest.license ?? list.said[name] ?? "unknown";
  const allowed = list.allowed.includes(licence) || (entry.dev && list.tools.includes(licence));
  if (!allowed && list.named[name] !== licence) problems.push(`${name} ${entry.version} has the licence ${licence}`);
  if (!entry.dev && !entry.optional) shipped.push({ name, version: entry.version, licence });
}
shipped.sort((a, b) => a.name.localeCompare(b.name, "en") || a.version.localeCompare(b.version, "en"));

if (process.argv[2] === "write") {
  list.packages = shipped;
  await writeFile(listAt, `${JSON.stringify(list, null, 1)}\n`);
} else if (JSON.stringify(list.packages) !== JSON.stringify(shipped)) {
  problems.push("licences.json does not list what the lock file has: run `node tools/licences.mjs write` and look at what it changes");
}
if (problems.length > 0) {
  console.error(`licences: ${problems.join("\nlicences: ")}`);
  process.exit(1);
}
console.log(`licences: ${Object.keys(lock.packages).length - 1} packages, ${shipped.length} of them reach browsers`);
