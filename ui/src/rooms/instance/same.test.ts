// Which other instances have the same value.
import { expect, test } from "vitest";
import { sameValue } from "./same";

const variable = (name: string, value: string, isTruncated = false) => ({ name, value, isTruncated });

test("the list is asked for the value as it is written", () => {
  expect(sameValue(variable("amount", "12345678901234567890"))).toEqual({ var: ["amount = 12345678901234567890"] });
  expect(sameValue(variable("customer", '{"city":"Bonn"}'))).toEqual({ var: ['customer = {"city":"Bonn"}'] });
});

test("what the list would read as something else is not asked for", () => {
  expect(sameValue(variable("code", '"A*"'))).toBeUndefined();
  expect(sameValue(variable("größe", "1"))).toBeUndefined();
  expect(sameValue(variable("text", '"begins', true))).toBeUndefined();
  expect(sameValue(variable("text", `"${"x".repeat(500)}"`))).toBeUndefined();
});
