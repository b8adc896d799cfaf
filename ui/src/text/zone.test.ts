// What somebody types as a time is meant in the zone that is shown.
import { expect, test } from "vitest";
import { exactIn } from "./format";
import { fromWall } from "./zone";

test("a time is read in the zone that was chosen, in summer and in winter", () => {
  expect(fromWall("2026-07-01T12:00", "UTC")).toBe("2026-07-01T12:00:00.000Z");
  expect(fromWall("2026-07-01T12:00", "Europe/Berlin")).toBe("2026-07-01T10:00:00.000Z");
  expect(fromWall("2026-12-01T12:00", "Europe/Berlin")).toBe("2026-12-01T11:00:00.000Z");
  expect(fromWall("2026-01-01T03:30", "Asia/Kolkata")).toBe("2025-12-31T22:00:00.000Z");
  expect(fromWall("nonsense", "UTC")).toBeUndefined();
});

test("around the hour that is left out, and the one that comes twice, it stays within that hour", () => {
  expect(fromWall("2026-03-29T03:30", "Europe/Berlin")).toBe("2026-03-29T01:30:00.000Z");
  expect(fromWall("2026-03-29T01:30", "Europe/Berlin")).toBe("2026-03-29T00:30:00.000Z");
  expect(["2026-10-25T00:30:00.000Z", "2026-10-25T01:30:00.000Z"]).toContain(fromWall("2026-10-25T02:30", "Europe/Berlin"));
});

test("a moment is written in the zone, and names it", () => {
  expect(exactIn("2026-07-01T10:00:05Z", "Europe/Berlin")).toBe("Jul 1, 2026, 12:00:05 GMT+2");
  expect(exactIn("2026-07-01T10:00:05Z", "UTC")).toBe("Jul 1, 2026, 10:00:05 UTC");
});
