// What a form writes back: its changes, and every other digit as it was.
import { describe, expect, it } from "vitest";
import { changed, holdsLongNumber, memberOf, rounds } from "./lossless";

const BIG = "12345678901234567890123";

describe("a variable that a form was given", () => {
  it("is not sent when nothing was touched", () => {
    expect(changed(BIG, Number(BIG), Number(BIG))).toBeUndefined();
    expect(changed('{"a": 1.0, "b": [0.10]}', { a: 1 }, { a: 1 })).toBeUndefined();
  });
  it("keeps the digits of what stands beside a change", () => {
    const original = `{"id": ${BIG}, "name": "ann", "prices": [0.10, 1e2]}`;
    expect(changed(original, { name: "ann" }, { name: "ben" })).toBe(`{"id":${BIG},"name":"ben","prices":[0.10,1e2]}`);
  });
  it("keeps what a form rounded and a person did not touch", () => {
    const original = `{"id": ${BIG}, "name": "ann"}`;
    expect(changed(original, { id: Number(BIG), name: "ann" }, { id: Number(BIG), name: "ben" })).toBe(`{"id":${BIG},"name":"ben"}`);
  });
  it("gets members that it did not have, as the form shows them", () => {
    expect(changed('{"a":1}', { a: 1, b: false }, { a: 1, b: false })).toBe('{"a":1,"b":false}');
  });
  it("is sent as it is when there was none", () => {
    expect(changed(undefined, false, false)).toBe("false");
    expect(changed(undefined, undefined, undefined)).toBeUndefined();
  });
  it("changes its kind when the form says so", () => {
    expect(changed("1", 1, null)).toBe("null");
    expect(changed('{"a":1}', { a: 1 }, "x")).toBe('"x"');
    expect(changed("null", null, { a: 1 })).toBe('{"a":1}');
  });
});

describe("rows of a list", () => {
  const original = `[{"id":${BIG},"n":1},{"id":2.0,"n":2}]`;
  it("keep their hidden members when one of them is changed, or one is added", () => {
    expect(changed(original, [{ n: 1 }, { n: 2 }], [{ n: 1 }, { n: 5 }])).toBe(`[{"id":${BIG},"n":1},{"id":2.0,"n":5}]`);
    expect(changed(original, [{ n: 1 }, { n: 2 }], [{ n: 1 }, { n: 2 }, { n: 3 }])).toBe(`[{"id":${BIG},"n":1},{"id":2.0,"n":2},{"n":3}]`);
  });
  it("keep their own when another one is taken away", () => {
    expect(changed(original, [{ n: 1 }, { n: 2 }], [{ n: 2 }])).toBe('[{"id":2.0,"n":2}]');
    expect(changed(original, [{ n: 1 }, { n: 2 }], [])).toBe("[]");
  });
  it("are told apart by members that the form does not show", () => {
    const twins = `[{"id":${BIG},"n":1},{"id":2.0,"n":1}]`;
    const before = [{ id: Number(BIG), n: 1 }, { id: 2, n: 1 }];
    expect(changed(twins, before, [{ n: 1 }], [{ id: 2, n: 1 }])).toBe('[{"id":2.0,"n":1}]');
    expect(changed(twins, before, [{ n: 1 }, { n: 1 }], before)).toBeUndefined();
  });
});

describe("a number", () => {
  it("rounds where JavaScript reads another one", () => {
    for (const text of [BIG, "9007199254740993", "0.1000000000000000055511151231257827", "1e400"]) expect(rounds(text), text).toBe(true);
    for (const text of ["0", "-0", "0.10", "1e2", "1E+2", "9007199254740992", "-12.50", "1e21", "100000000000000000000"]) expect(rounds(text), text).toBe(false);
  });
  it("is found within text, but not within its strings", () => {
    expect(holdsLongNumber(`{"a":[${BIG}]}`)).toBe(true);
    expect(holdsLongNumber(`{"a":"${BIG}"}`)).toBe(false);
  });
});

describe("a member", () => {
  const text = `{"order": {"id": ${BIG}, "lines": [1.0, 2]}, "__proto__": {"a": 1}, "none": null}`;
  it("is the text that stands at its path", () => {
    expect(memberOf(text, ["order", "id"])).toBe(BIG);
    expect(memberOf(text, ["order", "lines"])).toBe("[1.0,2]");
    expect(memberOf(text, ["__proto__", "a"])).toBe("1");
    expect(memberOf("0.10", [])).toBe("0.10");
  });
  it("is not there where something else is", () => {
    for (const path of [["id"], ["order", "id", "more"], ["none", "id"], ["order", "lines", "0"], ["constructor"]]) expect(memberOf(text, path), path.join(".")).toBeUndefined();
  });
});
