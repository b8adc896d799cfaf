// What a page concludes from pulses: never that nothing has changed when something has.
import { expect, test } from "vitest";
import { kindsOf } from "./kinds";
import { Moves } from "./moves";

const pulse = (incident: string, job: string) => ({ incident, job });

test("an answer is true until a pulse says that something of its kinds has changed", () => {
  const moves = new Moves();
  moves.take(pulse("a", "x"), 100);
  expect(moves.since(["incident"], 101)).toBe(false);
  moves.take(pulse("a", "x"), 200);
  moves.same(300);
  expect(moves.since(["incident", "job"], 101)).toBe(false);
  moves.take(pulse("b", "x"), 400);
  expect(moves.since(["incident"], 101)).toBe(true);
  expect(moves.since(["job"], 101)).toBe(false);
  expect(moves.since(["job", "incident"], 101)).toBe(true);
  expect(moves.since(["incident"], 401)).toBe(false);
});

test("what was asked for before the pulse came may lack what it tells of", () => {
  const moves = new Moves();
  moves.take(pulse("a", "x"), 100);
  expect(moves.since(["incident"], 99)).toBe(true);
  expect(moves.since(["incident"], 100)).toBe(true);
});

test("of a kind that the server does not name nothing is known, nor of any without a pulse", () => {
  const moves = new Moves();
  expect(moves.works).toBe(false);
  expect(moves.since(["incident"], 1_000)).toBe(true);
  moves.take(pulse("a", "x"), 100);
  expect(moves.works).toBe(true);
  expect(moves.since(["incident", "unheard"], 1_000)).toBe(true);
  moves.take({ job: "x" }, 200);
  expect(moves.since(["incident"], 1_000)).toBe(true);
  moves.lose();
  expect(moves.works).toBe(false);
});

test("a server that cannot know gives another version each time, and each time is asked again", () => {
  const moves = new Moves();
  for (let at = 1; at < 5; at++) {
    moves.take(pulse(`unknown-${at}`, "x"), at * 100);
    expect(moves.since(["incident"], at * 100 - 1)).toBe(true);
    expect(moves.since(["job"], at * 100 - 1)).toBe(at === 1);
  }
});

test("each question has its kinds, and those about the last hour have none", () => {
  expect(kindsOf(["incidents", "open", {}, "list", ""])).toContain("incident");
  expect(kindsOf(["instances", "loads", "order"])).toContain("processDefinition");
  expect(kindsOf(["admin", "audit", {}])).toEqual(["auditLog"]);
  expect(kindsOf(["admin", "users", "list"])).toContain("authorization");
  expect(kindsOf(["variables", 2251799813685249n.toString()])).toEqual(["variable"]);
  for (const key of [["topology"], ["monitor", "status"], ["jobs", "types"], ["admin", "usage", "a", "b"], ["cluster", "configuration"], [7]])
    expect(kindsOf(key)).toBeUndefined();
});
