// Timers by when they are due.
import { expect, test } from "vitest";
import { byDue } from "./due";

const timer = (dueDate: number | null) => ({ details: { waitStateType: "TIMER" as const, dueDate, repetitions: 1 } });

test("the soonest stands first, and what has no time last", () => {
  const sorted = byDue([timer(30), timer(null), timer(10), timer(null), timer(20)]);
  expect(sorted.map(({ details }) => details.dueDate)).toEqual([10, 20, 30, null, null]);
});
