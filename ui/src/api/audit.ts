// Questions about what people and clients did.
import { type Answer, post } from "./client";
import type { InstanceKey } from "./keys";
import { live } from "./live";

export type Deed = Answer<"/audit-logs/search", "post">["items"][number];

/** To an instance and what is within it, the newest first. */
export const deedsOf = (key: InstanceKey) =>
  live(["audit", "of", key], (how) =>
    post("/audit-logs/search", {}, {
      filter: { processInstanceKey: key },
      sort: [{ field: "timestamp", order: "DESC" }, { field: "auditLogKey", order: "DESC" }],
      page: { limit: 1000 },
    }, how));
