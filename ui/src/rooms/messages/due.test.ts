// Timers by when they are due.
import { expect, test } from "vitest";
import { byDue } from "./due";

const timer = (dueDate: number | null) => ({ details: { waitStateType: "TIMER" as const, dueDate, repetitions: 1 } });

test("the soonest stands first, and what has no time last; or the other way round", () => {
  const all = [timer(30), timer(null), timer(10), timer(null), timer(20)];
  const sorted = (order: "ASC" | "DESC") => byDue(all, order).map(({ details }) => details.dueDate);
  expect(sorted("ASC")).toEqual([10, 20, 30, null, null]);
  expect(sorted("DESC")).toEqual([null, null, 30, 20, 10]);
});
