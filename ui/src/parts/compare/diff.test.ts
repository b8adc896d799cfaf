// What a draft changes is told by element, and what only looks different is not.
import { expect, test } from "vitest";
import { changesBetween } from "./diff";
import type { Tree } from "./tree";

const el = (name: string, attributes: Record<string, string> = {}, children: Tree[] = [], text = ""): Tree => ({ name, attributes: new Map(Object.entries(attributes)), children, text });
const task = (type: string, more: Tree[] = []) => el("serviceTask", { id: "t", name: "Charge" }, [el("extensionElements", {}, [el("taskDefinition", { type })]), el("incoming", {}, [], "f"), ...more]);
const model = (...within: Tree[]) => el("definitions", { id: "d" }, [el("process", { id: "p", name: "P" }, within), el("BPMNDiagram", { id: "x" }, [el("BPMNShape", { id: "s" })])]);
const kinds = (before: Tree, after: Tree) => changesBetween(before, after).map(({ kind, id, parts }) => [kind, id].concat(parts));

test("nothing is different between a model and the same one drawn elsewhere", () => {
  const other = el("definitions", { id: "other" }, [...model(task("a")).children.slice(0, 1), el("BPMNDiagram", { id: "y" })]);
  expect(kinds(model(task("a")), other)).toEqual([]);
});

test("what is added, changed and removed is told, with what of it changed", () => {
  const before = model(task("a"), el("endEvent", { id: "e", name: "End" }), el("sequenceFlow", { id: "f", sourceRef: "t", targetRef: "e" }));
  const after = model(task("b"), el("endEvent", { id: "n" }), el("sequenceFlow", { id: "f", sourceRef: "t", targetRef: "n" }, [el("conditionExpression", {}, [], "=x")]));
  expect(kinds(before, after)).toEqual([
    ["changed", "t", "taskDefinition"],
    ["added", "n"],
    ["changed", "f", "conditionExpression", "targetRef"],
    ["removed", "e"],
  ]);
});

test("what is within a sub-process is not a change of the sub-process", () => {
  const sub = (...within: Tree[]) => model(el("subProcess", { id: "sub" }, within));
  expect(kinds(sub(task("a")), sub(task("a"), el("endEvent", { id: "e" })))).toEqual([["added", "e"]]);
});

test("another type of the same id is a change, and so is another timer in an event; ids of parts are not", () => {
  expect(kinds(model(el("task", { id: "t" })), model(el("userTask", { id: "t" })))).toEqual([["changed", "t", "type"]]);
  const event = (id: string, time: string) => model(el("startEvent", { id: "e" }, [el("timerEventDefinition", { id }, [el("timeDuration", {}, [], time)])]));
  expect(kinds(event("a", "PT1H"), event("b", "PT1H"))).toEqual([]);
  expect(kinds(event("a", "PT1H"), event("a", "PT2H"))).toEqual([["changed", "e", "timerEventDefinition"]]);
});
