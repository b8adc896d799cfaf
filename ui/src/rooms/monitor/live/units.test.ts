// Measured values keep about three digits.
import { expect, test } from "vitest";
import { bytes, count, ms, rate } from "./units";

test("values of all sizes are short", () => {
  expect([0, 0.25, 9.5, 12.34, 1_234, 45_678].map(rate)).toEqual(["0/s", "0.25/s", "9.50/s", "12.3/s", "1,234/s", "45.7K/s"]);
  expect([0, 0.0421, 1.5, 250, 2_500].map(ms)).toEqual(["0 ms", "42.1 µs", "1.50 ms", "250 ms", "2.50 s"]);
  expect([0, 512, 2 ** 20, 70.5 * 2 ** 30].map(bytes)).toEqual(["0 B", "512 B", "1 MiB", "70.5 GiB"]);
  expect([0.4, 12_345].map(count)).toEqual(["0", "12.3K"]);
});
