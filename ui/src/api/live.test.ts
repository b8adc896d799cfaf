// How often is asked again: never more than the server can bear.
import { afterEach, expect, test, vi } from "vitest";
import { type Ask, afterCommand, interval, isDue, isLed, measured, moves, renewed } from "./live";
import { Problem } from "./problem";

afterEach(() => {
  vi.useRealTimers();
  moves.lose();
});

const refuse = () => Promise.reject(new Error("no"));

test("a hidden page asks once a minute, a page that is seen as often as the question says", () => {
  expect(interval(["a"], 5_000, false)).toBe(5_000);
  expect(interval(["a"], 5_000, true)).toBe(60_000);
});

test("a question that fails waits twice as long each time, a minute at most, and begins anew after an answer", async () => {
  const waits: number[] = [];
  for (let n = 0; n < 15; n++) {
    await measured(["b"], refuse).catch(() => undefined);
    if (n % 3 === 2) waits.push(interval(["b"], 5_000, false));
  }
  expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000]);
  await measured(["b"], () => Promise.resolve(1));
  expect(interval(["b"], 5_000, false)).toBe(5_000);
});

/** The question was answered after so many milliseconds. */
const took = async (ms: number) => {
  const clock = vi.spyOn(performance, "now").mockReturnValueOnce(1_000).mockReturnValueOnce(1_000 + ms);
  await measured(["c"], () => Promise.resolve(1));
  clock.mockRestore();
};

test("a slow answer is asked for again after fifty times as long as it took, or after a minute", async () => {
  await took(200);
  expect(interval(["c"], 5_000, false)).toBe(10_000);
  // It waited for its turn behind others, as it may for five seconds.
  await took(5_000);
  expect(interval(["c"], 5_000, false)).toBe(60_000);
  expect(interval(["c"], 90_000, false)).toBe(90_000);
});

const signal = new AbortController().signal;
const query = (queryKey: readonly unknown[], error: Error | null = null) => ({ queryKey, state: { data: 1, error } }) as Parameters<typeof isDue>[0];
const kinds = ["incident"];
const at = (ms: number) => vi.useFakeTimers({ now: ms, toFake: ["Date"] });

test("while the pulse does not move nothing is asked again, and what has moved after five seconds", async () => {
  at(10_000);
  moves.take({ incident: "a" }, 9_000);
  const key = ["incidents", "due"];
  await renewed({ key: key, every: 5_000, data: undefined }, signal, () => Promise.resolve(1));
  expect(isDue(query(key), kinds, 5_000, 100_000, false)).toBe(false);
  moves.take({ incident: "b" }, 12_000);
  expect(isDue(query(key), kinds, 5_000, 14_999, false)).toBe(false);
  expect(isDue(query(key), kinds, 5_000, 15_000, false)).toBe(true);
  expect(isDue(query(key), kinds, 15_000, 15_000, false)).toBe(false);
  expect(isDue(query(key), kinds, 5_000, 69_999, true)).toBe(false);
  expect(isDue(query(key), kinds, 5_000, 70_000, true)).toBe(true);
  expect(isDue(query(key, new Problem(404, "NOT_FOUND", "")), kinds, 5_000, 70_000, false)).toBe(false);
});

test("without a pulse, and after a failure, each question keeps its interval", async () => {
  at(10_000);
  const key = ["incidents", "alone"];
  await renewed({ key: key, every: 5_000, data: undefined }, signal, () => Promise.resolve(1));
  expect(isDue(query(key), kinds, 5_000, 14_999, false)).toBe(false);
  expect(isDue(query(key), kinds, 5_000, 15_000, false)).toBe(true);
  moves.take({ incident: "a" }, 9_000);
  expect(isDue(query(key), kinds, 5_000, 15_000, false)).toBe(false);
  await renewed({ key: key, every: 5_000, data: 1 }, signal, refuse).catch(() => undefined);
  expect(isDue(query(key), kinds, 5_000, 15_000, false)).toBe(true);
});

test("an instance at work, and what the pulse does not speak of, have intervals of their own", () => {
  expect(isLed(["instances", "one", "7"], 2_000)).toBe(false);
  expect(isLed(["instances", "one", "7"], 60_000)).toBe(true);
  expect(isLed(["topology"], 5_000)).toBe(false);
});

const answers = (...ages: (number | undefined)[]) => {
  const asked: (number | undefined)[] = [];
  const ask = (how: Ask) => {
    const age = ages[asked.length];
    asked.push(how.shared);
    if (age !== undefined) how.aged?.(age);
    return Promise.resolve(asked.length);
  };
  return { asked, ask };
};

test("a question that is repeated takes an answer of others, an own one when it is asked first", async () => {
  at(100_000);
  const { asked, ask } = answers();
  await renewed({ key: ["jobs", "new"], every: 5_000, data: undefined }, signal, ask);
  await renewed({ key: ["jobs", "new"], every: 5_000, data: 1 }, signal, ask);
  await renewed({ key: ["jobs", "new"], every: 2_000, data: 1 }, signal, ask);
  expect(asked).toEqual([undefined, 5, 1]);
});

test("an answer that others got before the move is asked for again", async () => {
  at(100_000);
  const key = ["incidents", "aged"];
  moves.take({ incident: "c" }, 98_000);
  await renewed({ key: key, every: 5_000, data: 1 }, signal, answers(3).ask);
  expect(isDue(query(key), kinds, 5_000, 105_000, false)).toBe(true);
  at(106_000);
  await renewed({ key: key, every: 5_000, data: 1 }, signal, answers(undefined).ask);
  expect(isDue(query(key), kinds, 5_000, 111_000, false)).toBe(false);
});

test("a list is as old as the oldest of the pages that it has", async () => {
  at(150_000);
  const key = ["incidents", "pages"];
  moves.take({ incident: "d" }, 148_000);
  await renewed({ key, every: 5_000, data: 1 }, signal, answers(4).ask);
  await renewed({ key, every: 5_000, data: 1, page: "next" }, signal, answers().ask);
  const list = (...pageParams: (string | undefined)[]) => ({ ...query(key), state: { data: { pageParams }, error: null } }) as unknown as Parameters<typeof isDue>[0];
  expect(isDue(list(undefined, "next"), kinds, 5_000, 159_999, false)).toBe(false);
  expect(isDue(list(undefined, "next"), kinds, 5_000, 160_000, false)).toBe(true);
  expect(isDue(list("next"), kinds, 5_000, 160_000, false)).toBe(false);
});

test("an answer that is older than what is shown does not take its place", async () => {
  at(200_000);
  const key = ["jobs", "back"];
  await renewed({ key: key, every: 5_000, data: undefined }, signal, answers().ask);
  at(205_000);
  expect(await renewed({ key: key, every: 5_000, data: 7 }, signal, answers(40).ask)).toBe(7);
  expect(await renewed({ key: key, every: 5_000, data: 7 }, signal, answers(2).ask)).toBe(1);
});

test("after a command answers hold it: they are own ones, and none from before is taken", async () => {
  at(300_000);
  await afterCommand();
  const { asked, ask } = answers(undefined, 4, undefined, 1);
  const key = ["jobs", "own"];
  await renewed({ key: key, every: 5_000, data: 1 }, signal, ask);
  at(304_000);
  expect(await renewed({ key: key, every: 5_000, data: 1 }, signal, ask)).toBe(3);
  at(309_000);
  await renewed({ key: key, every: 5_000, data: 1 }, signal, ask);
  expect(asked).toEqual([undefined, 5, undefined, 5]);
});

const full = () => Promise.reject(new Problem(503, "RESOURCE_EXHAUSTED", "later"));
const gone = () => Promise.reject(new Problem(503, "UNAVAILABLE", "no leader"));

test("where pages have had their part of the server, what is shown stays, and is asked for again", async () => {
  at(400_000);
  const key = ["incidents", "much"];
  moves.take({ incident: "e" }, 399_000);
  expect(await renewed({ key, every: 5_000, data: 7 }, signal, full)).toBe(7);
  expect(isDue(query(key), kinds, 5_000, 404_999, false)).toBe(false);
  expect(isDue(query(key), kinds, 5_000, 405_000, false)).toBe(true);
  await expect(renewed({ key, every: 5_000, data: 7 }, signal, gone)).rejects.toThrow("no leader");
});
