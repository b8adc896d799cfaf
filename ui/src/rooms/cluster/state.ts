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
