// Addresses keep what they say.
import { expect, test } from "vitest";
import { parseSearch, stringifySearch } from "./search";

test("a key stays text, however long", () => {
  expect(parseSearch("?key=9223372036854775807")).toEqual({ key: "9223372036854775807" });
});

test("what is written is read again", () => {
  const search = { process: "order", state: "active,incident", var: ["a = 1", 'b = "x & y"'], error: "50% of +1" };
  expect(parseSearch(stringifySearch(search))).toEqual(search);
});

test("lists stay readable in the address, and nothing is written for nothing", () => {
  expect(stringifySearch({ state: "active,incident", process: undefined, element: "" })).toBe("?state=active,incident");
  expect(stringifySearch({})).toBe("");
});
