// An hour of jobs has all of its slots.
import { expect, test } from "vitest";
import { hourOf } from "./jobs";

const END = Date.UTC(2026, 10, 28, 15, 0);
const count = (n: number) => ({ count: n, lastUpdatedAt: null });

test("slots in which nothing happened are there, and what is older is not", () => {
  const items = [
    { time: "2026-11-28T13:55:00.000Z", created: count(9), completed: count(9), failed: count(9) },
    { time: "2026-11-28T14:00:00.000Z", created: count(3), completed: count(1), failed: count(0) },
    { time: "2026-11-28T14:55:00.000Z", created: count(0), completed: count(2), failed: count(4) },
  ];
  const hour = hourOf(items, END);
  expect(hour.map(({ created, completed, failed }) => [created, completed, failed])).toEqual([[3, 1, 0], ...Array.from({ length: 10 }, () => [0, 0, 0]), [0, 2, 4]]);
  expect(hour.at(-1)?.from).toBe(Date.UTC(2026, 10, 28, 14, 55));
});

test("finer points are added up", () => {
  const items = [51, 53, 54].map((minute) => ({ time: `2026-11-28T14:${minute}:00.000Z`, created: count(1), completed: count(0), failed: count(0) }));
  expect(hourOf(items, END).at(-2)?.created).toBe(3);
});
