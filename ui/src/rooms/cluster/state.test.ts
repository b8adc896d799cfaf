// What is wrong with a cluster is said, and nothing else; and what is left in partitions that are drained.
import { expect, it } from "vitest";
import type { Topology } from "../../api/topology";
import { drained, pausedIn, positionsOf, troubles, widthOf } from "./state";

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

const leads = (committedPosition: number, processedPosition: number, exporters: Record<string, { state: string; exportedPosition: number }>, exporterPhase = "EXPORTING") => ({
  ...held("LEADER", false, 0), committedPosition, processedPosition, exporters, exporterPhase,
});

it("knows how far a partition is from the node that leads it", () => {
  const nodes = {
    "0": { "1": leads(50, 48, { search: { state: "EXPORTING", exportedPosition: 40 }, off: { state: "DISABLED", exportedPosition: 3 } }), "2": held("FOLLOWER", false, 0) },
    "1": { "1": { ...leads(90, 0, {}), role: "FOLLOWER" as const } },
    "2": null,
  };
  expect(positionsOf(nodes, 1)).toEqual({ log: 50, processed: 48, exported: [{ id: "search", position: 40, state: "EXPORTING" }] });
  expect(positionsOf(nodes, 2)).toBeUndefined();
  // A leader of an earlier version does not say it.
  expect(positionsOf({ "0": { "1": held("LEADER", false, 0) } }, 1)).toBeUndefined();
});

it("never takes a log for shorter than what is done of it", () => {
  expect(positionsOf({ "0": { "1": leads(50, 52, {}) } }, 1)?.log).toBe(52);
});

const at = (log: number, processed: number) => ({ log, processed, exported: [] });

it("draws bars so that the longest gap is half of them, and a few records are not much", () => {
  expect(widthOf([at(100, 90)])).toBe(1_000);
  expect(widthOf([at(100, 90), at(90_000, 40_000)])).toBe(100_000);
});

it("names the partitions whose exporters are paused", () => {
  const nodes = { "0": { "2": leads(1, 1, {}, "PAUSED"), "1": leads(1, 1, {}) }, "1": { "3": leads(1, 1, {}, "SOFT_PAUSED"), "1": { ...leads(1, 1, {}, "PAUSED"), role: "FOLLOWER" as const } } };
  expect(pausedIn(nodes)).toEqual({ paused: [2, 3], all: 3 });
});
