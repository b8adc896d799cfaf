// Of which kinds of rows answers are made: when none of them has changed, a question need not be asked again.
import type { QueryKey } from "@tanstack/react-query";

/** What an instance waits for, beside its own rows. */
const WAITS = ["job", "userTask", "messageSubscription", "eventWait"];
const INSTANCE = ["processInstance", "elementInstance"];
const IDENTITY = ["user", "group", "role", "tenant", "mappingRule", "authorization", "member"];

/** By the words that a key begins with, the longest that fit; filters may ask for more than is shown. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  instances: [...INSTANCE, ...WAITS, "variable", "incident", "batchOperationItem"],
  "instances loads": [...INSTANCE, "incident", "processDefinition"],
  "instances within": [...INSTANCE, "incident"],
  "instances past": [...INSTANCE, "incident"],
  "instances feed": [...INSTANCE, "incident", "job", "correlatedMessageSubscription", "auditLog"],
  definitions: ["processDefinition"],
  "definitions timers": ["startTimer", "processDefinition"],
  variables: ["variable"],
  jobs: ["job", "processInstance"],
  tasks: ["userTask", "variable", "processInstance"],
  incidents: ["incident", "processInstance", "processDefinition"],
  messages: [...WAITS, "correlatedMessageSubscription"],
  decisions: ["decisionDefinition", "decisionRequirements", "decisionInstance"],
  batches: ["batchOperation", "batchOperationItem"],
  audit: ["auditLog"],
  admin: IDENTITY,
  "admin variables": ["clusterVariable"],
  "admin audit": ["auditLog"],
  "admin listeners": ["globalTaskListener"],
};

/** Those whose answers change as time goes by: they are about the last hour or day. */
const BY_TIME = new Set(["jobs types", "jobs work", "jobs workers", "admin usage"]);

/** `undefined`: of this question the pulse cannot speak. */
export function kindsOf(key: QueryKey): readonly string[] | undefined {
  const [room, view] = key;
  if (typeof room !== "string") return undefined;
  const both = `${room} ${String(view)}`;
  return BY_TIME.has(both) ? undefined : (KINDS[both] ?? KINDS[room]);
}
