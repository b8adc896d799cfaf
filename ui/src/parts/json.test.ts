// JSON stays the text that it is.
import { expect, test } from "vitest";
import { compactJson, prettyJson, tokens, elementsOf } from "./json";

const HARD = '{"big":12345678901234567890123,"small":0.1000000000000000055,"text":"a \\"b\\": [1]","empty":{},"list":[1,-2e10,null,true],"\\u00e4":[]}';

test("tokens together are the text", () => {
  for (const text of [HARD, ' { "a" : 1 } ', '"x"', "12", "not json at all {", ""]) {
    expect(tokens(text).map((token) => token.text).join("")).toBe(text);
  }
});

test("no digit of a number is lost, whichever way the text is laid out", () => {
  expect(compactJson(prettyJson(HARD))).toBe(HARD);
  expect(prettyJson('{"big":12345678901234567890123}')).toBe('{\n  "big": 12345678901234567890123\n}');
});

test("what is within a text is not taken for structure", () => {
  expect(prettyJson('"a: {b}, [c]"')).toBe('"a: {b}, [c]"');
  expect(compactJson('{ "a b" :  "c  d" }')).toBe('{"a b":"c  d"}');
});

test("of a text that is cut within a string every character is kept", () => {
  expect(prettyJson('{"a":"b  c, d')).toBe('{\n  "a": "b  c, d');
  expect(tokens('"a b').map(({ kind, text }) => [kind, text])).toEqual([["text", '"a b']]);
  expect(tokens('["a\\').map(({ text }) => text).join("")).toBe('["a\\');
});

test("empty lists and objects stay on their line", () => {
  expect(prettyJson('{"a":{},"b":[]}')).toBe('{\n  "a": {},\n  "b": []\n}');
});

test("the elements of a list are its text, whatever is within them", () => {
  expect(elementsOf('[1, "a,]", {"b": [2, 3]}, [4], 12345678901234567890]')).toEqual(["1", '"a,]"', '{"b":[2,3]}', "[4]", "12345678901234567890"]);
  expect(elementsOf("[]")).toEqual([]);
});
