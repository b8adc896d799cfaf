// Questions about incidents.
import { type Answer, type Body, get, post } from "./client";
import type { DefinitionKey, ElementKey, InstanceKey } from "./keys";
import { PAGE, useList } from "./list";
import { type Ask, live, once, queries } from "./live";
import { orderIn, withKey } from "./order";
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

/** Elements of one definition that an error is shown at. */
const ELEMENTS = 20;

export interface ErrorElement {
  elementId: string;
  name: string;
  incidents: number;
  more: boolean;
}

/** The name of an element never changes within its definition. */
const nameOf = (definition: DefinitionKey, id: string, by: ElementKey) =>
  queries.ensureQueryData(once(["definitions", "element-name", definition, id], async (how) => {
    const { elementName } = await get("/element-instances/{elementInstanceKey}", { elementInstanceKey: by }, how);
    return elementName ?? id;
  }));

async function elementsOf(how: Ask, error: ErrorGroup, definition: DefinitionKey) {
  // The statistics count incidents of any error in these instances: they say where to look, and a search says how many there are.
  const { items } = await post("/process-definitions/{processDefinitionKey}/statistics/element-instances", { processDefinitionKey: definition }, {
    filter: { state: "ACTIVE", incidentErrorHashCode: error.errorHashCode },
  }, how);
  const candidates = items.filter(({ incidents }) => incidents > 0).toSorted((a, b) => b.incidents - a.incidents);
  const found = await Promise.all(candidates.slice(0, ELEMENTS).map(async ({ elementId }): Promise<ErrorElement | undefined> => {
    const filter: IncidentFilter = { errorMessage: error.errorMessage, processDefinitionKey: definition, elementId, state: "ACTIVE" };
    const { items: [first], page } = await post("/incidents/search", {}, { filter, page: { limit: 1 } }, how);
    return first && { elementId, name: await nameOf(definition, elementId, first.elementInstanceKey), incidents: page.totalItems, more: page.hasMoreTotalItems };
  }));
  return { items: found.flatMap((each) => each ?? []).toSorted((a, b) => b.incidents - a.incidents), cut: candidates.length > ELEMENTS };
}

/** At which elements of a definition an error is, the most frequent first. */
export const byElement = (error: ErrorGroup, definition: DefinitionKey) =>
  live(["incidents", "by-element", error.errorHashCode, definition], (how) => elementsOf(how, error, definition));

const SORTS = ["creationTime", "processDefinitionId", "elementId", "processInstanceKey"] as const;
/** The newest first, unless the address says otherwise. */
export const incidentOrder = (sort: string | undefined) => orderIn(sort, SORTS, { field: "creationTime", order: "DESC" });

/** Open incidents that a filter finds. */
export const useIncidents = (filter: IncidentFilter, order: ReturnType<typeof incidentOrder>, after?: string) =>
  useList(["incidents", "open", filter, order], (how, from) =>
    post("/incidents/search", {}, {
      filter: { ...filter, ...here(), state: "ACTIVE" },
      sort: withKey(order, "incidentKey"),
      page: from === undefined ? { limit: PAGE } : { limit: PAGE, after: from },
    }, how), after);

/** When one was resolved last. */
export const lastResolved = () =>
  live(["incidents", "last"], (how) =>
    post("/incidents/search", {}, { filter: { state: "RESOLVED", ...here() }, sort: [{ field: "creationTime", order: "DESC" }], page: { limit: 1 } }, how), 30_000);

/** Of an instance, those of what it called included. */
export const ofInstance = (key: InstanceKey, after?: string) =>
  live(["incidents", "of", key, after ?? ""], (how) =>
    post("/process-instances/{processInstanceKey}/incidents/search", { processInstanceKey: key }, {
      sort: [{ field: "creationTime", order: "DESC" }, { field: "incidentKey", order: "DESC" }],
      page: after === undefined ? { limit: 1000 } : { limit: 1000, after },
    }, how), 2_000);
