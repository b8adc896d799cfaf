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

async function ask(processInstanceKey: InstanceKey, limit: number, how: Ask): Promise<Sources> {
  const page = { limit };
  const isEnd = { $exists: true };
  const elements = (filter: object, field: "startDate" | "endDate") =>
    post("/element-instances/search", {}, { filter: { processInstanceKey, ...filter }, sort: [{ field, order: "DESC" }, { field: "elementInstanceKey", order: "DESC" }], page }, how);
  const [started, ended, incidents, jobs, messages, done] = await Promise.all([
    elements({}, "startDate"),
    elements({ endDate: isEnd }, "endDate"),
    post("/incidents/search", {}, { filter: { processInstanceKey }, sort: [{ field: "creationTime", order: "DESC" }], page }, how),
    post("/jobs/search", {}, { filter: { processInstanceKey, endTime: isEnd }, sort: [{ field: "endTime", order: "DESC" }], page }, how),
    post("/correlated-message-subscriptions/search", {}, { filter: { processInstanceKey }, sort: [{ field: "correlationTime", order: "DESC" }], page }, how),
    deeds(processInstanceKey, limit, how).catch(forbidden),
  ]);
  return { started: started.items, ended: ended.items, incidents: incidents.items, jobs: jobs.items, messages: messages.items, deeds: done?.items ?? [], withoutDeeds: done === undefined };
}

export const feed = (key: InstanceKey, limit: number) => live(["instances", "feed", key, limit], (how) => ask(key, limit, how));
