// How often is asked again: never more than the server can bear.
import { expect, test, vi } from "vitest";
import { interval, measured } from "./live";

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

test("a slow answer is asked for again after fifty times as long as it took", async () => {
  const clock = vi.spyOn(performance, "now").mockReturnValueOnce(1_000).mockReturnValueOnce(1_200);
  await measured(["c"], () => Promise.resolve(1));
  clock.mockRestore();
  expect(interval(["c"], 5_000, false)).toBe(10_000);
});
