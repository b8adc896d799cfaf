// Paths that are put together are paths that the API describes; all others are checked as types.
import { readFileSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { KINDS, MEMBERS, memberPath, membersPath } from "./identity";

const described: Record<string, object> = {};
const files = new URL("../../../crates/gateway/openapi/", import.meta.url);
for (const name of readdirSync(files)) Object.assign(described, (JSON.parse(readFileSync(new URL(name, files), "utf8")) as { paths?: object }).paths);

const methods = (path: string): string[] => Object.keys(described[path] ?? {});

test("members of groups, roles and tenants are searched, put in and taken out where the API says", () => {
  for (const kind of KINDS) {
    for (const member of MEMBERS[kind]) {
      expect(methods(membersPath(kind, member)), membersPath(kind, member)).toContain("post");
      expect(methods(memberPath(kind, member)), memberPath(kind, member)).toEqual(expect.arrayContaining(["put", "delete"]));
    }
  }
});
