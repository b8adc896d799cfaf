// Which rows of a long history are drawn.

import { expect, test } from "vitest";
import type { ElementInstance } from "../../../api/instances";
import { type InstanceKey, asKey } from "../../../api/keys";
import { Problem } from "../../../api/problem";
import { type Answer, MOST, type Question, beginningOf, isStill, leadsTo, questionOf, rowsOf, writtenBeginning } from "./rows";

const instance = { processInstanceKey: asKey<InstanceKey>("1") };
const element = (key: string, type = "SERVICE_TASK", endDate: string | null = "2026-11-29T10:00:00Z") =>
  ({ elementInstanceKey: key, elementId: `e${key}`, type, endDate, hasIncident: false, state: "COMPLETED" }) as unknown as ElementInstance;
const page = (items: ElementInstance[], total = items.length, endCursor: string | null = null): Answer => ({ data: { items, page: { totalItems: total, hasMoreTotalItems: false, endCursor } } });
const many = (from: number, count: number) => Array.from({ length: count }, (_, n) => element(String(from + n)));
const known = (answers: Record<string, Answer>) => ({ id }: Question): Answer => answers[id] ?? {};
const none = new Map<string, boolean>();

test("before anything is known the row of the instance stands above one that asks", () => {
  expect(rowsOf({ instance, opened: none, answer: () => ({}) }).map(({ kind }) => kind)).toEqual(["whole", "next"]);
});

test("what is within an open scope follows it, a level deeper, and a closed one hides it", () => {
  const answer = known({ "1 ": page([element("2", "SUB_PROCESS"), element("4")]), "2 ": page([element("3")]) });
  const shown = (opened: ReadonlyMap<string, boolean>) => rowsOf({ instance, opened, answer }).map(({ id, level }) => [id, level]);
  expect(shown(none)).toEqual([["1", 1], ["2", 2], ["3", 3], ["4", 2]]);
  expect(shown(new Map([["2", false]]))).toEqual([["1", 1], ["2", 2], ["4", 2]]);
});

test("behind a full page stands a row that asks for the next one by its cursor, and counts go on", () => {
  const first = { "1 ": page(many(100, 100), 150, "c1") };
  expect(rowsOf({ instance, opened: none, answer: known(first) }).at(-1)).toMatchObject({ kind: "next", question: { after: "c1", before: "1 " } });
  const rows = rowsOf({ instance, opened: none, answer: known({ ...first, "1 c1": page(many(200, 50), 150) }) });
  expect(rows).toHaveLength(151);
  expect(rows.at(-1)).toMatchObject({ at: 150, of: 150 });
});

test("a scope ends at ten thousand rows, and says so", () => {
  const answers: Record<string, Answer> = { "1 ": page(many(0, 100), MOST, "c0") };
  for (let n = 0; n < 20; n++) answers[`1 c${n}`] = page(many(1_000 + 500 * n, 500), MOST, `c${n + 1}`);
  const rows = rowsOf({ instance, opened: none, answer: known(answers) });
  expect(rows.at(-1)?.kind).toBe("cut");
  expect(rows.length).toBe(1 + 100 + 20 * 500 + 1);
  expect(rows.at(-1)).toMatchObject({ beginning: { scope: "1", before: 10_100, after: "c20" } });
});

test("from where it ended it goes on, with the numbers that the elements have, and a way back", () => {
  const beginning = beginningOf("1.10100.c.20");
  const rows = rowsOf({ instance, opened: none, beginning, answer: known({ "1 c.20": page(many(500, 5), 10_105) }) });
  expect(rows.map(({ kind }) => kind)).toEqual(["whole", "from", ...Array.from({ length: 5 }, () => "element")]);
  expect(rows[1]).toMatchObject({ first: 10_101, beginning: undefined });
  expect(rows[2]).toMatchObject({ at: 10_101, of: 10_105 });
  expect(beginning && writtenBeginning(beginning)).toBe("1.10100.c.20");
});

test("only the scope of which the address speaks begins further on, and what cannot be read is the beginning of all", () => {
  const answer = known({ "1 ": page([element("2", "SUB_PROCESS")]), "2 c9": page([element("3")]) });
  expect(rowsOf({ instance, opened: none, answer, beginning: beginningOf("2.100.c9") }).map(({ id }) => id)).toEqual(["1", "2", "2 from", "3"]);
  for (const written of [undefined, "", "1", "1.2", "x.2.c", "1.x.c"]) expect(beginningOf(written), written).toBeUndefined();
});

test("a page that was refused says why in its place, and what is above it stays", () => {
  const error = new Problem(503, "UNAVAILABLE", "no leader");
  const rows = rowsOf({ instance, opened: none, answer: known({ "1 ": page(many(100, 100), 300, "c1"), "1 c1": { error } }) });
  expect(rows.at(-1)).toMatchObject({ kind: "failed", problem: error });
  expect(rows).toHaveLength(102);
});

test("a history that was deleted is called that", () => {
  expect(rowsOf({ instance, opened: none, answer: known({ "1 ": page([]) }) }).map(({ kind }) => kind)).toEqual(["whole", "gone"]);
});

test("a full page whose elements have all ended is still; one that may grow, or at work, is not", () => {
  const at = questionOf(instance.processInstanceKey);
  expect(isStill(at, page(many(0, 100)))).toBe(true);
  expect(isStill(at, page(many(0, 99)))).toBe(false);
  expect(isStill(at, page([...many(0, 99), element("7", "SERVICE_TASK", null)]))).toBe(false);
});

test("keys go from item to item, over rows that are none, into what is open and out to what holds it", () => {
  const rows = rowsOf({ instance, opened: none, answer: known({ "1 ": page([element("2", "SUB_PROCESS"), element("4")]) }) });
  expect(rows.map(({ kind }) => kind)).toEqual(["whole", "element", "next", "element"]);
  expect(leadsTo(rows, 1, "ArrowDown")).toBe(3);
  expect(leadsTo(rows, 3, "ArrowUp")).toBe(1);
  expect(leadsTo(rows, 3, "ArrowDown")).toBe(3);
  expect(leadsTo(rows, 3, "ArrowLeft")).toBe(0);
  expect(leadsTo(rows, 1, "ArrowRight")).toBe(3);
  expect(leadsTo(rows, 0, "End")).toBe(3);
  expect(leadsTo(rows, 3, "Home")).toBe(0);
  expect(leadsTo(rows, 3, "x")).toBeUndefined();
});
