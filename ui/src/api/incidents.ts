// Questions about incidents.
import { type Answer, type Body, post } from "./client";
import type { InstanceKey } from "./keys";
import { PAGE, useList } from "./list";
import { live } from "./live";
import { here } from "./tenant";

export type Incident = Answer<"/incidents/search", "post">["items"][number];
export type ErrorGroup = Answer<"/incidents/statistics/process-instances-by-error", "post">["items"][number];
export type ErrorPlace = Answer<"/incidents/statistics/process-instances-by-definition", "post">["items"][number];
export type IncidentFilter = NonNullable<Body<"/incidents/search", "post">["filter"]>;

/** Errors of instances at work, those of the most instances first. */
export const byError = (limit = 1000) =>
  live(["incidents", "by-error", limit], (how) =>
    post("/incidents/statistics/process-instances-by-error", {}, {
      sort: [{ field: "activeInstancesWithErrorCount", order: "DESC" }],
      page: { limit },
    }, how));

/** In which processes an error is. */
export const byDefinition = (error: number) =>
  live(["incidents", "by-definition", error], (how) =>
    post("/incidents/statistics/process-instances-by-definition", {}, {
      filter: { errorHashCode: error, ...here() },
      sort: [{ field: "activeInstancesWithErrorCount", order: "DESC" }],
      page: { limit: 1000 },
    }, how));

/** Open incidents that a filter finds, the newest first. */
export const useIncidents = (filter: IncidentFilter, after?: string) =>
  useList(["incidents", "open", filter], (how, from) =>
    post("/incidents/search", {}, {
      filter: { ...filter, ...here(), state: "ACTIVE" },
      sort: [{ field: "creationTime", order: "DESC" }, { field: "incidentKey", order: "DESC" }],
      page: from === undefined ? { limit: PAGE } : { limit: PAGE, after: from },
    }, how), after);

/** When one was resolved last. */
export const lastResolved = () =>
  live(["incidents", "last"], (how) =>
    post("/incidents/search", {}, { filter: { state: "RESOLVED", ...here() }, sort: [{ field: "creationTime", order: "DESC" }], page: { limit: 1 } }, how), 30_000);

/** Of an instance, those of what it called included. */
export const ofInstance = (key: InstanceKey) =>
  live(["incidents", "of", key], (how) =>
    post("/process-instances/{processInstanceKey}/incidents/search", { processInstanceKey: key }, {
      sort: [{ field: "creationTime", order: "DESC" }],
      page: { limit: 1000 },
    }, how), 2_000);
