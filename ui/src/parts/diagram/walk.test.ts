// Arrows walk a diagram.
import { expect, test } from "vitest";
import type { Item, Registry } from "./viewer";
import { step } from "./walk";

const box = (id: string, x: number, y: number): Item => ({ id, type: "bpmn:Task", x, y, width: 100, height: 80, businessObject: { id, $type: "bpmn:Task" } });

function flow(id: string, source: Item, target: Item): Item {
  const made = { ...box(id, 0, 0), waypoints: [], source, target };
  (source.outgoing ??= []).push(made);
  (target.incoming ??= []).push(made);
  return made;
}

function model(): Registry {
  const [a, b, c] = [box("a", 0, 0), box("b", 200, 0), box("c", 200, 200)];
  const all = [a, b, c, flow("ab", a, b), flow("ac", a, c), { ...box("label", 0, 90), type: "label" }];
  return { get: (id) => all.find((item) => item.id === id), getAll: () => all, getGraphics: () => undefined };
}

test("the first arrow selects where the process begins", () => {
  expect(step(model(), undefined, "ArrowRight")).toBe("a");
});

test("right and left follow the flows", () => {
  expect(step(model(), "a", "ArrowRight")).toBe("b");
  expect(step(model(), "c", "ArrowLeft")).toBe("a");
});

test("down and up go to what is nearest, and labels are no steps", () => {
  expect(step(model(), "b", "ArrowDown")).toBe("c");
  expect(step(model(), "c", "ArrowUp")).toBe("b");
});

test("where nothing is, one stays", () => {
  expect(step(model(), "b", "ArrowUp")).toBe("b");
});
