// Each code that the server answers has its page.

import { expect, test } from "vitest";
import { explained, pageNamed } from "../../parts/Explained";
import { pageOf } from "./pages";

test("every code that a link leads to has a page with what it means and what to do", () => {
  for (const code of explained) {
    expect(pageOf(code), code).toContain(`# ${code}\n`);
    expect(pageOf(code), code).toContain("## What to do");
  }
});

test("every answer and type of incident in the list of codes is linked", () => {
  const [, answers = "", incidents = ""] = /## What a server answers([\s\S]*?)## Types of incidents([\s\S]*?)\n## /.exec(pageOf("README") ?? "") ?? [];
  const listed = [...`${answers}${incidents}`.matchAll(/^- \[(\w+)\]/gm)].map(([, code]) => code ?? "");
  expect(listed.length).toBeGreaterThan(20);
  expect(listed.filter((code) => !explained.has(code))).toEqual([]);
});

test("names that REST has of its own lead to the page of the code, and what is no code to none", () => {
  expect(pageNamed("INVALID_STATE")).toBe("FAILED_PRECONDITION");
  expect(pageNamed("NOT_FOUND")).toBe("NOT_FOUND");
  expect(pageNamed("Bad Gateway")).toBeUndefined();
});
