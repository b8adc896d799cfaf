// What nodes measure, joined: sums, means that count by requests, and what is furthest behind.
import { expect, test } from "vitest";
import type { Measured, Series } from "../../../api/measured";
import { byPartition, lags, largest, means, newest, stacked, stage, summed, total } from "./lines";

const series = (name: string, node: number, partition: number | null, points: (number | null)[]): Series => ({ name, node, partition, unit: "1/s", points });
const measured = (...all: Series[]): Measured => ({ times: [0, 5_000, 10_000], stepMs: 5_000, missing: [], series: all });
const line = (id: string, ...points: (number | null)[]) => ({ id, name: id, tone: "", points });

test("a partition that is led elsewhere meanwhile is one line, and what nobody measured is no zero", () => {
  const both = measured(series("records", 0, 1, [4, null, null]), series("records", 1, 1, [null, null, 6]), series("records", 1, 2, [1, 2, 3]));
  expect(byPartition(both, "records", (id) => `p ${id}`).map(({ name, points }) => [name, points])).toEqual([
    ["p 1", [4, null, 6]],
    ["p 2", [1, 2, 3]],
  ]);
  expect(summed(both, "records")).toEqual([5, 2, 9]);
  expect(summed(both, "nothing")).toEqual([null, null, null]);
});

test("a node counts by its requests", () => {
  const both = measured(series("stage.fsync", 0, null, [1, 1, null]), series("requests", 0, null, [30, 0, 0]), series("stage.fsync", 1, null, [5, 3, null]), series("requests", 1, null, [10, 0, 0]));
  expect(stage(both, "fsync")).toEqual([2, 2, null]);
});

test("an exporter is as far behind as where it is furthest", () => {
  const all = measured(series("export.lag.search", 0, 1, [3, 0, 0]), series("export.lag.search", 0, 2, [1, 9, null]), series("export.lag.b", 1, 1, [0, 0, 0]));
  expect(lags(all, (id) => id).map(({ name, points }) => [name, points])).toEqual([
    ["b", [0, 0, 0]],
    ["search", [3, 9, 0]],
  ]);
});

test("layers lie one upon the other, without those that are hidden", () => {
  const lines = [line("a", 1, null, 3), line("b", 2, null, null)];
  expect(stacked(lines, new Set())).toEqual([[1, null, 3], [3, null, 3]]);
  expect(stacked(lines, new Set(["a"]))).toEqual([[0, null, 0], [2, null, 0]]);
});

test("figures of a line: the newest, all together, the largest, and means", () => {
  const { points } = line("a", 2, null, 4);
  expect([newest(points), newest([1, null, null, null, null]), total(points, 5_000), largest(points)]).toEqual([4, undefined, 30, 4]);
  expect(means([0, 5, 10], [line("a", 2, null, 4)], 2)).toEqual([{ at: 0, values: [2] }, { at: 10, values: [4] }]);
});
