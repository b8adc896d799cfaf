// What the nodes measure of themselves: an hour of it, of which only what is new is asked for.
import { type Answer, get } from "./client";
import { live, queries } from "./live";

type Page = Answer<"/skep/v1/monitor", "get">;
export type Unit = Page["series"][number]["unit"];

export interface Series {
  name: string;
  node: number;
  partition: number | null;
  unit: Unit;
  /** Null where nothing was measured. */
  points: readonly (number | null)[];
}

type Told = Omit<Page, "series"> & { series: readonly Series[] };

export interface Measured {
  /** The beginning of each step, in milliseconds. */
  times: readonly number[];
  stepMs: number;
  /** Nodes that did not answer the last time. */
  missing: readonly number[];
  series: readonly Series[];
}

const EVERY = 5_000;
const HOUR = 3_600_000;
/** Steps that are asked for once more: another node may not have measured them yet the last time. */
const AGAIN = 3;

const idOf = ({ node, partition, name }: Series): string => JSON.stringify([node, partition, name]);

/** What was known before, with what came: the hour that ends with the newest step. */
export function joined(before: Measured | undefined, page: Told): Measured {
  const { stepMs, missing } = page;
  const first = Date.parse(page.from);
  const count = page.series[0]?.points.length ?? 0;
  const end = Math.max(first + count * stepMs, (before?.times.at(-1) ?? 0) + (before === undefined ? 0 : stepMs));
  const start = Math.max(end - HOUR, Math.min(first, before?.times[0] ?? first));
  const length = Math.max(0, Math.round((end - start) / stepMs));
  const kept = new Map<string, Series & { points: (number | null)[] }>();
  const enter = (series: Series, from: number) => {
    const known = kept.get(idOf(series)) ?? { ...series, points: Array.from<number | null>({ length }).fill(null) };
    kept.set(idOf(series), known);
    for (const [n, point] of series.points.entries()) {
      const at = Math.round((from - start) / stepMs) + n;
      // A node that does not answer takes away nothing that it said before.
      if (at >= 0 && at < length && point !== null) known.points[at] = point;
    }
  };
  for (const series of before?.series ?? []) enter(series, before?.times[0] ?? start);
  for (const series of page.series) enter(series, first);
  return {
    times: Array.from({ length }, (_, n) => start + n * stepMs),
    stepMs,
    missing,
    series: [...kept.values()].filter(({ points }) => points.some((point) => point !== null)),
  };
}

const KEY = ["monitor", "measured"];

/** The last hour. */
export const measured = () =>
  live<Measured>(KEY, async ({ signal }) => {
    const before = queries.getQueryData<Measured>(KEY);
    const last = before?.times.at(-1);
    const from = before === undefined || last === undefined ? undefined : last - AGAIN * before.stepMs;
    const query: Record<string, string> = from === undefined || from < Date.now() - HOUR ? {} : { from: new Date(from).toISOString() };
    return joined(before, await get("/skep/v1/monitor", {}, { signal, query }));
  }, EVERY);
