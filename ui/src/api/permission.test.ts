// Refusals are read for what would help.
import { expect, test } from "vitest";
import { lackIn } from "./permission";

test("a command that lacks a permission names it, and its object", () => {
  const said = "Command 'CREATE' rejected with code 'FORBIDDEN': Insufficient permissions to perform operation 'UPDATE_PROCESS_INSTANCE' on resource 'PROCESS_DEFINITION', required resource identifiers are one of '[*, order]'";
  expect(lackIn(said)).toEqual({ permission: "UPDATE_PROCESS_INSTANCE", resource: "PROCESS_DEFINITION", ids: ["order"] });
});

test("a question names the permission alone", () => {
  expect(lackIn("Unauthorized to perform operation 'READ' on resource 'USER'")).toEqual({ permission: "READ", resource: "USER", ids: [] });
});

test("other refusals stay as they are", () => {
  expect(lackIn("Secondary storage is off (camunda.data.secondary-storage.type: none)")).toBeUndefined();
});
