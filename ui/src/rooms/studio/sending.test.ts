// Models go to the server while they are drawn, and nothing of them is lost on the way.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Kept } from "../../api/kept";
import { Problem } from "../../api/problem";
import { Sending, type Sent } from "./sending";
import { unsent } from "./unsent";

const places = new Map<string, string>();

beforeEach(() => {
  vi.useFakeTimers();
  places.clear();
  vi.stubGlobal("localStorage", {
    getItem: (place: string) => places.get(place) ?? null,
    setItem: (place: string, value: string) => void places.set(place, value),
    removeItem: (place: string) => void places.delete(place),
  });
});

afterEach(() => void vi.useRealTimers());

const model = (name: string): string => `<definitions><process id="p" name="${name}"/></definitions>`;

/** A server whose answers are given one by one. */
function sending(revision: string | null, answers: (string | Problem)[], there?: Pick<Kept, "revision" | "shared" | "body">) {
  const puts: [unknown, string | null][] = [];
  const shared: boolean[] = [];
  const told: Sent["kind"][] = [];
  const put = async (_: string, __: string, content: unknown, replaces: string | null) => {
    puts.push([(content as { body: { xml: string } }).body.xml, replaces]);
    shared.push((content as { shared: boolean }).shared);
    const answer = answers.shift() ?? "end";
    if (answer instanceof Problem) throw answer;
    return answer;
  };
  const get = async () => {
    if (there === undefined) throw new Problem(404, "NOT_FOUND", "");
    return there as Kept;
  };
  return { puts, shared, told, model: new Sending({ get, put }, "m", { revision, shared: false, base: model("base") }, (sent) => told.push(sent.kind)) };
}

describe("a model that is drawn", () => {
  it("is sent once somebody pauses, with the revision before it", async () => {
    const { puts, told, model: sent } = sending(null, ["1", "2"]);
    sent.change(model("a"));
    sent.change(model("b"));
    expect(unsent("m")).toMatchObject({ xml: model("b"), revision: null });
    await vi.advanceTimersByTimeAsync(1_000);
    sent.change(model("c"));
    expect(unsent("m")).toMatchObject({ revision: "1" });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(puts).toEqual([[model("b"), null], [model("c"), "1"]]);
    expect(told.at(-1)).toBe("sent");
    expect(unsent("m")).toBeUndefined();
  });

  it("stays in the browser while the server is away, and is sent again", async () => {
    const { puts, told, model: sent } = sending("1", [new Problem(503, "UNAVAILABLE", ""), "2"]);
    sent.change(model("a"));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(told.at(-1)).toBe("failed");
    expect(unsent("m")).toMatchObject({ xml: model("a"), revision: "1" });
    await vi.advanceTimersByTimeAsync(6_000);
    expect(puts.length).toBe(2);
    expect(unsent("m")).toBeUndefined();
  });

  it("is not sent over what was changed or deleted elsewhere, and is not lost", async () => {
    for (const problem of [new Problem(412, "PRECONDITION_FAILED", ""), new Problem(404, "NOT_FOUND", "")]) {
      const { puts, told, model: sent } = sending("1", [problem]);
      sent.change(model("a"));
      await vi.advanceTimersByTimeAsync(1_000);
      expect(told.at(-1)).toBe("conflict");
      sent.change(model("b"));
      sent.end();
      await vi.advanceTimersByTimeAsync(10_000);
      expect(puts.length).toBe(1);
      expect(unsent("m")).toMatchObject({ xml: model("b"), revision: "1" });
    }
  });

  it("goes on where it was only shared elsewhere", async () => {
    const { puts, shared, told, model: sent } = sending("1", [new Problem(412, "PRECONDITION_FAILED", ""), "3"], { revision: "2", shared: true, body: { xml: model("base") } });
    sent.change(model("a"));
    await vi.advanceTimersByTimeAsync(3_000);
    expect(puts).toEqual([[model("a"), "1"], [model("a"), "2"]]);
    expect(shared).toEqual([false, true]);
    expect(told.at(-1)).toBe("sent");
    expect(unsent("m")).toBeUndefined();
  });

  it("is not sent over another drawing that was shared as well", async () => {
    const { puts, told, model: sent } = sending("1", [new Problem(412, "PRECONDITION_FAILED", "")], { revision: "2", shared: true, body: { xml: model("theirs") } });
    sent.change(model("a"));
    await vi.advanceTimersByTimeAsync(3_000);
    expect(puts).toHaveLength(1);
    expect(told.at(-1)).toBe("conflict");
  });

  it("is sent when its page goes", async () => {
    const { puts, model: sent } = sending("1", ["2"]);
    sent.change(model("a"));
    sent.end();
    await vi.advanceTimersByTimeAsync(0);
    expect(puts).toEqual([[model("a"), "1"]]);
    expect(unsent("m")).toBeUndefined();
  });
});
