// What a completed task sends, and what it must not.
import { describe, expect, it } from "vitest";
import { roundedIn, toSend, tooLong } from "./fill";

const BIG = "12345678901234567890123";
const filled = (before: Record<string, unknown>, now: Record<string, unknown>) => ({ before, now, all: { ...before, ...now }, files: new Map(), valid: true });

describe("completing a task", () => {
  it("sends nothing that was not touched", () => {
    const now = new Map([["amount", BIG], ["name", '"ann"']]);
    expect([...toSend(filled({ amount: Number(BIG), name: "ann" }, { amount: Number(BIG), name: "ann" }), {}, now)]).toEqual([]);
  });
  it("sends what the form has and the process does not", () => {
    expect([...toSend(filled({}, { approved: false }), {}, new Map())]).toEqual([["approved", "false"]]);
  });
  it("leaves to others what they changed meanwhile", () => {
    const now = new Map([["order", `{"id":${BIG},"note":"new","count":1}`]]);
    const sent = toSend(filled({ order: { note: "old", count: 1 } }, { order: { note: "old", count: 2 } }), {}, now);
    expect([...sent]).toEqual([["order", `{"id":${BIG},"note":"new","count":2}`]]);
  });
  it("takes what was written as a variable, as it was written", () => {
    expect([...toSend(filled({}, { amount: 1 }), { amount: ` ${BIG} ` }, new Map())]).toEqual([["amount", BIG]]);
  });
});

describe("a form", () => {
  const schema = JSON.stringify({ components: [{ type: "group", components: [{ type: "number", key: "order.amount" }] }, { type: "filepicker", key: "files" }] });
  it("says which of its numbers it shows rounded", () => {
    expect(roundedIn(schema, new Map([["order", `{"amount":${BIG}}`], ["other", BIG]]))).toEqual(["order"]);
  });
  it("does not take a number that it may have rounded", () => {
    expect(tooLong(schema, filled({}, { order: { amount: Number(BIG) } }))).toEqual(["order.amount"]);
    expect(tooLong(schema, filled({}, { order: { amount: Number("0.1234567890123456789") } }))).toEqual(["order.amount"]);
    expect(tooLong(schema, filled({}, { order: { amount: 1234.56 } }))).toEqual([]);
    expect(tooLong(schema, filled({ order: { amount: Number(BIG) } }, { order: { amount: Number(BIG) } }))).toEqual([]);
  });
});
