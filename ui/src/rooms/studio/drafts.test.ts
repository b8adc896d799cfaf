// A draft is called as its author calls its process.
import { expect, test } from "vitest";
import { blank, nameOf } from "./drafts";

test("the name of the process, its id without one, and nothing without a process", () => {
  expect(nameOf(blank("1"))).toBe("New process");
  expect(nameOf('<process id="a" isExecutable="true">')).toBe("a");
  expect(nameOf('<bpmn:process name="a &amp; b &lt;c&gt;" id="a">')).toBe("a & b <c>");
  expect(nameOf("<nothing/>")).toBe("");
});
