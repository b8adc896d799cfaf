// How far an exporter is on each partition, as the nodes say that run it.
import type { NodeStates } from "../../../api/cluster";

export interface Place {
  partition: number;
  state: string;
  /** Records; unknown while it is disabled. */
  lag: number | undefined;
  failing: { seconds: number; why: string } | undefined;
}

/** Record exporters run where a partition is led, secondary storage wherever it has a copy: of several, the one that is furthest behind. */
export function placesOf(nodes: NodeStates, exporter: string): Place[] {
  const places = new Map<number, Place>();
  for (const [id, copy] of Object.values(nodes).flatMap((partitions) => Object.entries(partitions ?? {}))) {
    const seen = copy.exporters?.[exporter];
    if (seen === undefined) continue;
    const partition = Number(id);
    const failing = seen.message === undefined ? undefined : { seconds: seen.failingForSeconds ?? 0, why: seen.message };
    const known = places.get(partition);
    if (known !== undefined && (known.failing !== undefined || (failing === undefined && (known.lag ?? 0) >= (seen.lag ?? 0)))) continue;
    places.set(partition, { partition, state: seen.state, lag: seen.lag, failing });
  }
  return [...places.values()].toSorted((a, b) => a.partition - b.partition);
}
