// Nodes and partitions.
import { type Answer, get } from "./client";
import { live } from "./live";

export type Topology = Answer<"/topology", "get">;

export const topology = () => live(["topology"], (how) => get("/topology", {}, { signal: how.signal }), 5_000);
