// The times of its elements show what an instance looked like before, however many windows they come in.
import { expect, test } from "vitest";
import { steps } from "../../api/past";
import { indexAt, marksAt, momentsOf } from "./replay";

const at = (second: number) => new Date(second * 1000).toISOString();
const lives = [
  { elementId: "start", startDate: at(1), endDate: at(1), state: "COMPLETED" as const },
  { elementId: "charge", startDate: at(1), endDate: at(4), state: "TERMINATED" as const },
  { elementId: "charge", startDate: at(4), endDate: at(9), state: "COMPLETED" as const },
  { elementId: "ship", startDate: at(9), endDate: null, state: "ACTIVE" as const },
];

const charge = (active: number, completed: number, canceled: number) => ({ active, completed, canceled, incidents: 0 });

for (const [name, windows] of [
  ["one window", [steps(lives)]],
  ["windows of one step", lives.map((life) => steps([life]))],
  ["two windows and an empty one", [steps(lives.slice(0, 2)), steps(lives.slice(2)), steps([])]],
] as const) {
  test(`each beginning and each end is a moment, once: ${name}`, () => {
    const moments = momentsOf(windows);
    expect([...moments]).toEqual([1000, 4000, 9000]);
    expect([0, 1000, 5000, 99_000].map((time) => indexAt(moments, time))).toEqual([0, 0, 1, 2]);
  });

  test(`at a moment stands what had begun and not ended: ${name}`, () => {
    expect(marksAt(windows, 2000).get("charge")).toEqual(charge(1, 0, 0));
    expect(marksAt(windows, 4000).get("charge")).toEqual(charge(1, 0, 1));
    expect(marksAt(windows, 9000).get("charge")).toEqual(charge(0, 1, 1));
    expect(marksAt(windows, 2000).has("ship")).toBe(false);
    expect(marksAt(windows, 99_000).get("ship")).toEqual(charge(1, 0, 0));
  });
}

test("nothing has no moments", () => {
  expect([...momentsOf([])]).toEqual([]);
  expect(indexAt(momentsOf([]), 5)).toBe(0);
});
