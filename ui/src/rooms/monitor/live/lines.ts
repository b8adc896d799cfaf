// From what each node measures to the lines of a plot.
import type { Measured, Series } from "../../../api/measured";

export type Points = (number | null)[];

/** A line, or a layer of a stack. */
export interface Line {
  id: string;
  name: string;
  /** A colour of the palette of plots, or one that has a meaning. */
  tone: string;
  points: Points;
  dashed?: boolean;
}

const named = ({ series }: Measured, name: string): Series[] => series.filter((each) => each.name === name);

/** Joins points of the same moment; where none has any there is none. */
function across(all: readonly Series[], length: number, join: (values: number[]) => number): Points {
  return Array.from({ length }, (_, at) => {
    const values = all.flatMap(({ points }) => points[at] ?? []);
    return values.length === 0 ? null : join(values);
  });
}

const sum = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0);

/** Of all nodes and partitions together. */
export const summed = (measured: Measured, name: string): Points => across(named(measured, name), measured.times.length, sum);

const TONES = 10;
const toneOf = (at: number): string => `plot-${(at % TONES) + 1}`;

export const STAGES = ["authentication", "gateway_queue", "decode", "route", "inbox_wait", "evaluation", "append", "fsync", "commit", "response"] as const;

/** How long a stage takes: the mean over all nodes, each of which counts by its requests. */
export function stage(measured: Measured, name: string): Points {
  const requests = new Map(named(measured, "requests").map(({ node, points }) => [node, points]));
  const all = named(measured, `stage.${name}`);
  return measured.times.map((_, at) => {
    const parts = all.flatMap(({ node, points }) => {
      const value = points[at] ?? null;
      return value === null ? [] : [{ value, weight: requests.get(node)?.[at] ?? 0 }];
    });
    const weight = sum(parts.map((each) => each.weight));
    if (parts.length === 0) return null;
    return weight > 0 ? sum(parts.map((each) => each.value * each.weight)) / weight : sum(parts.map((each) => each.value)) / parts.length;
  });
}

const byNumber = (a: number, b: number): number => a - b;

/** A line for each partition, over the nodes that led it. */
export function byPartition(measured: Measured, name: string, title: (partition: number) => string): Line[] {
  const all = named(measured, name);
  const partitions = [...new Set(all.flatMap(({ partition }) => partition ?? []))].toSorted(byNumber);
  return partitions.map((partition, at) => ({
    id: String(partition),
    name: title(partition),
    tone: toneOf(at),
    points: across(all.filter((each) => each.partition === partition), measured.times.length, sum),
  }));
}

export function byNode(measured: Measured, name: string, title: (node: number) => string): Line[] {
  const all = named(measured, name).toSorted((a, b) => a.node - b.node);
  return all.map(({ node, points }, at) => ({ id: `${name} ${node}`, name: title(node), tone: toneOf(at), points: [...points] }));
}

const LAG = "export.lag.";

/** A line for each exporter: how far it is behind where it is furthest behind. */
export function lags(measured: Measured, title: (exporter: string) => string): Line[] {
  const exporters = [...new Set(measured.series.flatMap(({ name }) => (name.startsWith(LAG) ? name.slice(LAG.length) : [])))].toSorted();
  return exporters.map((id, at) => ({
    id,
    name: title(id),
    tone: toneOf(at),
    points: across(named(measured, LAG + id), measured.times.length, (values) => Math.max(...values)),
  }));
}

/** What was measured last; nothing if that is long ago. */
export const newest = (points: Points): number | undefined => points.slice(-4).findLast((point) => point !== null) ?? undefined;

export const total = (points: Points, stepMs: number): number => (sum(points.flatMap((point) => point ?? [])) * stepMs) / 1_000;

export const largest = (points: Points): number => Math.max(0, ...points.flatMap((point) => point ?? []));

/** One upon the other: the upper edges of the layers. What is hidden takes no room, and where nothing was measured there is no layer. */
export function stacked(lines: readonly Line[], hidden: ReadonlySet<string>): Points[] {
  const below: Points = (lines[0]?.points ?? []).map(() => 0);
  const is = lines[0]?.points.map((_, at) => lines.some(({ points }) => points[at] !== null)) ?? [];
  return lines.map(({ id, points }) =>
    points.map((point, at) => {
      if (!is[at]) return null;
      below[at] = (below[at] ?? 0) + (hidden.has(id) ? 0 : (point ?? 0));
      return below[at];
    }),
  );
}

/** Means of as many spans as that, for the table: moments and, for each line, figures. */
export function means(times: readonly number[], lines: readonly Line[], spans: number): { at: number; values: (number | null)[] }[] {
  const size = Math.max(1, Math.ceil(times.length / spans));
  return Array.from({ length: Math.ceil(times.length / size) }, (_, n) => ({
    at: times[n * size] ?? 0,
    values: lines.map(({ points }) => {
      const some = points.slice(n * size, (n + 1) * size).flatMap((point) => point ?? []);
      return some.length === 0 ? null : sum(some) / some.length;
    }),
  }));
}
