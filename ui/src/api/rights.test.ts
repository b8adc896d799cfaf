// Before a command is tried it is said what one lacks for it, but never of what one might be allowed to do.
import { expect, test } from "vitest";
import { RIGHTS, lackOf, rightsOn, rightsOnEntity, rightsOnTask, toPublish } from "./rights";

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

const task = (over: object) => ({ userTaskKey: "7", processDefinitionId: "damage", assignee: null, candidateUsers: ["anna"], candidateGroups: ["assessors"], ...over });
const byProperty = (resourcePropertyName: string, ...permissionTypes: string[]) => [{ resourceType: "USER_TASK", resourceId: null, resourcePropertyName, permissionTypes }] as never;

test("a task is claimed by who has a grant on its process, on the task, or on tasks that name them", () => {
  const { claim } = rightsOnTask(task({}), "anna", []);
  expect(lackOf([], claim)).toEqual({ permission: "CLAIM_USER_TASK", resource: "PROCESS_DEFINITION", ids: ["damage"] });
  expect(lackOf([on("damage", "UPDATE_USER_TASK")], claim)).toBeUndefined();
  expect(lackOf([{ resourceType: "USER_TASK", resourceId: "7", permissionTypes: ["CLAIM"] }] as never, claim)).toBeUndefined();
  expect(lackOf(byProperty("candidateUsers", "CLAIM"), claim)).toBeUndefined();
  expect(lackOf(byProperty("candidateUsers", "COMPLETE"), claim)).toBeDefined();
  expect(lackOf(byProperty("assignee", "CLAIM"), claim)).toBeDefined();
  expect(lackOf(byProperty("candidateGroups", "CLAIM"), claim)).toBeDefined();
  expect(lackOf(byProperty("candidateGroups", "CLAIM"), rightsOnTask(task({}), "ben", ["assessors"]).claim)).toBeUndefined();
  expect(lackOf(byProperty("candidateUsers", "CLAIM"), RIGHTS.tasks.claim)).toBeUndefined();
});

test("who may only claim gives their own task back, but takes nobody else's", () => {
  const claims = [on("damage", "CLAIM_USER_TASK")];
  const mine = rightsOnTask(task({ assignee: "anna" }), "anna", []);
  const others = rightsOnTask(task({ assignee: "ben" }), "anna", []);
  expect(lackOf(claims, mine.unclaim)).toBeUndefined();
  for (const right of [mine.assign, mine.complete, others.claim, others.unclaim]) expect(lackOf(claims, right)).toBeDefined();
  expect(lackOf(byProperty("assignee", "COMPLETE"), mine.complete)).toBeUndefined();
  // Nobody has it: that is no name of a caller who has none.
  expect(lackOf(byProperty("assignee", "COMPLETE"), rightsOnTask(task({}), "", []).complete)).toBeDefined();
});

test("what is named by no id yet may be any; what is, is that one", () => {
  const published = [{ resourceType: "MESSAGE", resourceId: "paid", permissionTypes: ["CREATE"] }] as never;
  expect(lackOf(published, toPublish(""))).toBeUndefined();
  expect(lackOf(published, toPublish("paid"))).toBeUndefined();
  expect(lackOf(published, toPublish("other"))).toEqual({ permission: "CREATE", resource: "MESSAGE", ids: ["other"] });
  expect(lackOf([grant("ROLE", "UPDATE")], rightsOnEntity("roles", "clerk").edit)).toBeDefined();
});
