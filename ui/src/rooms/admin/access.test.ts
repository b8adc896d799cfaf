// What somebody may do is told with its reasons.
import { expect, test } from "vitest";
import type { Grant } from "../../api/authorizations";
import { rightsOf, sourcesOf } from "./access";

const groups = [{ id: "assessors", members: ["anna", "ben"] }, { id: "others", members: ["cleo"] }];
const roles = [
  { id: "admin", members: ["ben"], groups: [] },
  { id: "task-worker", members: ["anna"], groups: ["assessors"] },
];

const grant = (resourceId: string, ...permissionTypes: string[]): Grant =>
  ({ authorizationKey: "1", ownerId: "x", ownerType: "USER", resourceType: "PROCESS_DEFINITION", resourceId, resourcePropertyName: null, permissionTypes });

test("grants come from oneself, one's groups, one's roles, and the roles of one's groups", () => {
  expect(sourcesOf("USER", "anna", groups, roles)).toEqual([
    { ownerType: "USER", ownerId: "anna", own: true },
    { ownerType: "GROUP", ownerId: "assessors" },
    { ownerType: "ROLE", ownerId: "task-worker" },
    { ownerType: "ROLE", ownerId: "task-worker", through: "assessors" },
  ]);
});

test("a group has its roles, and is in no group", () => {
  expect(sourcesOf("GROUP", "assessors", groups, roles)).toEqual([{ ownerType: "GROUP", ownerId: "assessors", own: true }, { ownerType: "ROLE", ownerId: "task-worker" }]);
});

test("a permission that comes in two ways has two reasons, and all of a kind stands before single ones", () => {
  const [own, role] = [{ ownerType: "USER", ownerId: "anna" }, { ownerType: "ROLE", ownerId: "admin" }] as const;
  const rights = rightsOf([{ source: own, grants: [grant("order", "READ_PROCESS_INSTANCE")] }, { source: role, grants: [grant("order", "READ_PROCESS_INSTANCE"), grant("*", "UPDATE_PROCESS_INSTANCE")] }]);
  expect(rights.map(({ resource, permissions }) => [resource, Object.fromEntries(permissions)])).toEqual([
    ["*", { UPDATE_PROCESS_INSTANCE: [role] }],
    ["order", { READ_PROCESS_INSTANCE: [own, role] }],
  ]);
});

test("a property of tasks is no id", () => {
  const rights = rightsOf([{ source: { ownerType: "USER", ownerId: "anna" }, grants: [{ authorizationKey: "1", ownerId: "anna", ownerType: "USER", resourceType: "USER_TASK", resourceId: null, resourcePropertyName: "assignee", permissionTypes: ["READ"] }] }]);
  expect(rights).toMatchObject([{ resource: "assignee", byProperty: true }]);
});
