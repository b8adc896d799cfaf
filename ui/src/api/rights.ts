// What who is logged in was granted. A button whose command nobody of one's rights may give says so before it is tried.
import { access } from "./base";
import { type Answer, post } from "./client";
import type { Kind } from "./identity";
import { live } from "./live";
import type { Lack } from "./permission";

export type OwnGrant = Pick<Answer<"/authentication/me/authorizations/search", "post">["items"][number], "resourceType" | "resourceId" | "permissionTypes">;

/** Any of the permissions will do; the first is the one to ask for. */
export interface Right {
  resource: string;
  any: readonly [string, ...string[]];
  /** On which one of the kind; nothing: on any of them. */
  on?: string;
}

const batch = (what: string): Right => ({ resource: "BATCH", any: [`CREATE_BATCH_OPERATION_${what}`, "CREATE"] });

const create = (resource: string, permission = "CREATE"): Right => ({ resource, any: [permission] });

export const RIGHTS = {
  operate: { resource: "SYSTEM", any: ["UPDATE"] },
  deploy: { resource: "RESOURCE", any: ["CREATE"] },
  control: { resource: "BATCH", any: ["UPDATE"] },
  cancel: batch("CANCEL_PROCESS_INSTANCE"),
  retry: batch("RESOLVE_INCIDENT"),
  delete: batch("DELETE_PROCESS_INSTANCE"),
  migrate: batch("MIGRATE_PROCESS_INSTANCE"),
  move: batch("MODIFY_PROCESS_INSTANCE"),
  make: { users: create("USER"), groups: create("GROUP"), roles: create("ROLE"), tenants: create("TENANT"), "mapping-rules": create("MAPPING_RULE") },
  grant: create("AUTHORIZATION"),
  variable: create("CLUSTER_VARIABLE"),
  listener: create("GLOBAL_LISTENER", "CREATE_TASK_LISTENER"),
} as const satisfies Record<string, Right | Record<Kind, Right>>;

/** What is done to one instance is a right on its process. */
export const rightsOn = (process: string) => {
  const of = (permission: string): Right => ({ resource: "PROCESS_DEFINITION", any: [permission], on: process });
  return { cancel: of("CANCEL_PROCESS_INSTANCE"), modify: of("MODIFY_PROCESS_INSTANCE"), update: of("UPDATE_PROCESS_INSTANCE") };
};

const ALL = "*";

/** With more grants than these it is not said before what one may not. */
const MOST = 1_000;

/** Whether the server checks grants; where it does not, or does not say so, nothing is known before. */
export const areGrantsChecked = access === "grants";

export const ownGrants = () =>
  live(["admin", "grants", "own"], async (how) => {
    const { items, page } = await post("/authentication/me/authorizations/search", {}, { page: { limit: MOST } }, how);
    return page.totalItems > items.length ? undefined : items;
  }, 30_000);

/** What is missing on that one, or on every resource of the kind; on which of those a right holds, the server decides. */
export function lackOf(grants: readonly OwnGrant[], { resource, any, on }: Right): Lack | undefined {
  const covers = ({ resourceId }: OwnGrant) => on === undefined || resourceId === ALL || resourceId === on;
  const has = grants.some((grant) => grant.resourceType === resource && covers(grant) && grant.permissionTypes.some((each) => (any as readonly string[]).includes(each)));
  return has ? undefined : { permission: any[0], resource, ids: on === undefined ? [] : [on] };
}
