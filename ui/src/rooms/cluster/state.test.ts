// What is wrong with a cluster is said, and nothing else; and what is left in partitions that are drained.
import { expect, it } from "vitest";
import type { Topology } from "../../api/topology";
import { drained, troubles } from "./state";

const copy = (partitionId: number, role: "leader" | "follower", health: "healthy" | "unhealthy" | "dead" = "healthy") => ({ partitionId, role, health, state: "active" as const });
const node = (nodeId: number, partitions: ReturnType<typeof copy>[]) => ({ nodeId, brokerId: String(nodeId), host: "h", port: 1, version: "8.9.0", skepVersion: "0.1.0", partitions });
const held = (role: "LEADER" | "FOLLOWER", isDraining: boolean, liveElementInstances: number) => ({ role, isDraining, liveElementInstances });
const cluster = (brokers: ReturnType<typeof node>[]): Topology => ({
  brokers, clusterId: "c", clusterSize: 2, partitionsCount: 2, replicationFactor: 2, gatewayVersion: "8.9.0", skepVersion: "0.1.0", lastCompletedChangeId: "-1",
});

it("is nothing where all copies are well", () => {
  const well = cluster([node(0, [copy(1, "leader"), copy(2, "follower")]), node(1, [copy(1, "follower"), copy(2, "leader")])]);
  expect(troubles(well)).toEqual({ missingNodes: 0, noLeader: [], fewCopies: [], unhealthy: 0 });
});

it("names partitions that nobody leads, or that lack copies, and counts nodes that are away", () => {
  const lost = cluster([node(0, [copy(1, "leader"), copy(2, "follower", "unhealthy")])]);
  expect(troubles(lost)).toEqual({ missingNodes: 1, noLeader: [2], fewCopies: [1, 2], unhealthy: 1 });
});

it("knows what is left in drained partitions from those that lead them", () => {
  const nodes = {
    "0": { "1": held("LEADER", false, 9), "4": held("FOLLOWER", true, 7), "10": held("FOLLOWER", true, 1) },
    "1": { "4": held("LEADER", true, 5), "5": held("LEADER", true, 0) },
    "2": null,
  };
  expect([...drained(nodes)].toSorted(([a], [b]) => a - b)).toEqual([[4, 5], [5, 0], [10, undefined]]);
});
