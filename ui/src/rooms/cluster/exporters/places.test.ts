// An exporter is listed once for each partition, as the node says that is worst off.
import { expect, it } from "vitest";
import { placesOf } from "./places";

const copy = (role: "LEADER" | "FOLLOWER", exporters: Record<string, { state: string; exportedPosition: number; lag?: number; message?: string; failingForSeconds?: number }>) => ({
  role, isDraining: false, liveElementInstances: 0, exporters,
});

it("takes the copy that is furthest behind, or fails", () => {
  const nodes = {
    "0": { "1": copy("LEADER", { s: { state: "EXPORTING", exportedPosition: 9, lag: 1 } }), "2": copy("FOLLOWER", { s: { state: "FAILING", exportedPosition: 5, lag: 2, message: "no room", failingForSeconds: 7 } }) },
    "1": { "1": copy("FOLLOWER", { s: { state: "EXPORTING", exportedPosition: 4, lag: 6 } }), "2": copy("LEADER", { s: { state: "EXPORTING", exportedPosition: 1, lag: 8 } }) },
    "2": null,
  };
  expect(placesOf(nodes, "s")).toEqual([
    { partition: 1, state: "EXPORTING", lag: 6, failing: undefined },
    { partition: 2, state: "FAILING", lag: 2, failing: { seconds: 7, why: "no room" } },
  ]);
  expect(placesOf(nodes, "other")).toEqual([]);
});
