// What happened in a span of time, slot by slot. A slot that is over is asked for once, the last ones again and again.
import { useQueries } from "@tanstack/react-query";
import { type Answer, get, post } from "./client";
import { type Ask, live, once } from "./live";
import type { Problem } from "./problem";
import { here } from "./tenant";

const MINUTE = 60_000;

/** Of the spans to choose from: how long a slot is, and how many there are. */
export const SPANS = { hour: { step: 5 * MINUTE, slots: 12 }, day: { step: 60 * MINUTE, slots: 24 } } as const;
export type Span = keyof typeof SPANS;

export interface Slot {
  from: string;
  to: string;
  /** What happened in it may still come. */
  open: boolean;
}

const iso = (at: number): string => new Date(at).toISOString();

/** The last one holds this moment; it and the one before are open, as the store for searches may be behind. */
export function slotsOf(span: Span, now: number): Slot[] {
  const { step, slots } = SPANS[span];
  const end = Math.floor(now / step + 1) * step;
  return Array.from({ length: slots }, (_, at) => {
    const from = end - (slots - at) * step;
    return { from: iso(from), to: iso(from + step), open: at >= slots - 2 };
  });
}

const EVERY = 10_000;

/** One answer per slot; `undefined` until all are there. */
export interface Over<T> {
  data: readonly T[] | undefined;
  error: Problem | null;
  retry: () => void;
}

function useOver<T>(name: string, slots: readonly Slot[], ask: (slot: Slot, how: Ask) => Promise<T>): Over<T> {
  return useQueries({
    queries: slots.map((slot) => {
      const key = ["monitor", name, slot.from, slot.to, slot.open];
      if (slot.open) return live(key, (how) => ask(slot, how), EVERY);
      // Until there is an answer it is asked for again.
      return { ...once(key, (how) => ask(slot, how)), refetchInterval: ({ state }: { state: { error: Problem | null } }) => (state.error === null ? false : EVERY) };
    }),
    combine: (found): Over<T> => ({
      data: found.every(({ data }) => data !== undefined) ? found.map(({ data }) => data as T) : undefined,
      error: found.find(({ error }) => error !== null)?.error ?? null,
      retry: () => {
        for (const each of found) if (each.error) void each.refetch();
      },
    }),
  });
}

export interface JobsIn {
  created: number;
  completed: number;
  failed: number;
}

/** Jobs of all types. */
export const useJobsOver = (slots: readonly Slot[]): Over<JobsIn> =>
  useOver("jobs", slots, async ({ from, to }, how) => {
    const { created, completed, failed } = await get("/jobs/statistics/global", {}, { ...how, query: { from, to } });
    return { created: created.count, completed: completed.count, failed: failed.count };
  });

export interface InstancesIn {
  started: number;
  ended: number;
  /** There were more than the server counts. */
  more: boolean;
}

type Time = { $gte: string; $lt: string };

async function count(filter: { startDate: Time } | { endDate: Time }, how: Ask) {
  const { page } = await post("/process-instances/search", {}, { filter: { ...filter, ...here() }, page: { limit: 1 } }, how);
  return { total: page.totalItems, more: page.hasMoreTotalItems };
}

export const useInstancesOver = (slots: readonly Slot[]): Over<InstancesIn> =>
  useOver("instances", slots, async ({ from, to }, how) => {
    const within = { $gte: from, $lt: to };
    const [started, ended] = await Promise.all([count({ startDate: within }, how), count({ endDate: within }, how)]);
    return { started: started.total, ended: ended.total, more: started.more || ended.more };
  });

export type TypeLoad = Answer<"/jobs/statistics/by-types", "post">["items"][number];

/** Job types within the slots. */
export const typesOver = (slots: readonly Slot[]) => {
  const [from, to] = [slots[0]?.from ?? "", slots.at(-1)?.to ?? ""];
  return live(["monitor", "types", from, to], (how) => post("/jobs/statistics/by-types", {}, { filter: { from, to }, page: { limit: 1000 } }, how), EVERY);
};

/** Whether at least one partition has a leader that is well. */
export const takesWork = () => live(["monitor", "status"], (how) => get("/status", {}, { signal: how.signal }).then(() => true), EVERY);
