// What is said of answers is what was measured.
import { expect, test } from "vitest";
import { summaries } from "./timing";

test("halves and the slow twentieth are those of each operation, the slowest first", () => {
  const fast = Array.from({ length: 100 }, (_, n) => ({ name: "fast", ms: n + 1, failed: false }));
  const found = summaries([...fast, { name: "slow", ms: 900, failed: true }]);
  expect(found.each).toEqual([
    { name: "slow", count: 1, failed: 1, p50: 900, p95: 900 },
    { name: "fast", count: 100, failed: 0, p50: 50, p95: 95 },
  ]);
  expect(found.all).toMatchObject({ count: 101, failed: 1, p50: 51 });
});

test("of nothing nothing is said", () => {
  expect(summaries([])).toEqual({ all: { name: "", count: 0, failed: 0, p50: 0, p95: 0 }, each: [] });
});
