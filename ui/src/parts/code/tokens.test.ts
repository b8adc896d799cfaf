// What a field of code colours and marks: parts, brackets, and the place where a text is wrong.
import { expect, test } from "vitest";
import { jsonError } from "../json";
import { bracketsAt, partAt, partsOf, wrongJsonAt } from "./tokens";

const kinds = (text: string) => partsOf(text, "feel").filter(({ kind }) => kind !== "space").map(({ kind, text: part }) => `${kind} ${part}`);

test("the parts of an expression are told apart, and together they are the expression", () => {
  expect(kinds('if größe >= 1.5e3 then "a\\"b" else @"2026-01-01" // why')).toEqual([
    "word if", "name größe", "mark >", "mark =", "number 1.5e3", "word then", 'text "a\\"b"', "word else", 'text @"2026-01-01"', "note // why",
  ]);
  for (const text of ['"open', "/* open", "1..2", "a.b[1]", "😀 + ?", ""]) {
    for (const language of ["feel", "json"] as const) expect(partsOf(text, language).map((part) => part.text).join("")).toBe(text);
  }
});

test("the bracket beside the caret has its partner, not one within a text", () => {
  const parts = partsOf('f([1, ")"], {})', "feel");
  const texts = (caret: number) => bracketsAt(parts, caret).map((at) => [parts[at]?.text, parts.slice(0, at).reduce((sum, part) => sum + part.text.length, 0)]);
  expect(texts(15)).toEqual([[")", 14], ["(", 1]]);
  expect(texts(1)).toEqual([["(", 1], [")", 14]]);
  expect(texts(3)).toEqual([["[", 2], ["]", 9]]);
  expect(texts(8)).toEqual([]);
});

test("a bracket without a partner stands alone", () => {
  for (const text of ["(1]", "[1", "{]"]) expect(bracketsAt(partsOf(text, "feel"), 1)).toEqual([0]);
  expect(bracketsAt(partsOf("1)", "feel"), 2)).toEqual([1]);
});

const wrongIn = (text: string) => {
  const parts = partsOf(text, "json");
  const at = wrongJsonAt(parts);
  expect(at !== undefined, text).toBe(text.trim() !== "" && jsonError(text) !== undefined);
  return at === undefined ? undefined : `${parts[at]?.text} at ${parts.slice(0, at).reduce((sum, part) => sum + part.text.length, 0)}`;
};

test("JSON that is wrong says where, as the browser says whether", () => {
  for (const text of ["", " ", "1", "-0.5e+7", '"a"', "null", "[]", "{}", '{"a": [1, {"b" : {}}, "}"], "c": true}', '["a", [[]]]']) expect(wrongIn(text)).toBeUndefined();
  expect(wrongIn('{\n  "a": 1\n  "b": 2\n}')).toBe('"b" at 13');
  expect(wrongIn("{}}")).toBe("} at 2");
  expect(wrongIn("[1,]")).toBe("] at 3");
  expect(wrongIn('{"a": 1,}')).toBe("} at 8");
  expect(wrongIn('{"a": [1 ')).toBe("1 at 7");
  expect(wrongIn('{"a"}')).toBe('"a" at 1');
  expect(wrongIn('{a: 1}')).toBe("a at 1");
  expect(wrongIn("[01]")).toBe("01 at 1");
  expect(wrongIn('["open]')).toBe('"open] at 1');
  expect(wrongIn('"\\x"')).toBe('"\\x" at 0');
  expect(wrongIn("[1}")).toBe("} at 2");
  expect(wrongIn("1 2")).toBe("2 at 2");
  expect(wrongIn('["a": 1]')).toBe('"a" at 1');
});

test("a place that the server tells is that of a part, and of the last one behind the end", () => {
  const parts = partsOf("1 + + 2  ", "feel");
  expect([parts[partAt(parts, 4)]?.text, parts[partAt(parts, 9)]?.text]).toEqual(["+", "2"]);
});
