// Answers stay true by being asked for again: how often, and when not.
//
// There are no streams: over plain HTTP a browser has six connections per host, and the seventh tab with one would hang. A
// question is repeated every five seconds, or fifty times as long as its last answer took, whichever is more, so that the server
// spends at most a fiftieth of its time on one page. Hidden pages ask once a minute. A question that failed waits twice as long
// each time, up to a minute.
import { QueryClient, type QueryKey, type UseQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { Problem } from "./problem";

const HIDDEN = 60_000;
const SHARE = 50;
/** How often a question is tried at once before it has failed. */
const TRIES = 3;
/** After a command of one's own, answers must hold it. */
const OWN = 3_000;

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1_000,
      gcTime: 120_000,
      refetchIntervalInBackground: true,
      retry: (count, error) => error instanceof Problem && error.isPassing && count < TRIES - 1,
      retryDelay: (count) => 500 * 2 ** count,
    },
  },
});

let paused = false;
let ownUntil = 0;
const listeners = new Set<() => void>();

/** Whether questions are repeated; a person may stop that, to read in peace. */
export const repeating = {
  paused: () => paused,
  toggle() {
    paused = !paused;
    for (const listener of listeners) listener();
    if (!paused) void queries.invalidateQueries();
  },
  listen(listener: () => void) {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
};

export const usePaused = (): boolean => useSyncExternalStore(repeating.listen, repeating.paused);

/** After a command: what is on the screen is asked for at once, and must hold what was done. */
export async function afterCommand(): Promise<void> {
  ownUntil = Date.now() + OWN;
  await queries.invalidateQueries();
}

/** A command, and behind it all that is on the screen once more, whatever became of it. */
export async function done<T>(command: Promise<T>): Promise<T> {
  try {
    return await command;
  } finally {
    await afterCommand();
  }
}

const took = new Map<string, number>();
/** How many tries in a row failed. */
const fails = new Map<string, number>();
const name = (key: QueryKey): string => JSON.stringify(key);

/** Milliseconds until the question is asked again. */
export function interval(key: QueryKey, every: number, hidden: boolean): number {
  const failed = fails.get(name(key)) ?? 0;
  const patient = failed === 0 ? every : Math.min(HIDDEN, every * 2 ** Math.floor((failed - 1) / TRIES));
  return Math.max(hidden ? HIDDEN : patient, SHARE * (took.get(name(key)) ?? 0));
}

/** Whether answers must hold a command of one's own. */
export const isOwn = (): boolean => Date.now() < ownUntil;

/** Asks, and remembers how long it took, and whether it failed. */
export async function measured<T>(key: QueryKey, ask: () => Promise<T>): Promise<T> {
  const started = performance.now();
  try {
    const answer = await ask();
    fails.delete(name(key));
    return answer;
  } catch (error) {
    fails.set(name(key), (fails.get(name(key)) ?? 0) + 1);
    throw error;
  } finally {
    took.set(name(key), performance.now() - started);
  }
}

export interface Ask {
  signal: AbortSignal;
  eventual: boolean;
}

/** A question that is asked again and again. `every` is its shortest interval. */
export function live<T>(key: QueryKey, ask: (how: Ask) => Promise<T>, every = 5_000): UseQueryOptions<T, Problem, T, QueryKey> {
  return queryOptions<T, Problem, T, QueryKey>({
    queryKey: key,
    queryFn: ({ signal }) => {
      const again = queries.getQueryData(key) !== undefined && !isOwn();
      return measured(key, () => ask({ signal, eventual: again }));
    },
    refetchInterval: (query) =>
      paused || query.state.error?.isGone ? false : interval(key, every, typeof document !== "undefined" && document.hidden),
  });
}

/** A question whose answer never changes. */
export function once<T>(key: QueryKey, ask: (how: Ask) => Promise<T>): UseQueryOptions<T, Problem, T, QueryKey> {
  return queryOptions<T, Problem, T, QueryKey>({
    queryKey: key,
    queryFn: ({ signal }) => ask({ signal, eventual: false }),
    staleTime: Infinity,
    gcTime: 600_000,
  });
}

/** For lists: while another filter is asked for, what the last one found stays. */
export const kept = { placeholderData: keepPreviousData } as const;
