// Scales end at round numbers that hold all bars.
import { expect, test } from "vitest";
import { top } from "./scale";

test("a scale ends at the next number of one digit of its size", () => {
  expect([0, 1, 2, 3, 7, 10, 11, 49, 51, 100, 1_234, 999_999].map(top)).toEqual([1, 1, 2, 3, 8, 10, 20, 50, 60, 100, 2_000, 1_000_000]);
});
