// Questions about process definitions.
import { type Answer, type Body, get, post } from "./client";
import type { DefinitionKey } from "./keys";
import { type Ask, live, once } from "./live";
import { here } from "./tenant";

export type Definition = Answer<"/process-definitions/search", "post">["items"][number];
export type Load = Answer<"/process-definitions/statistics/process-instances", "post">["items"][number];
export type ElementCount = Answer<"/process-instances/{processInstanceKey}/statistics/element-instances", "get">["items"][number];
export type CountFilter = NonNullable<NonNullable<Body<"/process-definitions/{processDefinitionKey}/statistics/element-instances", "post">>["filter"]>;

/** The latest version of each process. */
export const latest = () =>
  live(["definitions", "latest"], (how) =>
    post("/process-definitions/search", {}, { filter: { isLatestVersion: true, ...here() }, sort: [{ field: "name" }], page: { limit: 1000 } }, how), 15_000);

/** All versions of a process, the newest first. */
export const versions = (id: string) =>
  live(["definitions", "versions", id], (how) =>
    post("/process-definitions/search", {}, { filter: { processDefinitionId: id, ...here() }, sort: [{ field: "version", order: "DESC" }], page: { limit: 1000 } }, how), 15_000);

/** Those that were deleted while their history stays, the newest first. */
export const deleted = () =>
  live(["definitions", "deleted"], (how) =>
    post("/process-definitions/search", {}, { filter: { state: "DELETED", ...here() }, sort: [{ field: "processDefinitionKey", order: "DESC" }], page: { limit: 1000 } }, how), 15_000);

/** Nothing starts by it any more, and nothing is migrated to it. */
export const isDeleted = ({ state }: Pick<Definition, "state">): boolean => state === "DELETED";

/** Of versions, the newest first: the newest that is still deployed. */
export const newestOf = (known: readonly Definition[]): Definition | undefined => known.find((each) => !isDeleted(each));

/** Each tenant has processes of its own. */
export const processOf = ({ tenantId, processDefinitionId }: Pick<Definition, "tenantId" | "processDefinitionId">): string => JSON.stringify([tenantId, processDefinitionId]);

export const definition = (key: DefinitionKey) =>
  live(["definitions", "one", key], (how) => get("/process-definitions/{processDefinitionKey}", { processDefinitionKey: key }, how), 15_000);

/** The form with which people start it; null without one. */
export const startForm = (key: DefinitionKey) =>
  once(["definitions", "form", key], async (how) => (await get("/process-definitions/{processDefinitionKey}/form", { processDefinitionKey: key }, how)) ?? null);

/** Instances at work, per process; with incidents first. */
export const loads = () =>
  live(["instances", "loads"], (how) => post("/process-definitions/statistics/process-instances", {}, { page: { limit: 1000 } }, how));

/** What a filter says of incidents when it asks for nothing but instances at work; `undefined`: it asks for something else. */
export function atWork(filter: CountFilter): { hasIncident?: boolean } | undefined {
  const { state, hasIncident, ...rest } = filter;
  const isActive = state === "ACTIVE" || (typeof state === "object" && JSON.stringify(state) === '{"$in":["ACTIVE"]}');
  if (!isActive || Object.keys(rest).length > 0) return undefined;
  if (hasIncident === undefined) return {};
  return typeof hasIncident === "boolean" ? { hasIncident } : undefined;
}

/** The store keeps the numbers of those at work: with a million of them, to count the rows takes seconds. */
async function activeElements(key: DefinitionKey, { hasIncident }: { hasIncident?: boolean }, how: Ask) {
  const query: Record<string, string> = hasIncident === undefined ? {} : { hasIncident: String(hasIncident) };
  const { items } = await get("/skep/v1/process-definitions/{processDefinitionKey}/active-elements", { processDefinitionKey: key }, { ...how, query });
  return { items: items.map(({ elementId, active, incidents }): ElementCount => ({ elementId, active, incidents, completed: 0, canceled: 0 })) };
}

/** How many are at each element, of the instances that a filter finds; `ended`: and how many came by. */
export const counts = (key: DefinitionKey, filter: CountFilter, ended: boolean) =>
  live(["instances", "counts", key, filter, ended], (how) => {
    const now = ended ? undefined : atWork(filter);
    if (now) return activeElements(key, now, how);
    return post("/process-definitions/{processDefinitionKey}/statistics/element-instances", { processDefinitionKey: key }, { filter }, how);
  });

/** When a process starts by itself, the next time first. */
export const startTimers = (key: DefinitionKey) =>
  live(["definitions", "timers", key], (how) => get("/skep/v1/process-definitions/{processDefinitionKey}/start-timers", { processDefinitionKey: key }, how), 15_000);
