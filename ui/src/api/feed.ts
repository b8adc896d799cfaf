// What happened in an instance, by kind, the newest first: as many of each kind as are shown at most, so that none of them is missing.
import { type Deed, deeds } from "./audit";
import { type Answer, post } from "./client";
import type { Incident } from "./incidents";
import type { ElementInstance, Job } from "./instances";
import type { InstanceKey } from "./keys";
import { type Ask, live } from "./live";
import { Problem } from "./problem";

export type Arrived = Answer<"/correlated-message-subscriptions/search", "post">["items"][number];

export interface Sources {
  started: readonly ElementInstance[];
  ended: readonly ElementInstance[];
  incidents: readonly Incident[];
  /** Those that ended. */
  jobs: readonly Job[];
  messages: readonly Arrived[];
  deeds: readonly Deed[];
  /** One may not read what users did. */
  withoutDeeds: boolean;
}

/** Rows of each kind. */
export const STEP = 100;
export const MOST = 1_000;

const forbidden = (error: unknown): undefined => {
  if (!(error instanceof Problem && error.lack)) throw error;
};

async function ask(processInstanceKey: InstanceKey, limit: number, before: string | undefined, how: Ask): Promise<Sources> {
  const page = { limit };
  // What happened in the moment `before` itself is asked for again: of it some may have been behind the last row.
  const until = before === undefined ? {} : { $lte: before };
  const isEnd = { $exists: true, ...until };
  const time = (field: string) => (before === undefined ? {} : { [field]: until });
  const elements = (filter: object, field: "startDate" | "endDate") =>
    post("/element-instances/search", {}, { filter: { processInstanceKey, ...filter }, sort: [{ field, order: "DESC" }, { field: "elementInstanceKey", order: "DESC" }], page }, how);
  const [started, ended, incidents, jobs, messages, done] = await Promise.all([
    elements(time("startDate"), "startDate"),
    elements({ endDate: isEnd }, "endDate"),
    post("/incidents/search", {}, { filter: { processInstanceKey, ...time("creationTime") }, sort: [{ field: "creationTime", order: "DESC" }], page }, how),
    post("/jobs/search", {}, { filter: { processInstanceKey, endTime: isEnd }, sort: [{ field: "endTime", order: "DESC" }], page }, how),
    post("/correlated-message-subscriptions/search", {}, { filter: { processInstanceKey, ...time("correlationTime") }, sort: [{ field: "correlationTime", order: "DESC" }], page }, how),
    deeds({ processInstanceKey, ...time("timestamp") }, page, how).catch(forbidden),
  ]);
  return { started: started.items, ended: ended.items, incidents: incidents.items, jobs: jobs.items, messages: messages.items, deeds: done?.items ?? [], withoutDeeds: done === undefined };
}

/** `before` is the moment with which it begins; nothing: with the newest. */
export const feed = (key: InstanceKey, limit: number, before?: string) => live(["instances", "feed", key, limit, before ?? ""], (how) => ask(key, limit, before, how));
