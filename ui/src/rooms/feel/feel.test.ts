// An answer is read without losing a digit, and a refusal for where it points.
import { expect, test } from "vitest";
import { asObject, kindOf, memberText, signed, wrongOf } from "./feel";

test("a value keeps the digits that the server sent", () => {
  const answer = '{"expression":"=\\"result\\"","result":[12345678901234567890123.10,{"a":"}, ]"}],"warnings":[]}';
  expect(memberText(answer, "result")).toBe('[12345678901234567890123.10,{"a":"}, ]"}]');
  expect(memberText('{"a":{"result":1},"result":null}', "result")).toBe("null");
  expect(memberText('{"a": 1, "result" : "x" }', "result")).toBe('"x"');
  expect(memberText('{"a":1}', "result")).toBeUndefined();
});

test("a value is of a kind", () => {
  expect(['{"a":1}', "[]", '"1"', "-1.5", "true", "null"].map(kindOf)).toEqual(["context", "list", "string", "number", "boolean", "null"]);
});

test("what is written without the sign gets it", () => {
  expect([signed("a + 1"), signed("= a"), signed("  = a")]).toEqual(["=a + 1", "= a", "= a"]);
});

const refusal = (expression: string, rest: string) => `Command 'EVALUATE' rejected with code 'INVALID_ARGUMENT': Failed to parse expression '${expression}': ${rest}`;

test("a refusal points at its place, with the sign and without it", () => {
  const detail = refusal("=a\n  + b b", "expected an operator, found 'b' (line 2, column 7)");
  expect(wrongOf(detail, "a\n  + b b")).toEqual({ message: "expected an operator, found 'b'", place: { line: 2, column: 7, offset: 8, text: "  + b b" } });
  expect(wrongOf(detail, "=a\n  + b b").place?.offset).toBe(9);
  expect(wrongOf(refusal('="🐝" +', "expected an expression (line 1, column 6)"), '"🐝" +').place?.offset).toBe(6);
});

test("a refusal without a place is what it says", () => {
  expect(wrongOf("Command 'EVALUATE' rejected with code 'INVALID_ARGUMENT': Assertion failure: no", "x")).toEqual({ message: "Assertion failure: no" });
});

test("inner variables hide outer ones", () => {
  expect(asObject([[{ name: "b", value: "1.10" }], [{ name: "b", value: "2" }, { name: "a", value: '"x"' }]])).toBe('{"a":"x","b":1.10}');
});
