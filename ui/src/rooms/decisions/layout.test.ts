// A requirements diagram reads from below to the result above.
import { expect, it } from "vitest";
import { layout } from "./layout";
import { type Model, variablesOf } from "./model";

const model: Model = {
  nodes: [
    { id: "dish", name: "Dish", kind: "decision", needs: ["season", "guests"] },
    { id: "season", name: "Season", kind: "decision", needs: ["month"] },
    { id: "guests", name: "Guests", kind: "input", needs: [] },
    { id: "month", name: "Month", kind: "input", needs: [] },
  ],
  logic: new Map([
    ["dish", { kind: "table", hitPolicy: "UNIQUE", aggregation: "", inputs: [{ id: "a", label: "", text: "season", type: "" }, { id: "b", label: "", text: 'if party.size > 3 then "x y" else guests', type: "" }], outputs: [], rules: [] }],
    ["season", { kind: "expression", text: "count(months[item > month])" }],
  ]),
};

it("puts what is asked below what asks it", () => {
  const { nodes, lines } = layout(model);
  expect(lines.length).toBe(3);
  for (const { from, to } of lines) expect(from.y).toBeGreaterThan(to.y);
  expect(new Set(nodes.map((each) => `${each.x} ${each.y}`)).size).toBe(4);
});

it("ends where a model asks itself in a circle", () => {
  expect(layout({ nodes: [{ id: "a", name: "a", kind: "decision", needs: ["b"] }, { id: "b", name: "b", kind: "decision", needs: ["a"] }], logic: new Map() }).nodes.length).toBe(2);
});

it("finds the variables that a decision reads, those of what it asks included", () => {
  expect(variablesOf(model, "dish")).toEqual(["party", "guests", "months", "item", "month"]);
});
