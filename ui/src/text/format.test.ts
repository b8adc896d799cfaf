// Times in the zone that somebody chose, which may have another year than the zone of the browser.
import { expect, test } from "vitest";
import { momentIn } from "./format";

test("the year is said where it is another one in the zone that times are shown in", () => {
  const now = Date.parse("2026-06-01T00:00:00Z");
  const shown = (iso: string, zone: string) => momentIn(iso, now, zone);
  expect(shown("2025-12-31T11:00:00Z", "Pacific/Kiritimati")).toBe("Jan 1, 01:00:00");
  expect(shown("2025-12-31T09:00:00Z", "Pacific/Kiritimati")).toBe("Dec 31, 2025");
  expect(shown("2026-01-01T04:00:00Z", "America/New_York")).toBe("Dec 31, 2025");
  expect(shown("2026-05-31T23:00:00Z", "Pacific/Kiritimati")).toBe("13:00:00");
});
