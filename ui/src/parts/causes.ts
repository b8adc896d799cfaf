// From what an element instance waits for to a sentence: what it is, since when, and what would free it.
import type { Wait, WaitCause } from "../api/instances";
import { type IncidentKey, type InstanceKey, type JobKey, asKey } from "../api/keys";
import { text } from "../text";
import { fromNow } from "../text/format";
import { countIn, stringIn, stringsIn } from "./fields";

const t = text.instance;

export interface Cause {
  tone: "incident" | "waiting" | "active";
  sentence: string;
  /** The name in the sentence that is one of the model: a job type, a message. */
  detail?: string;
  remedy?: string;
  since: string | null | undefined;
  incident?: { key: IncidentKey; job: JobKey | undefined };
  called?: InstanceKey;
}

function job(cause: WaitCause, now: number): Cause {
  const type = stringIn(cause, "type") ?? "?";
  const worker = stringIn(cause, "worker");
  const deadline = stringIn(cause, "deadline");
  const left = t.causes.jobRetries(countIn(cause, "retries"));
  if (cause.state === "FAILED") return { tone: "waiting", sentence: t.causes.jobBackOff(type), detail: left, since: cause.since };
  if (worker && deadline) {
    const late = new Date(deadline).getTime() < now;
    return {
      tone: late ? "waiting" : "active",
      sentence: t.causes.jobAtWork(worker, type),
      detail: late ? t.causes.jobLate : t.causes.jobUntil(fromNow(deadline, now)),
      since: cause.since,
    };
  }
  return { tone: "waiting", sentence: t.causes.jobWaits(type), remedy: t.remedies.job(type), since: cause.since };
}

function task(cause: WaitCause, now: number): Cause {
  const assignee = stringIn(cause, "assignee");
  const groups = [...stringsIn(cause, "candidateUsers"), ...stringsIn(cause, "candidateGroups")];
  const due = stringIn(cause, "dueDate");
  const sentence = assignee ? t.causes.taskOf(assignee) : groups.length > 0 ? t.causes.taskGroups(groups.join(", ")) : t.causes.task;
  return { tone: "waiting", sentence, detail: due && t.causes.taskDue(fromNow(due, now)), since: cause.since };
}

export function causeOf(cause: WaitCause, now: number): Cause {
  const { since } = cause;
  switch (cause.for) {
    case "INCIDENT":
      return {
        tone: "incident",
        sentence: t.causes.incident(text.words.error(stringIn(cause, "errorType") ?? "UNKNOWN")),
        detail: stringIn(cause, "errorMessage"),
        since,
        incident: { key: asKey(stringIn(cause, "incidentKey") ?? ""), job: asKey<JobKey>(stringIn(cause, "jobKey") ?? "") || undefined },
      };
    case "JOB":
      return job(cause, now);
    case "USER_TASK":
      return task(cause, now);
    case "MESSAGE": {
      const key = stringIn(cause, "correlationKey");
      return { tone: "waiting", sentence: t.causes.message(stringIn(cause, "messageName") ?? "?"), detail: key && t.causes.messageKey(key), remedy: t.remedies.message, since };
    }
    case "TIMER": {
      const due = stringIn(cause, "dueDate");
      return { tone: "active", sentence: t.causes.timer(due ? fromNow(due, now) : "?"), since };
    }
    case "SIGNAL":
      return { tone: "waiting", sentence: t.causes.signal(stringIn(cause, "signalName") ?? "?"), since };
    case "CONDITION":
      return { tone: "waiting", sentence: t.causes.condition(stringIn(cause, "condition") ?? stringIn(cause, "expression") ?? "?"), since };
    case "CALLED_INSTANCE":
      return {
        tone: "waiting",
        sentence: t.causes.called(stringIn(cause, "processDefinitionName") ?? stringIn(cause, "processDefinitionId") ?? "?"),
        since,
        called: asKey<InstanceKey>(stringIn(cause, "processInstanceKey") ?? "") || undefined,
      };
    default:
      return { tone: "waiting", sentence: t.causes.unknown(text.words.kind(cause.for)), since };
  }
}

const order = { incident: 0, waiting: 1, active: 2 } as const;

/** What holds it up most comes first; an incident says all of what its job would say. */
export function causesOf(wait: Wait, now: number): Cause[] {
  const stuck = wait.waitsFor.some((cause) => cause.for === "INCIDENT");
  return wait.waitsFor
    .filter((cause) => !(stuck && cause.for === "JOB"))
    .map((cause) => causeOf(cause, now))
    .toSorted((a, b) => order[a.tone] - order[b.tone]);
}

/** Those that need somebody come first. */
export const byUrgency = (waits: readonly Wait[]): Wait[] =>
  waits.toSorted((a, b) => rank(a) - rank(b) || (a.since ?? "").localeCompare(b.since ?? ""));

const rank = (wait: Wait): number => (wait.waitsFor.some((cause) => cause.for === "INCIDENT") ? 0 : 1);
