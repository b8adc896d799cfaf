// What the cluster's clock shows is compared with that of the machine, whatever the browser's own says.
import { expect, test } from "vitest";
import { clockOf } from "./clock";

const DATE = "Sat, 28 Nov 2026 06:23:10 GMT";

test("a clock that runs is not the same to the millisecond", () => {
  for (const shows of ["2026-11-28T06:23:10.702Z", "2026-11-28T06:23:08.100Z", "2026-11-28T07:23:12.9+01:00"]) expect(clockOf(shows, DATE)).toEqual({ moved: undefined });
});

test("one that was set shows its time, before or after", () => {
  for (const shows of ["2027-01-15T08:00:00Z", "2026-11-28T06:23:01Z"]) expect(clockOf(shows, DATE)).toEqual({ moved: shows });
});

test("without a date to compare with, or a time, nothing is said", () => {
  expect([clockOf("2027-01-15T08:00:00Z", null), clockOf("null", DATE)]).toEqual([{ moved: undefined }, { moved: undefined }]);
});
