// Job types: what the last day's statistics and the nodes of now know of them, in one list.
import type { JobType, JobTypes, JobWorker } from "../../api/jobs";

export type Asker = JobTypes["items"][number]["workers"][number];

export interface Type {
  name: string;
  /** Jobs that failed within a day. */
  failed: number;
  waiting: number;
  oldest: string | null;
  lastAsked: string | null;
  workers: readonly Asker[];
}

/** A long poll asks at least every ten seconds; others get some time between two polls. */
const ASKS = 60_000;

export const asksAt = (lastAsked: string | null, now: number): boolean => lastAsked !== null && now - Date.parse(lastAsked) < ASKS;

/** Jobs wait, and nobody asks for them. */
export const isAlone = (type: Type, now: number): boolean => type.waiting > 0 && !asksAt(type.lastAsked, now);

/** Those that nobody asks for come first, then those that fail, then by name. */
export function joined(counted: readonly JobType[], work: JobTypes, now: number): Type[] {
  const types = new Map<string, Type>();
  for (const { type, waiting, oldest, lastAsked, workers } of work.items) {
    types.set(type, { name: type, failed: 0, waiting, oldest, lastAsked, workers });
  }
  for (const { jobType, failed } of counted) {
    const known = types.get(jobType) ?? { name: jobType, waiting: 0, oldest: null, lastAsked: null, workers: [] };
    types.set(jobType, { ...known, failed: failed.count });
  }
  return [...types.values()].toSorted(
    (a, b) => Number(isAlone(b, now)) - Number(isAlone(a, now)) || b.failed - a.failed || a.name.localeCompare(b.name),
  );
}

export interface Worker {
  name: string;
  done: number;
  failed: number;
  /** What it does now; `undefined`: nothing is known of it since it finished its last job. */
  now: Asker | undefined;
  last: string | null;
}

/** Those who ask now, and those who finished a job within a day. */
export function workersOf(asking: readonly Asker[], counted: readonly JobWorker[]): Worker[] {
  const workers = new Map<string, Worker>(asking.map((each) => [each.name, { name: each.name, done: 0, failed: 0, now: each, last: each.seen }]));
  for (const { worker, completed, failed } of counted) {
    if (worker === "") continue;
    const known = workers.get(worker);
    const times = [known?.last, completed.lastUpdatedAt, failed.lastUpdatedAt].filter((time) => typeof time === "string");
    workers.set(worker, { name: worker, done: completed.count, failed: failed.count, now: known?.now, last: times.toSorted().at(-1) ?? null });
  }
  return [...workers.values()];
}
