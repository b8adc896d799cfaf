// Holds what was built against its budgets: what a browser loads first, what each screen adds, and what the binary grows by.
import { readFile, readdir, stat } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const KIB = 1024;
/**
 * KiB, compressed. `page` is what a browser has loaded when it shows a screen or a section of one: what comes first, and all that it needs.
 * Promised are 200 at first and 60 more for a screen; a stricter limit here leaves the difference to the screens, and the sum is kept.
 */
const BUDGETS = { first: { js: 150, css: 15, font: 50 }, page: 260, more: 60, viewer: 70, form: 160, studio: 650, binary: 2.2 * 1024 };

const dist = path.join(path.dirname(fileURLToPath(import.meta.url)), "../dist");
const build = path.join(dist, "../.build");
const manifest = JSON.parse(await readFile(path.join(build, ".vite/manifest.json"), "utf8"));
const size = async (file) => (await stat(path.join(dist, `${file}.gz`))).size / KIB;

/** A chunk with all that it needs at once. */
function closure(id, found = new Set()) {
  if (found.has(id)) return found;
  found.add(id);
  for (const next of manifest[id].imports ?? []) closure(next, found);
  return found;
}

async function weigh(ids) {
  let [js, css] = [0, 0];
  const styles = new Set();
  for (const id of ids) {
    js += await size(manifest[id].file);
    for (const style of manifest[id].css ?? []) styles.add(style);
  }
  for (const style of styles) css += await size(style);
  return { js, css };
}

const lines = [];
let over = false;
function hold(name, kib, budget) {
  const bad = kib > budget;
  over ||= bad;
  lines.push(`${bad ? "TOO LARGE" : "ok       "} ${name.padEnd(34)} ${kib.toFixed(1).padStart(7)} of ${budget.toFixed(0)} KiB`);
}

const entry = Object.keys(manifest).find((id) => manifest[id].isEntry);
const first = closure(entry);
const weight = await weigh(first);
hold("first load, scripts", weight.js, BUDGETS.first.js);
hold("first load, styles", weight.css, BUDGETS.first.css);
const font = Object.keys(manifest).find((id) => /inter-latin-wght-normal/.test(id));
hold("first load, font", await size(manifest[font].file), BUDGETS.first.font);
for (const id of Object.keys(manifest).filter((id) => manifest[id].isDynamicEntry)) {
  // What is opened within a screen comes on top of it.
  const there = new Set(first);
  const within = Object.keys(manifest).filter((other) => !first.has(other) && manifest[other].dynamicImports?.includes(id));
  for (const other of within) for (const each of closure(other)) there.add(each);
  const added = await weigh([...closure(id)].filter((each) => !there.has(each)));
  const before = await weigh(there);
  // A small first load leaves more to a screen; a screen that is large already still opens what is small.
  const left = Math.max(BUDGETS.more, BUDGETS.page - before.js - before.css);
  const budget = /Diagram/.test(id) ? BUDGETS.viewer : /FormView/.test(id) ? BUDGETS.form : /studio\/(Dmn|Form)?Board/.test(id) ? BUDGETS.studio : left;
  hold(id.replace("src/", ""), added.js + added.css, budget);
}
let whole = 0;
for (const file of await readdir(dist, { recursive: true, withFileTypes: true })) {
  if (file.isFile() && file.name.endsWith(".gz")) whole += (await stat(path.join(file.parentPath, file.name))).size / KIB;
}
hold("all of it, in the binary", whole, BUDGETS.binary);
console.log(lines.join("\n"));
process.exit(over ? 1 : 0);
