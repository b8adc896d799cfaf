// The filter that is shown is the filter that is sent.
import { expect, test } from "vitest";
import { condition, filterOf, sortOf, unread, written } from "./filter";
import { isFiltered, withoutFilters } from "./search";

test("without a state all are meant, and nothing is sent about it", () => {
  expect(filterOf({})).toEqual({});
  expect(filterOf({ state: "active,incident,completed,terminated" })).toEqual({});
});

test("each choice of states has its filter", () => {
  expect(filterOf({ state: "active" })).toEqual({ state: "ACTIVE", hasIncident: false });
  expect(filterOf({ state: "incident" })).toEqual({ state: "ACTIVE", hasIncident: true });
  expect(filterOf({ state: "active,incident" })).toEqual({ state: { $in: ["ACTIVE"] } });
  expect(filterOf({ state: "completed,terminated" })).toEqual({ state: { $in: ["COMPLETED", "TERMINATED"] } });
  expect(filterOf({ state: "incident,completed" })).toEqual({
    $or: [{ state: "ACTIVE", hasIncident: true }, { state: { $in: ["COMPLETED"] } }],
  });
});

test("no state finds nothing: no filter, or everything would be found", () => {
  expect(filterOf({ state: "unknown" })).toBeUndefined();
});

test("several variables must all hold, and big numbers stay as they are", () => {
  expect(filterOf({ var: ["amount = 12345678901234567890", 'city="Bonn"', "name != *x*"] })?.variables).toEqual([
    { name: "amount", value: "12345678901234567890" },
    { name: "city", value: '"Bonn"' },
    { name: "name", value: { $neq: '"*x*"' } },
  ]);
});

test("a value that is no JSON is a text, and one with a star a pattern", () => {
  expect(condition("city = Bonn")).toEqual({ name: "city", not: false, value: '"Bonn"' });
  expect(filterOf({ var: ["city = Bo*"] })?.variables).toEqual([{ name: "city", value: { $like: '"Bo*"' } }]);
  expect(condition("nothing")).toBeUndefined();
});

test("a variable may have one of several values, each with its digits", () => {
  expect(filterOf({ var: ['amount in [ 1, "in", 12345678901234567890 ]'] })?.variables).toEqual([{ name: "amount", value: { $in: ["1", '"in"', "12345678901234567890"] } }]);
  for (const text of ["a in", "a in []", "a in 1", "a in [1", `a in [${"1,".repeat(100)}1]`]) expect(condition(text), text).toBeUndefined();
  expect(condition("inside = 1")).toMatchObject({ name: "inside", value: "1" });
});

test("with a condition that is none nothing is asked: what is shown would not be what is sent", () => {
  for (const search of [{ var: ["amount = 1", "amount ="] }, { from: "yesterday" }, { to: "x" }, { hash: "12a" }]) {
    expect(filterOf(search)).toBeUndefined();
    expect(unread(search)).toBeDefined();
  }
  expect(unread({ var: ["amount = 1"], from: "2026-11-29T10:00:00Z", hash: "-12" })).toBeUndefined();
});

test("a condition is written as it was read", () => {
  for (const text of ['a = "b"', "a != 1", 'a = {"b":[1,2]}', 'a in ["b",2]']) {
    const read = condition(text);
    expect(read && written(read)).toBe(text);
  }
});

test("at an element means now, as long as only instances at work are asked for", () => {
  expect(filterOf({ element: "charge", state: "active,incident" })).toMatchObject({ elementId: "charge", elementInstanceState: "ACTIVE" });
  expect(filterOf({ element: "charge" })).toEqual({ elementId: "charge" });
});

test("what cannot be a key or a version is not sent", () => {
  expect(filterOf({ key: "12, x, 13", version: "all" })).toEqual({ processInstanceKey: { $in: ["12", "13"] } });
});

test("two versions that are compared are both meant", () => {
  expect(filterOf({ process: "order", version: "3", versus: "1" })).toEqual({ processDefinitionId: "order", processDefinitionVersion: { $in: [3, 1] } });
  expect(filterOf({ process: "order", version: "3", versus: "x" })?.processDefinitionVersion).toBe(3);
  expect(filterOf({ version: "3", versus: "1" })?.processDefinitionVersion).toBe(3);
});

test("times are moments, wherever the link is opened", () => {
  expect(filterOf({ from: "2026-11-24T10:00:00.000Z" })?.startDate).toEqual({ $gte: "2026-11-24T10:00:00.000Z" });
  expect(filterOf({ from: "yesterday" })?.startDate).toBeUndefined();
});

test("an unknown order is that of the start, the newest first", () => {
  expect(sortOf({})).toEqual({ field: "startDate", order: "DESC" });
  expect(sortOf({ sort: "endDate" })).toEqual({ field: "endDate", order: "ASC" });
  expect(sortOf({ sort: "-nothing" })).toEqual({ field: "startDate", order: "DESC" });
});

test("the tenant that is looked at is sent, and is no filter to take away", () => {
  expect(filterOf({ tenant: "acme", process: "order" })).toEqual({ tenantId: "acme", processDefinitionId: "order" });
  expect(isFiltered({ tenant: "acme" })).toBe(false);
  expect(withoutFilters({ tenant: "acme", process: "order" })).toMatchObject({ tenant: "acme" });
});
