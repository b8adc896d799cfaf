// A draft is called as its author calls what is in it, and says itself what it is.
import { expect, test } from "vitest";
import { blank, kindOf, nameOf, processOf } from "./kinds";

test("the name of the process, its id without one, and nothing without a process", () => {
  expect(nameOf(blank("bpmn", "1"))).toBe("New process");
  expect(nameOf('<process id="a" isExecutable="true">')).toBe("a");
  expect(nameOf('<bpmn:process name="a &amp; b &lt;c&gt;" id="a">')).toBe("a & b <c>");
  expect(nameOf("<nothing/>")).toBe("");
  expect(processOf(blank("bpmn", "1"))).toBe("process-1");
});

test("decisions are called as their file, and forms by their id", () => {
  expect(nameOf(blank("dmn", "1"))).toBe("New decision");
  expect(nameOf(blank("form", "1"))).toBe("form-1");
  expect(nameOf("{ broken")).toBe("");
});

test("what is begun is of its kind", () => {
  for (const kind of ["bpmn", "dmn", "form"] as const) expect(kindOf(blank(kind, "1"))).toBe(kind);
  expect(kindOf('<?xml version="1.0"?>\n<dmn:definitions\n xmlns:dmn="https://www.omg.org/spec/DMN/20191111/MODEL/">')).toBe("dmn");
});
