// A file for spreadsheets holds what somebody named, and computes nothing of it.
import { expect, test } from "vitest";
import type { page } from "../../../api/instances";
import { collect } from "./collect";
import { cell } from "./csv";

/** A server with so many instances. */
const serverOf = (there: number) =>
  ((_filter, _sort, after = "0") => {
    const from = Number(after);
    const items = Array.from({ length: Math.min(1_000, there - from) }, (_, at) => ({ processInstanceKey: String(from + at) }));
    return Promise.resolve({ items, page: { totalItems: Math.min(there, 10_000), hasMoreTotalItems: there > 10_000, endCursor: String(from + items.length) } });
  }) as typeof page;

test("quotes stand where they have to, and formulas are texts", () => {
  expect([cell("plain"), cell('a "b", c'), cell("two\nlines"), cell(null), cell(false)]).toEqual(["plain", '"a ""b"", c"', '"two\nlines"', "", "false"]);
  expect([cell("=HYPERLINK(1)"), cell("-1+2"), cell("@x"), cell("2251799813685249")]).toEqual(["'=HYPERLINK(1)", "'-1+2", "'@x", "2251799813685249"]);
});

test("negative numbers stay numbers", () => {
  expect([cell("-5"), cell("-0.10"), cell("-1e-3"), cell("-5-2"), cell("-")]).toEqual(["-5", "-0.10", "-1e-3", "'-5-2", "'-"]);
});

test("a file is called cut only if there is more than it holds", async () => {
  for (const [count, rows, cut] of [
    [0, 0, false],
    [2_500, 2_500, false],
    [10_000, 10_000, false],
    [10_001, 10_000, true],
  ] as const) {
    const found = await collect({}, [], [], serverOf(count));
    expect([found.rows.length, found.cut], String(count)).toEqual([rows, cut]);
    expect(new Set(found.rows.map((row) => row.processInstanceKey)).size).toBe(rows);
  }
});
