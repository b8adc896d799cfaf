// A file for spreadsheets holds what somebody named, and computes nothing of it.
import { expect, test } from "vitest";
import { cell } from "./csv";

test("quotes stand where they have to, and formulas are texts", () => {
  expect([cell("plain"), cell('a "b", c'), cell("two\nlines"), cell(null), cell(false)]).toEqual(["plain", '"a ""b"", c"', '"two\nlines"', "", "false"]);
  expect([cell("=HYPERLINK(1)"), cell("-1+2"), cell("@x"), cell("2251799813685249")]).toEqual(["'=HYPERLINK(1)", "'-1+2", "'@x", "2251799813685249"]);
});
