// What who is logged in was granted. A button whose command nobody of one's rights may give says so before it is tried.
import { access } from "./base";
import { type Answer, post } from "./client";
import type { Kind } from "./identity";
import { live } from "./live";
import type { Lack } from "./permission";

export type OwnGrant = Pick<Answer<"/authentication/me/authorizations/search", "post">["items"][number], "resourceType" | "resourceId" | "resourcePropertyName" | "permissionTypes">;

/** Any of the permissions will do; the first is the one to ask for. */
export interface Right {
  resource: string;
  any: readonly [string, ...string[]];
  /** On which one of the kind; nothing: on any of them. */
  on?: string;
  /** Properties of that one that name the caller: a grant on what has them will do. */
  by?: readonly string[];
  /** Another right that will do. */
  or?: Right;
}

const batch = (what: string): Right => ({ resource: "BATCH", any: [`CREATE_BATCH_OPERATION_${what}`, "CREATE"] });

const create = (resource: string, permission = "CREATE"): Right => ({ resource, any: [permission] });

/** The least that lets one do it comes first. */
const TASK = {
  claim: [["CLAIM_USER_TASK", "UPDATE_USER_TASK"], ["CLAIM", "UPDATE"]],
  complete: [["COMPLETE_USER_TASK", "UPDATE_USER_TASK"], ["COMPLETE", "UPDATE"]],
  assign: [["UPDATE_USER_TASK"], ["UPDATE"]],
} as const;

/** On a task, on what it is of, or on any of them. */
const task = (act: keyof typeof TASK, process?: string, key?: string, by?: readonly string[]): Right => {
  const [ofProcess, ofTask] = TASK[act];
  return { resource: "PROCESS_DEFINITION", any: ofProcess, on: process, or: { resource: "USER_TASK", any: ofTask, on: key, by } };
};

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
  tasks: { claim: task("claim"), unclaim: task("claim"), complete: task("complete") },
  /** A message may start a process, or go on with an instance. */
  correlate: { resource: "PROCESS_DEFINITION", any: ["UPDATE_PROCESS_INSTANCE", "CREATE_PROCESS_INSTANCE"] },
} as const satisfies Record<string, Right | Record<string, Right>>;

/** What is done to one instance, or makes one, is a right on its process. */
export const rightsOn = (process: string) => {
  const of = (permission: string): Right => ({ resource: "PROCESS_DEFINITION", any: [permission], on: process });
  return { cancel: of("CANCEL_PROCESS_INSTANCE"), modify: of("MODIFY_PROCESS_INSTANCE"), update: of("UPDATE_PROCESS_INSTANCE"), start: of("CREATE_PROCESS_INSTANCE") };
};

interface OneTask {
  userTaskKey: string;
  processDefinitionId: string;
  assignee: string | null;
  candidateUsers: readonly string[];
  candidateGroups: readonly string[];
}

/** What one does with a task is a right on its process, on the task, or on tasks that name who does it. */
export const rightsOnTask = (of: OneTask, who: string, groups: readonly string[]) => {
  const mine = of.assignee !== null && of.assignee === who;
  const named = { assignee: mine, candidateUsers: of.candidateUsers.includes(who), candidateGroups: of.candidateGroups.some((each) => groups.includes(each)) };
  const by = Object.entries(named).filter(([, is]) => is).map(([property]) => property);
  const right = (act: keyof typeof TASK) => task(act, of.processDefinitionId, of.userTaskKey, by);
  // What somebody has is taken from them by who may assign it.
  return { claim: right(of.assignee === null ? "claim" : "assign"), unclaim: right(mine ? "claim" : "assign"), complete: right("complete"), assign: right("assign") };
};

const KINDS: Readonly<Record<Kind, string>> = { users: "USER", groups: "GROUP", roles: "ROLE", tenants: "TENANT", "mapping-rules": "MAPPING_RULE" };

/** On one of what Admin keeps; on all of a kind where there are no single ones. */
const kept = (resource: string, on?: string, of = "") => ({ edit: { resource, any: [`UPDATE${of}`], on } as Right, erase: { resource, any: [`DELETE${of}`], on } as Right });

/** Who belongs to one is a change of that one. */
export const rightsOnEntity = (kind: Kind, id: string) => kept(KINDS[kind], id);
export const rightsOnVariable = (name: string) => kept("CLUSTER_VARIABLE", name);
export const GRANT_RIGHTS = kept("AUTHORIZATION");
export const LISTENER_RIGHTS = kept("GLOBAL_LISTENER", undefined, "_TASK_LISTENER");

export const toEvaluate = (decision: string): Right => ({ resource: "DECISION_DEFINITION", any: ["CREATE_DECISION_INSTANCE"], on: decision });

/** Without a name: any message. */
export const toPublish = (name: string): Right => ({ resource: "MESSAGE", any: ["CREATE"], on: name === "" ? undefined : name });

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

function has(grants: readonly OwnGrant[], { resource, any, on, by = [], or }: Right): boolean {
  const covers = ({ resourceId, resourcePropertyName: property }: OwnGrant) =>
    on === undefined || resourceId === ALL || resourceId === on || (typeof property === "string" && by.includes(property));
  const granted = grants.some((grant) => grant.resourceType === resource && covers(grant) && grant.permissionTypes.some((each) => (any as readonly string[]).includes(each)));
  return granted || (or !== undefined && has(grants, or));
}

/** What is missing on that one, or on every resource of the kind; on which of those a right holds, the server decides. */
export function lackOf(grants: readonly OwnGrant[], right: Right): Lack | undefined {
  return has(grants, right) ? undefined : { permission: right.any[0], resource: right.resource, ids: right.on === undefined ? [] : [right.on] };
}
