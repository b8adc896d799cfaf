// Questions about what people and clients did.
import { type Answer, type Body, post } from "./client";
import type { InstanceKey, TaskKey } from "./keys";
import { PAGE, useList } from "./list";
import { type Ask, live } from "./live";

export type Deed = Answer<"/audit-logs/search", "post">["items"][number];

type DeedFilter = NonNullable<Body<"/audit-logs/search", "post">["filter"]>;

type Sort = { field: "timestamp" | "auditLogKey"; order: "DESC" }[];
const newestFirst: Sort = [{ field: "timestamp", order: "DESC" }, { field: "auditLogKey", order: "DESC" }];

/** To an instance and what is within it, the newest first. */
export const deeds = (filter: DeedFilter, page: { limit: number; after?: string }, how: Ask) =>
  post("/audit-logs/search", {}, { filter, sort: newestFirst, page }, how);

export const deedsOf = (key: InstanceKey, after?: string) =>
  live(["audit", "of", key, after ?? ""], (how) => deeds({ processInstanceKey: key }, after === undefined ? { limit: 1000 } : { limit: 1000, after }, how));

/** To a task, the newest first. */
export const useDeedsOfTask = (key: TaskKey) =>
  useList(["audit", "task", key], (how, from) =>
    post("/user-tasks/{userTaskKey}/audit-logs/search", { userTaskKey: key }, { sort: newestFirst, page: from === undefined ? { limit: PAGE } : { limit: PAGE, after: from } }, how));
