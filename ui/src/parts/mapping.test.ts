// What keeps its id and its kind is mapped by itself; a token without a target is a gap.
import { expect, test } from "vitest";
import type { Step } from "./steps";
import { choicesOf, pairsOf, rowsOf, written } from "./mapping";

const step = (id: string, type = "serviceTask", multi = false): Step => ({ id, name: id, type, parent: undefined, multi });
const sources = [step("start", "startEvent"), step("charge"), step("ship"), step("ask", "userTask"), step("each", "serviceTask", true)];
const targets = [step("start", "startEvent"), step("charge"), step("send"), step("ask", "manualTask"), step("each")];
const standing = (id: string) => ({ charge: 2, ship: 1 })[id] ?? 0;
const by = (plan: string[]) => Object.fromEntries(rowsOf(sources, targets, choicesOf(plan), standing).map(({ source, target, how }) => [source.id, [target, how]]));

test("the same id of the same kind is the target", () => {
  expect(by([])).toEqual({
    charge: ["charge", "same"],
    ship: [undefined, "gap"],
    start: ["start", "same"],
    ask: [undefined, "dropped"],
    each: [undefined, "dropped"],
  });
});

test("a choice counts before the id, also that of nothing, and only of the same kind", () => {
  expect(by(["ship>send"])["ship"]).toEqual(["send", "chosen"]);
  expect(by(["charge>"])["charge"]).toEqual([undefined, "gap"]);
  expect(by(["ask>send"])["ask"]).toEqual([undefined, "dropped"]);
});

test("elements with tokens come first, and only what has a target is sent", () => {
  const rows = rowsOf(sources, targets, choicesOf(["ship>send"]), standing);
  expect(rows.map((row) => row.source.id)).toEqual(["charge", "ship", "start", "ask", "each"]);
  expect(pairsOf(rows)).toEqual([
    { sourceElementId: "charge", targetElementId: "charge" },
    { sourceElementId: "ship", targetElementId: "send" },
    { sourceElementId: "start", targetElementId: "start" },
  ]);
  expect(written(choicesOf(["ship>send", "charge>"]))).toEqual(["ship>send", "charge>"]);
});
