// Warmth tells what was reached often from what was not.
import { expect, test } from "vitest";
import { warmth } from "./heat";

test("the most is the warmest, what was reached once is seen, and alike is alike", () => {
  expect([warmth(10_000, 10_000), warmth(1, 10_000), warmth(0.5, 10_000), warmth(1, 1)]).toEqual([5, 1, 1, 5]);
  expect(warmth(100, 10_000)).toBeLessThan(warmth(1000, 10_000));
});
