// What is wrong with a cluster, from what it says of itself.
import type { NodeStates } from "../../api/cluster";
import type { Topology } from "../../api/topology";

export type Broker = Topology["brokers"][number];
export type Copy = Broker["partitions"][number];

export interface Troubles {
  missingNodes: number;
  noLeader: number[];
  fewCopies: number[];
  unhealthy: number;
}

export const partitionsOf = (topology: Topology): number[] => Array.from({ length: topology.partitionsCount }, (_, at) => at + 1);

export function troubles(topology: Topology): Troubles {
  const copies = new Map<number, Copy[]>(partitionsOf(topology).map((id) => [id, []]));
  for (const broker of topology.brokers) {
    for (const copy of broker.partitions) copies.get(copy.partitionId)?.push(copy);
  }
  const where = (bad: (found: Copy[]) => boolean) => [...copies].filter(([, found]) => bad(found)).map(([id]) => id);
  return {
    missingNodes: Math.max(0, topology.clusterSize - topology.brokers.length),
    noLeader: where((found) => !found.some((copy) => copy.role === "leader" && copy.health !== "dead")),
    fewCopies: where((found) => found.length < topology.replicationFactor),
    unhealthy: topology.brokers.flatMap((broker) => broker.partitions).filter((copy) => copy.health !== "healthy").length,
  };
}

/** Partitions that get no new instances, with the elements that are left in them; `undefined` while their leader does not answer. */
export function drained(nodes: NodeStates): Map<number, number | undefined> {
  const left = new Map<number, number | undefined>();
  for (const [id, copy] of Object.values(nodes).flatMap((partitions) => Object.entries(partitions ?? {}))) {
    if (!copy.isDraining) continue;
    const known = left.get(Number(id));
    left.set(Number(id), copy.role === "LEADER" ? copy.liveElementInstances : known);
  }
  return left;
}

/** How far a partition is: what is in its log, what its leader has processed, and what each exporter has. */
export interface Positions {
  log: number;
  processed: number;
  exported: readonly { id: string; position: number; state: string }[];
}

const leaderOf = (nodes: NodeStates, partition: number) =>
  Object.values(nodes)
    .map((partitions) => partitions?.[String(partition)])
    .find((copy) => copy?.role === "LEADER");

/** `undefined` while the leader does not answer, or is of a version that does not say it. */
export function positionsOf(nodes: NodeStates, partition: number): Positions | undefined {
  const leader = leaderOf(nodes, partition);
  if (leader?.committedPosition === undefined) return undefined;
  const processed = leader.processedPosition ?? 0;
  const exported = Object.entries(leader.exporters ?? {})
    .filter(([, exporter]) => exporter.state !== "DISABLED")
    .map(([id, { exportedPosition, state }]) => ({ id, position: exportedPosition, state }));
  // The numbers are read one after the other: the log is never shorter than what is done of it.
  const log = Math.max(leader.committedPosition, processed, ...exported.map(({ position }) => position));
  return { log, processed, exported };
}

/** The fewest records that the whole width stands for: what is a few records behind is not half a bar behind. */
const WIDTH = 1_000;

/** How many records a bar is wide: of all partitions alike, so that the longest gap takes half of it. */
export function widthOf(all: readonly Positions[]): number {
  const gaps = all.flatMap(({ log, processed, exported }) => [log - processed, ...exported.map(({ position }) => log - position)]);
  return Math.max(WIDTH, 2 * Math.max(0, ...gaps));
}

/** The partitions whose exporters are paused, as their leaders say. */
export function pausedIn(nodes: NodeStates): { paused: number[]; all: number } {
  const leaders = Object.values(nodes).flatMap((partitions) => Object.entries(partitions ?? {}).filter(([, copy]) => copy.role === "LEADER"));
  const paused = leaders.filter(([, copy]) => copy.exporterPhase === "PAUSED" || copy.exporterPhase === "SOFT_PAUSED").map(([id]) => Number(id));
  return { paused: paused.toSorted((a, b) => a - b), all: leaders.length };
}
