// One clock for all relative times, so that they change together and not each by itself.
import { useSyncExternalStore } from "react";

const STEP = 1_000;
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function listen(listener: () => void) {
  listeners.add(listener);
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

/** The time, which goes on by whole steps: a component that shows minutes is not drawn each second. */
export function useNow(step = 5_000): number {
  return useSyncExternalStore(listen, () => now - (now % step));
}
