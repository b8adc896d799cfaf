// Answers stay true by being asked for again: how often, and when not.
//
// There are no streams: over plain HTTP a browser has six connections per host, and the seventh tab with one would hang. A page asks
// for the pulse of the server every five seconds (`pulse.ts`), and repeats the questions of whose answers something has changed, each at
// most every five seconds, or after fifty times as long as its last answer took, whichever is more, but at least once a minute: an answer
// that waited long for its turn says nothing of the next one, and the server itself bounds what pages take from it. Questions that the
// pulse does not speak of, and an instance at work, have an interval of their own; so has everything while there is no pulse. Hidden
// pages ask once a minute. A question that failed waits twice as long each time, up to a minute.
//
// A repeated question takes an answer that another browser got a moment ago. One that is older than what is on the screen, or than a
// command of one's own, is not shown.
import { type Query, QueryClient, type QueryKey, type UseQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { kindsOf } from "./kinds";
import { Moves } from "./moves";
import { Problem } from "./problem";

export const HIDDEN = 60_000;
/** Questions with a shorter interval do not wait for a pulse. */
const LED = 5_000;
const SHARE = 50;
/** The longest interval, for questions whose own is not longer. */
const LONGEST = 60_000;
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
let ownAt = Number.NEGATIVE_INFINITY;
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
  ownAt = Date.now();
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

/** What the server has said of what changes. */
export const moves = new Moves();

const took = new Map<string, number>();
/** How many tries in a row failed. */
const fails = new Map<string, number>();
/** When it was asked last. */
const asked = new Map<string, number>();
/** The moments at which its answer was true, by the pages of it. */
const trueAt = new Map<string, Map<string, number>>();
const name = (key: QueryKey): string => JSON.stringify(key);

/** Milliseconds until the question is asked again. */
export function interval(key: QueryKey, every: number, hidden: boolean): number {
  const failed = fails.get(name(key)) ?? 0;
  const patient = failed === 0 ? every : Math.min(LONGEST, every * 2 ** Math.floor((failed - 1) / TRIES));
  return Math.max(hidden ? HIDDEN : patient, Math.min(LONGEST, SHARE * (took.get(name(key)) ?? 0)));
}

/** Whether answers must hold a command of one's own. */
const isOwn = (): boolean => Date.now() < ownAt + OWN;

/** Asks, and remembers how long it took, and whether it failed. */
export async function measured<T>(key: QueryKey, ask: () => Promise<T>): Promise<T> {
  const started = performance.now();
  asked.set(name(key), Date.now());
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
  shared?: number;
  aged?: (seconds: number) => void;
}

/** A question on the screen, or one page of its answer, with the data that is shown. */
export interface Shown<T> {
  key: QueryKey;
  every: number;
  data: T | undefined;
  page?: string;
}

/** Asks for it. */
export async function renewed<T>({ key, every, data, page = "" }: Shown<T>, signal: AbortSignal, ask: (how: Ask) => Promise<T>): Promise<T> {
  const pages = trueAt.get(name(key)) ?? new Map<string, number>();
  trueAt.set(name(key), pages);
  const own = async (eventual: boolean): Promise<T> => {
    const began = Date.now();
    const answer = await measured(key, () => ask({ signal, eventual }));
    pages.set(page, began);
    return answer;
  };
  if (data === undefined || isOwn()) return own(false);
  const began = Date.now();
  let age = -1;
  const aged = (seconds: number) => void (age = Math.max(age, seconds));
  let answer: T;
  try {
    answer = await measured(key, () => ask({ signal, eventual: true, shared: every < LED ? 1 : 5, aged }));
  } catch (error) {
    // Pages have had their part of the server for now: what is shown stays, and is asked for again later.
    if (error instanceof Problem && error.title === "RESOURCE_EXHAUSTED") return data;
    throw error;
  }
  // The age is in whole seconds.
  const moment = began - (age + 1) * 1_000;
  if (moment < ownAt) return own(true);
  if (moment < (pages.get(page) ?? moment)) return data;
  pages.set(page, moment);
  return answer;
}

/** The pages that an answer has. */
const pagesOf = (data: unknown): readonly string[] =>
  typeof data === "object" && data !== null && "pageParams" in data && Array.isArray(data.pageParams) ? data.pageParams.map((each) => String(each ?? "")) : [""];

/** Whether a question is to be asked again. */
export function isDue({ queryKey, state }: Pick<Query, "queryKey" | "state">, kinds: readonly string[], every: number, now: number, hidden: boolean): boolean {
  const last = asked.get(name(queryKey));
  if (every < LED || last === undefined || (state.error instanceof Problem && state.error.isGone)) return false;
  const pages = pagesOf(state.data);
  if (now - last < pages.length * interval(queryKey, every, hidden)) return false;
  const moments = pages.map((page) => trueAt.get(name(queryKey))?.get(page) ?? Number.NEGATIVE_INFINITY);
  const isKnown = moves.works && !fails.has(name(queryKey));
  return !isKnown || moves.since(kinds, Math.min(...moments));
}

/** Whether the pulse says when it is asked again. */
export const isLed = (key: QueryKey, every: number): boolean => every >= LED && kindsOf(key) !== undefined;

queries.getQueryCache().subscribe(({ type, query }) => {
  if (type === "removed") for (const known of [took, fails, asked, trueAt]) known.delete(name(query.queryKey));
});

/** A question that is asked again and again. `every` is its shortest interval. */
export function live<T>(key: QueryKey, ask: (how: Ask) => Promise<T>, every = 5_000): UseQueryOptions<T, Problem, T, QueryKey> {
  const led = isLed(key, every);
  return queryOptions<T, Problem, T, QueryKey>({
    queryKey: key,
    queryFn: ({ signal }) => renewed({ key, every, data: queries.getQueryData<T>(key) }, signal, ask),
    meta: { every },
    refetchOnWindowFocus: () => !(led && moves.works),
    refetchInterval: (query) =>
      led || paused || query.state.error?.isGone ? false : interval(key, every, typeof document !== "undefined" && document.hidden),
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
