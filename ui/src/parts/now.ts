// One clock for all relative times, so that they change together and not each by itself.
import { useSyncExternalStore } from "react";

const STEP = 1_000;
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

export function listen(listener: () => void) {
  listeners.add(listener);
  if (timer === undefined) now = Date.now();
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, STEP);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The time in whole steps. While nobody listens, nobody moves the clock: it would show when the last one left. */
export function current(step: number): number {
  if (timer === undefined) now = Date.now();
  return now - (now % step);
}

/** The time, which advances by whole steps: a component that shows minutes is not drawn each second. */
export function useNow(step = 5_000): number {
  return useSyncExternalStore(listen, () => current(step));
}
