// Types of the API from the server's own description, so that a page that asks for what is not there does not compile.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import openapi, { astToString } from "openapi-typescript";

const description = new URL("../../crates/gateway/openapi/skep-v2.json", import.meta.url);
const target = new URL("../src/api/schema.ts", import.meta.url);

const text = `// Made by tools/types.mjs from crates/gateway/openapi/skep-v2.json.\n${astToString(await openapi(description, { defaultNonNullable: false }))}`;
const there = await readFile(target, "utf8").catch(() => "");
if (there !== text) {
  await mkdir(new URL(".", target), { recursive: true });
  await writeFile(target, text);
}
