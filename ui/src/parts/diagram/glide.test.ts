// Tokens go along the flows that were taken, one flow after the other, and along no others.
import { expect, test } from "vitest";
import { framesOf, hopOf, wentAlong } from "./glide";
import type { Mark } from "./marks";
import type { Item } from "./viewer";

const box = (id: string): Item => ({ id, type: "bpmn:Task", x: 0, y: 0, width: 1, height: 1, businessObject: { id, $type: "bpmn:Task" } });
const [a, gateway, b, c] = [box("a"), box("gateway"), box("b"), box("c")];
const flow = (source: Item, target: Item): Item => ({ ...box(`${source.id}-${target.id}`), type: "bpmn:SequenceFlow", source, target });
const all = [a, gateway, b, c, flow(a, gateway), flow(gateway, b), flow(gateway, c), { ...flow(a, b), id: "message", type: "bpmn:MessageFlow" }];

const mark = (active: number, completed: number): Mark => ({ active, completed, incidents: 0, canceled: 0 });
const ids = (flows: readonly Item[]) => flows.map(({ id }) => id);

test("a token that went through a gateway took two flows, the second after the first", () => {
  const before = new Map([["a", mark(1, 0)]]);
  const went = wentAlong(all, before, new Map([["a", mark(0, 1)], ["gateway", mark(0, 1)], ["b", mark(1, 0)]]));
  expect(ids(went)).toEqual(["a-gateway", "gateway-b"]);
  expect(went.map((each) => hopOf(each, went))).toEqual([0, 1]);
});

test("what ends, or is taken back, goes nowhere", () => {
  const [early, late] = [new Map([["a", mark(1, 0)]]), new Map([["a", mark(0, 1)], ["gateway", mark(0, 1)], ["b", mark(1, 0)]])];
  expect(wentAlong(all, late, early)).toEqual([]);
  expect(wentAlong(all, late, late)).toEqual([]);
  expect(wentAlong(all, early, new Map([["a", { ...mark(0, 0), canceled: 1 }]]))).toEqual([]);
});

test("flows that lead back do not go on for ever", () => {
  const round = [flow(a, b), flow(b, a)];
  expect(Math.max(...round.map((each) => hopOf(each, round)))).toBe(2);
});

test("the speed is the same on long and short parts of a flow", () => {
  expect(framesOf([{ x: 0, y: 0 }, { x: 30, y: 0 }, { x: 30, y: 10 }]).map(({ offset, transform }) => [offset, transform])).toEqual([
    [0, "translate(0px, 0px)"], [0.75, "translate(30px, 0px)"], [1, "translate(30px, 10px)"],
  ]);
});
