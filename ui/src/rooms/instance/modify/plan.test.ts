// A plan stands in the address, and goes to the server as it was written.
import { expect, test } from "vitest";
import { bodyOf, free, read, readAll, write } from "./plan";

const lines = [
  "cancel charge",
  "cancel charge@2251799813685919",
  "move charge>ship",
  'move charge@2251799813685919>ship in 2251799813685900 with {"a":12345678901234567890123}',
  "add ship",
  'add ship in 2251799813685900 local {"text":"in 5 with {} > @"}',
];

test("each line is read and written without loss", () => {
  for (const line of lines) expect(read(line) && write(read(line) ?? { kind: "add", element: "" })).toBe(line);
});

test("what is no plan is left out", () => {
  for (const line of ["", "add", "move charge", "cancel a>b", "drop all", "add a with 5"]) expect(read(line), line).toBeUndefined();
});

test("the body names what is added, moved and ended, and keeps the digits of numbers", () => {
  const body = bodyOf(readAll(lines));
  expect(body).toContain("12345678901234567890123");
  expect(JSON.parse(body)).toMatchObject({
    terminateInstructions: [{ elementId: "charge" }, { elementInstanceKey: "2251799813685919" }],
    moveInstructions: [
      { sourceElementInstruction: { sourceType: "byId", sourceElementId: "charge" }, targetElementId: "ship", ancestorScopeInstruction: { ancestorScopeType: "inferred" } },
      { sourceElementInstruction: { sourceType: "byKey" }, ancestorScopeInstruction: { ancestorScopeType: "direct", ancestorElementInstanceKey: "2251799813685900" } },
    ],
    activateInstructions: [{ elementId: "ship" }, { variableInstructions: [{ scopeId: "ship", variables: { text: "in 5 with {} > @" } }] }],
  });
});

test("a token that leaves already cannot be taken twice", () => {
  const tokens = [1, 2, 3].map((n) => ({ elementId: n === 3 ? "b" : "a", elementInstanceKey: String(n) }));
  const left = (plan: string[]) => free(tokens, readAll(plan)).map((each) => each.elementInstanceKey);
  expect(left([])).toEqual(["1", "2", "3"]);
  expect(left(["cancel a@1", "add a"])).toEqual(["2", "3"]);
  expect(left(["move a>b"])).toEqual(["3"]);
});
