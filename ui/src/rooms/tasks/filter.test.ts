// The filter of the server that an address means.
import { expect, test } from "vitest";
import { OPEN } from "../../api/tasks";
import { filterOf } from "./filter";

const FREE = { $exists: false };

test.each([
  [{}, { state: OPEN }],
  [{ view: "mine" }, { state: OPEN, assignee: "anna" }],
  [{ view: "unassigned", process: "order" }, { state: OPEN, processDefinitionId: "order", assignee: FREE }],
  [{ view: "done", user: "ben" }, { state: "COMPLETED", candidateUser: "ben" }],
  [{ view: "groups" }, { state: OPEN, candidateGroup: { $in: ["sales", "support"] }, assignee: FREE }],
  [{ view: "groups", group: "sales" }, { state: OPEN, candidateGroup: { $in: ["sales"] }, assignee: FREE }],
  [{ view: "groups", group: "managers" }, { state: OPEN, candidateGroup: { $in: [] }, assignee: FREE }],
])("%j", (search, expected) => {
  expect(filterOf(search, "anna", ["sales", "support"])).toEqual(expected);
});
