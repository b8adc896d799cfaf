// Questions about what people and clients did.
import { type Answer, post } from "./client";
import type { InstanceKey, TaskKey } from "./keys";
import { PAGE, useList } from "./list";
import { type Ask, live } from "./live";

export type Deed = Answer<"/audit-logs/search", "post">["items"][number];

type Sort = { field: "timestamp" | "auditLogKey"; order: "DESC" }[];
const newestFirst: Sort = [{ field: "timestamp", order: "DESC" }, { field: "auditLogKey", order: "DESC" }];

/** To an instance and what is within it, the newest first. */
export const deeds = (processInstanceKey: InstanceKey, limit: number, how: Ask) =>
  post("/audit-logs/search", {}, { filter: { processInstanceKey }, sort: newestFirst, page: { limit } }, how);

export const deedsOf = (key: InstanceKey) => live(["audit", "of", key], (how) => deeds(key, 1000, how));

/** To a task, the newest first. */
export const useDeedsOfTask = (key: TaskKey) =>
  useList(["audit", "task", key], (how, from) =>
    post("/user-tasks/{userTaskKey}/audit-logs/search", { userTaskKey: key }, { sort: newestFirst, page: from === undefined ? { limit: PAGE } : { limit: PAGE, after: from } }, how));
