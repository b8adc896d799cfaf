// Types of the API from the server's own description, so that a page that asks for what is not there does not compile.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import openapi, { astToString } from "openapi-typescript";

const descriptions = new URL("../../crates/gateway/openapi/", import.meta.url);
const target = new URL("../src/api/schema.ts", import.meta.url);

/** One file per tag, and one with what they share; no name is in two of them. */
async function description() {
  const whole = { paths: {}, components: { schemas: {} } };
  for (const name of (await readdir(descriptions)).toSorted()) {
    const { paths, components, ...head } = JSON.parse(await readFile(new URL(name, descriptions), "utf8"));
    Object.assign(whole, head);
    Object.assign(whole.paths, paths);
    Object.assign(whole.components.schemas, components?.schemas);
  }
  return whole;
}

const text = `// Made by tools/types.mjs from crates/gateway/openapi.\n${astToString(await openapi(await description(), { defaultNonNullable: false }))}`;
const there = await readFile(target, "utf8").catch(() => "");
if (there !== text) {
  await mkdir(new URL(".", target), { recursive: true });
  await writeFile(target, text);
}
