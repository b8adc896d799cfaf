// What holds for the whole cluster: variables that all processes see, listeners to all user tasks, and what is counted.
import { type Answer, type Body, get, post, remove, send } from "./client";
import { PAGE, useList } from "./list";
import { done, live } from "./live";
import { orderIn, withKey } from "./order";

export type ClusterVariable = Answer<"/cluster-variables/search", "post">["items"][number];
export type Listener = Answer<"/global-task-listeners/search", "post">["items"][number];
export type Deed = Answer<"/audit-logs/search", "post">["items"][number];
export type DeedFilter = NonNullable<NonNullable<Body<"/audit-logs/search", "post">>["filter"]>;

const VARIABLES = ["name", "value", "tenantId"] as const;
export const clusterVariableOrder = (sort: string | undefined) => orderIn(sort, VARIABLES, { field: "name", order: "ASC" });

export const useClusterVariables = (find: string | undefined, order: ReturnType<typeof clusterVariableOrder>, after?: string) =>
  useList(["admin", "variables", find ?? "", order], (how, from) =>
    post("/cluster-variables/search", {}, {
      filter: find === undefined ? {} : { name: { $like: `*${find}*` } },
      sort: withKey(order, "name"),
      page: from === undefined ? { limit: PAGE } : { limit: PAGE, after: from },
    }, how), after, 15_000);

/** Of all processes, or of those of a tenant. */
const variable = (method: "get" | "put" | "delete", tenantId: string | null, name: string, body?: string): Promise<Response> =>
  tenantId === null ? send(method, "/cluster-variables/global/{name}", { name }, body) : send(method, "/cluster-variables/tenants/{tenantId}/{name}", { tenantId, name }, body);

/** All of its value, which lists cut. */
export const wholeClusterVariable = async (tenant: string | null, name: string): Promise<string> =>
  ((await (await variable("get", tenant, name)).json()) as Answer<"/cluster-variables/global/{name}", "get">).value;

/** `value` is JSON text: its numbers go as long as they are. */
export function addClusterVariable(tenantId: string | null, name: string, value: string): Promise<Response> {
  const body = `{"name":${JSON.stringify(name)},"value":${value}}`;
  return done(tenantId === null ? send("post", "/cluster-variables/global", {}, body) : send("post", "/cluster-variables/tenants/{tenantId}", { tenantId }, body));
}
export const setClusterVariable = (tenant: string | null, name: string, value: string): Promise<Response> =>
  done(variable("put", tenant, name, `{"value":${value}}`));
export const dropClusterVariable = (tenant: string | null, name: string): Promise<Response> =>
  done(variable("delete", tenant, name));

export const listeners = () =>
  live(["admin", "listeners"], (how) => post("/global-task-listeners/search", {}, { sort: [{ field: "priority", order: "DESC" }, { field: "id" }], page: { limit: 1000 } }, how), 15_000);

export const saveListener = (known: boolean, id: string, of: Omit<Listener, "id" | "source">): Promise<Response> =>
  done(known ? send("put", "/global-task-listeners/{id}", { id }, JSON.stringify(of)) : send("post", "/global-task-listeners", {}, JSON.stringify({ id, ...of })));
export const dropListener = (id: string): Promise<void> => done(remove("/global-task-listeners/{id}", { id }));

/** From one moment to another, both as ISO text. */
export const usage = (from: string, to: string) =>
  live(["admin", "usage", from, to], (how) => get("/system/usage-metrics", {}, { ...how, query: { startTime: from, endTime: to, withTenants: "true" } }), 60_000);

const DEEDS = ["operationType", "actorId", "timestamp"] as const;
/** The newest first, unless the address says otherwise. */
export const deedOrder = (sort: string | undefined) => orderIn(sort, DEEDS, { field: "timestamp", order: "DESC" });

export const useDeeds = (filter: DeedFilter, order: ReturnType<typeof deedOrder>, after?: string) =>
  useList(["admin", "audit", filter, order], (how, from) =>
    post("/audit-logs/search", {}, {
      filter,
      sort: withKey(order, "auditLogKey"),
      page: from === undefined ? { limit: PAGE } : { limit: PAGE, after: from },
    }, how), after);
