// The hour on the screen: what is new is put behind what was there, and what is older leaves.
import { expect, test } from "vitest";
import { type Series, joined } from "./measured";

const STEP = 5_000;
const NOON = Date.parse("2026-11-27T12:00:00.000Z");
const series = (points: (number | null)[], name = "records", node = 0): Series => ({ name, node, partition: 1, unit: "1/s", points });
const page = (steps: number, ...all: Series[]) => ({ from: new Date(NOON + steps * STEP).toISOString(), stepMs: STEP, missing: [] as number[], series: all });

test("what is asked for again fills what was not measured yet", () => {
  const before = joined(undefined, page(0, series([1, 2, null]), series([4, 5, 6], "records", 1)));
  const after = joined(before, page(2, series([3, 7]), series([6, 8], "records", 1)));
  expect(after.times).toEqual([0, 1, 2, 3].map((n) => NOON + n * STEP));
  expect(after.series.map(({ node, points }) => [node, points])).toEqual([
    [0, [1, 2, 3, 7]],
    [1, [4, 5, 6, 8]],
  ]);
});

test("a node that does not answer keeps what it said", () => {
  const before = joined(undefined, page(0, series([1, 2]), series([4, 5], "records", 1)));
  const after = joined(before, { ...page(1, series([2, 3])), missing: [1] });
  expect(after.missing).toEqual([1]);
  expect(after.series[1]?.points).toEqual([4, 5, null]);
});

test("an hour is all that is kept, and a series without a point in it is gone", () => {
  const before = joined(undefined, page(0, series(Array.from({ length: 720 }, () => 1)), series([9, ...Array.from({ length: 719 }, () => null)], "old")));
  expect(before.times).toHaveLength(720);
  const after = joined(before, page(720, series([2])));
  expect(after.times).toHaveLength(720);
  expect(after.times[0]).toBe(NOON + STEP);
  expect(after.series.map(({ name }) => name)).toEqual(["records"]);
  expect(after.series[0]?.points.at(-1)).toBe(2);
});

test("nothing new is no loss", () => {
  const before = joined(undefined, page(0, series([1])));
  expect(joined(before, page(1))).toEqual({ ...before, missing: [] });
  expect(joined(undefined, page(0)).times).toEqual([]);
});
