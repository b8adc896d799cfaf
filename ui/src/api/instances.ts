// Questions about process instances and what is within them.
import { type Answer, type Body, get, post } from "./client";
import type { ElementKey, InstanceKey, ScopeKey } from "./keys";
import { PAGE, fetchList, useList } from "./list";
import { type Ask, live, once } from "./live";

export type Instance = Answer<"/process-instances/search", "post">["items"][number];
export type ElementInstance = Answer<"/element-instances/search", "post">["items"][number];
export type Variable = Answer<"/variables/search", "post">["items"][number];
export type Finding = Answer<"/skep/v1/process-instances/{processInstanceKey}/diagnosis", "get">["items"][number];
export type Job = Answer<"/jobs/search", "post">["items"][number];
export type Message = Answer<"/message-subscriptions/search", "post">["items"][number];
export type InstanceSearch = Body<"/process-instances/search", "post">;
export type Filter = NonNullable<InstanceSearch["filter"]>;
export type Sort = NonNullable<InstanceSearch["sort"]>[number];

export const AT_WORK = 2_000;
export const AT_REST = 60_000;

export const instance = (key: InstanceKey, atWork = true) =>
  live(["instances", "one", key], (how) => get("/process-instances/{processInstanceKey}", { processInstanceKey: key }, how), atWork ? AT_WORK : 60_000);

const found = (filter: Filter, sort: Sort[]) =>
  [["instances", "search", filter, sort], (how: Ask, from: string | undefined) =>
    post("/process-instances/search", {}, { filter, sort, page: from === undefined ? { limit: PAGE } : { limit: PAGE, after: from } }, how)] as const;

/** The instances that a filter finds, page by page. */
export const useInstances = (filter: Filter, sort: Sort[], after?: string) => useList(...found(filter, sort), after);
export const fetchInstances = (filter: Filter, sort: Sort[], after?: string) => fetchList(...found(filter, sort), after);

/** A large page of them, at once and not repeated. */
export const page = (filter: Filter, sort: Sort[], after?: string) =>
  post("/process-instances/search", {}, { filter, sort, page: after === undefined ? { limit: 1000 } : { limit: 1000, after } });

/** How many a filter finds. */
export const howMany = (filter: Filter) =>
  live(["instances", "count", filter], async (how) => {
    const { page } = await post("/process-instances/search", {}, { filter, page: { limit: 1 } }, how);
    return { total: page.totalItems, more: page.hasMoreTotalItems };
  });

/** Why it does not go on. */
export const diagnosis = (key: InstanceKey) =>
  live(["instances", "diagnosis", key], (how) => get("/skep/v1/process-instances/{processInstanceKey}/diagnosis", { processInstanceKey: key }, how), AT_WORK);

export const instanceCounts = (key: InstanceKey, atWork: boolean) =>
  live(["instances", "element-counts", key], (how) =>
    get("/process-instances/{processInstanceKey}/statistics/element-instances", { processInstanceKey: key }, how), atWork ? AT_WORK : 60_000);

export const flows = (key: InstanceKey, atWork: boolean) =>
  live(["instances", "flows", key], (how) =>
    get("/process-instances/{processInstanceKey}/sequence-flows", { processInstanceKey: key }, how), atWork ? AT_WORK : 60_000);

/** Who called whom, down to this instance. */
export const callers = (key: InstanceKey) =>
  once(["instances", "callers", key], (how) => get("/process-instances/{processInstanceKey}/call-hierarchy", { processInstanceKey: key }, how));

/** Rows of the first page of what is within a scope, and of those behind it. */
export const FIRST = 100;
export const THEN = 500;

/** What happened right within a scope, in its order, a page of it; `every` is how often it may change. */
export const within = (scope: ScopeKey, after: string | undefined, every: number) =>
  live(["instances", "within", scope, after ?? ""], (how) =>
    post("/element-instances/search", {}, {
      filter: { elementInstanceScopeKey: scope },
      sort: [{ field: "startDate" }, { field: "elementInstanceKey" }],
      page: after === undefined ? { limit: FIRST } : { limit: THEN, after },
    }, how), every);

/** What an element of an instance did, the newest first. */
export const ofElement = (key: InstanceKey, elementId: string) =>
  live(["instances", "of-element", key, elementId], (how) =>
    post("/element-instances/search", {}, {
      filter: { processInstanceKey: key, elementId },
      sort: [{ field: "startDate", order: "DESC" }, { field: "elementInstanceKey", order: "DESC" }],
      page: { limit: PAGE },
    }, how), AT_WORK);

export const elementInstance = (key: ElementKey) =>
  live(["instances", "element", key], (how) => get("/element-instances/{elementInstanceKey}", { elementInstanceKey: key }, how), AT_WORK);

/** Rows of a list of an instance that are shown at once; those behind them begin at the cursor `after`. */
const ROWS = 1_000;
const rowsFrom = (after: string | undefined) => (after === undefined ? { limit: ROWS } : { limit: ROWS, after });

/** Variables of a scope, by name. */
export const variables = (scope: ScopeKey, atWork: boolean, after?: string) =>
  live(["variables", scope, after ?? ""], (how) =>
    post("/variables/search", {}, { filter: { scopeKey: scope }, sort: [{ field: "name" }, { field: "variableKey" }], page: rowsFrom(after) }, how), atWork ? AT_WORK : 60_000);

/** All of what is seen from an element, its own first and then those of the whole instance; of the latter alone without one. */
export const variablesSeen = (key: InstanceKey, element: ElementKey | undefined) =>
  live(["variables", "seen", key, element ?? ""], async (how) => {
    const scopes: ScopeKey[] = element === undefined ? [key] : [element, key];
    const found = scopes.map((scopeKey) => post("/variables/search", {}, { filter: { scopeKey }, sort: [{ field: "name" }], page: { limit: 1000 } }, { ...how, query: { truncateValues: "false" } }));
    return (await Promise.all(found)).map(({ items }) => items);
  }, 10_000);

/** The instance that a call activity called. */
export const called = (by: ElementKey) =>
  live(["instances", "called", by], (how) =>
    post("/process-instances/search", {}, { filter: { parentElementInstanceKey: by }, page: { limit: 1 } }, how), AT_WORK);

export const jobsOf = (key: InstanceKey, after?: string) =>
  live(["jobs", "of", key, after ?? ""], (how) =>
    post("/jobs/search", {}, { filter: { processInstanceKey: key }, sort: [{ field: "jobKey", order: "DESC" }], page: rowsFrom(after) }, how), AT_WORK);

export const messagesOf = (key: InstanceKey, after?: string) =>
  live(["messages", "of", key, after ?? ""], (how) =>
    post("/message-subscriptions/search", {}, {
      filter: { processInstanceKey: key },
      sort: [{ field: "messageSubscriptionKey", order: "DESC" }],
      page: rowsFrom(after),
    }, how), AT_WORK);
