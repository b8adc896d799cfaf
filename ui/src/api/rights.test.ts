// Before a command is tried it is said what one lacks for it, but never of what one might be allowed to do.
import { expect, test } from "vitest";
import { RIGHTS, lackOf, rightsOn } from "./rights";

const grant = (resourceType: string, ...permissionTypes: string[]) => ({ resourceType, permissionTypes }) as never;

test("without any grant the first permission that would do is missing", () => {
  expect(lackOf([], RIGHTS.cancel)).toEqual({ permission: "CREATE_BATCH_OPERATION_CANCEL_PROCESS_INSTANCE", resource: "BATCH", ids: [] });
  expect(lackOf([grant("BATCH", "READ"), grant("RESOURCE", "CREATE")], RIGHTS.cancel)).toBeDefined();
});

test("any of the permissions is enough, on whichever resource of the kind: the rest depends on the object", () => {
  expect(lackOf([grant("BATCH", "CREATE")], RIGHTS.cancel)).toBeUndefined();
  expect(lackOf([grant("BATCH", "CREATE_BATCH_OPERATION_CANCEL_PROCESS_INSTANCE")], RIGHTS.cancel)).toBeUndefined();
  expect(lackOf([grant("SYSTEM", "READ"), grant("SYSTEM", "UPDATE")], RIGHTS.operate)).toBeUndefined();
});

const on = (resourceId: string, ...permissionTypes: string[]) => ({ resourceType: "PROCESS_DEFINITION", resourceId, permissionTypes }) as never;

test("on one process a grant counts that is for it, or for all of them", () => {
  const { cancel } = rightsOn("order");
  expect(lackOf([on("order", "READ_PROCESS_INSTANCE"), on("refund", "CANCEL_PROCESS_INSTANCE")], cancel)).toEqual({ permission: "CANCEL_PROCESS_INSTANCE", resource: "PROCESS_DEFINITION", ids: ["order"] });
  expect(lackOf([on("order", "CANCEL_PROCESS_INSTANCE")], cancel)).toBeUndefined();
  expect(lackOf([on("*", "CANCEL_PROCESS_INSTANCE")], cancel)).toBeUndefined();
});
