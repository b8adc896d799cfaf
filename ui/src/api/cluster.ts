// What REST tells about the server itself.
import { type Answer, get } from "./client";
import { live } from "./live";

export const serverConfiguration = () => live(["cluster", "configuration"], (how) => get("/system/configuration", {}, { signal: how.signal }), 60_000);

export type NodeStates = Answer<"/skep/v1/management/nodes", "get">;

/** The partitions of each node, as it sees them. */
export const nodeStates = () => live(["cluster", "nodes"], (how) => get("/skep/v1/management/nodes", {}, { signal: how.signal }), 5_000);
