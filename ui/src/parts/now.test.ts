// The clock of relative times.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { current, listen } from "./now";

beforeEach(() => vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => vi.useRealTimers());

test("it is right when somebody looks who was not there before", () => {
  expect(current(5_000)).toBe(1_000_000);
  vi.setSystemTime(1_123_456);
  expect(current(5_000)).toBe(1_120_000);
});

test("it advances by whole steps while somebody listens, and is right again after nobody did", () => {
  const told = vi.fn();
  const leave = listen(told);
  expect(current(1_000)).toBe(1_000_000);
  vi.advanceTimersByTime(2_500);
  expect(told).toHaveBeenCalledTimes(2);
  expect(current(1_000)).toBe(1_002_000);
  leave();
  vi.setSystemTime(1_060_000);
  expect(current(5_000)).toBe(1_060_000);
});
