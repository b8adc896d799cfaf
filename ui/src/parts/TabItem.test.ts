// A chosen tab is in view.
import { expect, test } from "vitest";
import { scrolledTo } from "./TabItem";

const bar = { left: 0, right: 360 };

test.each([
  ["in view", 0, { left: 100, right: 180 }, 0],
  ["beyond the right edge", 0, { left: 400, right: 480 }, 152],
  ["half behind the right edge", 20, { left: 320, right: 400 }, 92],
  ["beyond the left edge", 300, { left: -100, right: -20 }, 168],
  ["the first one", 300, { left: -284, right: -200 }, 0],
] as const)("%s", (_, at, tab, expected) => {
  expect(scrolledTo(at, bar, tab)).toBe(expected);
});
