// What a person can do for an instance that is watched, in the place of workers, people, other systems and time: by what it waits for.
import { retry, setVariables } from "../../../api/commands";
import type { Finding, Instance } from "../../../api/instances";
import { completeJob, failJob, throwError } from "../../../api/jobs";
import { type IncidentKey, type JobKey, type TaskKey, asKey } from "../../../api/keys";
import { broadcast, publish } from "../../../api/messages";
import { completeTaskWith } from "../../../api/tasks";
import { stringIn } from "../../../parts/fields";

/** `move` moves the clock. */
const ACTS = ["complete", "fail", "error", "finish", "publish", "broadcast", "retry", "set", "move"] as const;
export type Act = (typeof ACTS)[number];

/** What was written for it: JSON text, and one more text that a failure or an error needs. */
export interface Given {
  variables: string;
  note: string;
}

/** Instance that is acted on, and whose it is. */
export type Watched = Pick<Instance, "processInstanceKey" | "tenantId">;

/** Which of them fit, the most likely one first. */
export function actsFor({ cause }: Pick<Finding, "cause">): readonly Act[] {
  if (cause === "INCIDENT") return ["retry"];
  if (cause.startsWith("JOB_")) return ["complete", "fail", "error"];
  if (cause === "USER_TASK") return ["finish"];
  if (cause === "MESSAGE") return ["publish"];
  if (cause === "SIGNAL") return ["broadcast"];
  if (cause === "TIMER") return ["move"];
  return cause === "CONDITION" ? ["set"] : [];
}

/** The text that an act needs beside variables. */
export const noteOf = (act: Act): "message" | "code" | undefined => (act === "fail" ? "message" : act === "error" ? "code" : undefined);
export const takesVariables = (act: Act): boolean => act !== "fail" && act !== "move";

export async function run(act: Exclude<Act, "move">, { facts }: Finding, { processInstanceKey: instance, tenantId: tenant }: Watched, { variables, note }: Given): Promise<unknown> {
  const job = asKey<JobKey>(stringIn(facts, "jobKey") ?? "");
  if (act === "complete") return completeJob(job, variables);
  if (act === "fail") return failJob(job, note, 0);
  if (act === "error") return throwError(job, note, variables);
  if (act === "finish") return completeTaskWith(asKey<TaskKey>(stringIn(facts, "userTaskKey") ?? ""), variables);
  if (act === "publish") return publish({ name: stringIn(facts, "messageName") ?? "", key: stringIn(facts, "correlationKey") ?? "", variables, id: "", timeToLive: 0, tenant });
  if (act === "broadcast") return broadcast({ name: stringIn(facts, "signalName") ?? "", variables, tenant });
  if (variables.trim() !== "{}") await setVariables(instance, variables);
  if (act === "retry") return retry(asKey<IncidentKey>(stringIn(facts, "incidentKey") ?? ""), asKey<JobKey>(stringIn(facts, "jobKey") ?? "") || undefined);
  return undefined;
}
