// A drawing is seen as a whole, and nothing that lies upon its place covers it.
import { expect, test } from "vitest";
import { scaleOf } from "./viewer";

test("what has room is not larger than is pleasant", () => {
  expect(scaleOf({ width: 300, height: 100 }, { width: 1200, height: 280 })).toBe(1.15);
});

test("what reaches the corners at the right lies between the buttons and the logo", () => {
  const scale = scaleOf({ width: 560, height: 240 }, { width: 640, height: 280 });
  expect(240 * scale).toBeCloseTo(280 - 96);
});

test("what stays clear of them may be as high as its place", () => {
  expect(scaleOf({ width: 560, height: 240 }, { width: 1200, height: 280 })).toBeCloseTo(280 / 304);
});

test("in a flat place it is seen before it is clear", () => {
  expect(scaleOf({ width: 560, height: 240 }, { width: 240, height: 100 })).toBeCloseTo((0.75 * 100) / 304);
});
