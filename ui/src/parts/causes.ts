// From what the server says holds an instance up to a sentence: what it is, since when, and what would free it.
import type { Finding } from "../api/instances";
import { type IncidentKey, type InstanceKey, type JobKey, asKey } from "../api/keys";
import { text } from "../text";
import { exact, fromNow, span } from "../text/format";
import { countIn, stringIn, stringsIn } from "./fields";

const t = text.instance;

export interface Cause {
  tone: "incident" | "waiting" | "active";
  sentence: string;
  /** The name in the sentence that is one of the model: a job type, a message. */
  detail?: string;
  remedy?: string;
  since: string | null | undefined;
  /** It waits longer than elements like it usually take. */
  late?: string;
  incident?: { key: IncidentKey; job: JobKey | undefined };
  called?: InstanceKey;
}

type Said = Omit<Cause, "remedy" | "since" | "late">;

/** What is only some seconds late needs nobody, however quick it usually is. */
const SOON = 10_000;

/** Whether its element waits longer than 19 of 20 of its kind took. An incident says more than that. */
export function isLate({ cause, started, usualMs }: Pick<Finding, "cause" | "started" | "usualMs">, now: number): boolean {
  if (cause === "INCIDENT" || started === null || usualMs === null) return false;
  return now - Date.parse(started) > Math.max(usualMs, SOON);
}

/** The elements that wait longer than usual: of each, how many instances do. */
export function lateIn(findings: readonly Finding[], now: number): ReadonlyMap<string, number> {
  const late = new Map<string, Set<string>>();
  for (const finding of findings) {
    const { elementId: id, elementInstanceKey: key } = finding;
    if (id !== null && isLate(finding, now)) late.set(id, (late.get(id) ?? new Set()).add(key));
  }
  return new Map([...late].map(([id, keys]) => [id, keys.size]));
}

function job({ cause, facts }: Finding, now: number): Said {
  const type = stringIn(facts, "type") ?? "?";
  const asked = stringIn(facts, "lastAsked");
  if (cause === "JOB_AT_WORK") {
    return { tone: "active", sentence: t.causes.jobAtWork(stringIn(facts, "worker") ?? "?", type), detail: t.causes.jobUntil(fromNow(stringIn(facts, "deadline") ?? "", now)) };
  }
  if (cause === "JOB_RETRIED") return { tone: "waiting", sentence: t.causes.jobBackOff(type), detail: t.causes.jobRetries(countIn(facts, "retries")) };
  if (cause === "JOB_WAITS") return { tone: "waiting", sentence: t.causes.jobWaits(type), detail: asked && t.causes.jobAsked(fromNow(asked, now)) };
  const noted = stringIn(facts, "workersNotedSince");
  return { tone: "waiting", sentence: t.causes.jobAlone(type), detail: asked ? t.causes.jobAsked(fromNow(asked, now)) : noted && t.causes.jobNever(exact(noted)) };
}

function task({ facts }: Finding, now: number): Said {
  const assignee = stringIn(facts, "assignee");
  const groups = [...stringsIn(facts, "candidateUsers"), ...stringsIn(facts, "candidateGroups")];
  const due = stringIn(facts, "dueDate");
  const sentence = assignee ? t.causes.taskOf(assignee) : groups.length > 0 ? t.causes.taskGroups(groups.join(", ")) : t.causes.task;
  return { tone: "waiting", sentence, detail: due && t.causes.taskDue(fromNow(due, now)) };
}

const nameIn = (each: unknown): string => (typeof each === "object" && each !== null && "elementName" in each && typeof each.elementName === "string" ? each.elementName : "?");

/** The elements from which an incoming flow of a gateway comes. */
function sources(facts: Finding["facts"], name: "arrived" | "missing"): string {
  const list = facts[name];
  return Array.isArray(list) ? text.words.all(list.map(nameIn)) : "?";
}

function said(finding: Finding, now: number): Said {
  const { cause, facts } = finding;
  switch (cause) {
    case "INCIDENT":
      return {
        tone: "incident",
        sentence: t.causes.incident(text.words.error(stringIn(facts, "errorType") ?? "UNKNOWN")),
        detail: stringIn(facts, "errorMessage"),
        incident: { key: asKey(stringIn(facts, "incidentKey") ?? ""), job: asKey<JobKey>(stringIn(facts, "jobKey") ?? "") || undefined },
      };
    case "JOB_WITHOUT_WORKER":
    case "JOB_WAITS":
    case "JOB_RETRIED":
    case "JOB_AT_WORK":
      return job(finding, now);
    case "USER_TASK":
      return task(finding, now);
    case "MESSAGE": {
      const key = stringIn(facts, "correlationKey");
      return { tone: "waiting", sentence: t.causes.message(stringIn(facts, "messageName") ?? "?"), detail: key && t.causes.messageKey(key) };
    }
    case "TIMER": {
      const due = stringIn(facts, "dueDate");
      return { tone: "active", sentence: t.causes.timer(due ? fromNow(due, now) : "?") };
    }
    case "SIGNAL":
      return { tone: "waiting", sentence: t.causes.signal(stringIn(facts, "signalName") ?? "?") };
    case "CONDITION":
      return { tone: "waiting", sentence: t.causes.condition(stringIn(facts, "condition") ?? "?") };
    case "CALLED_INSTANCE":
      return {
        tone: "waiting",
        sentence: t.causes.called(stringIn(facts, "processDefinitionId") ?? "?"),
        called: asKey<InstanceKey>(stringIn(facts, "processInstanceKey") ?? "") || undefined,
      };
    case "JOIN":
      return { tone: "waiting", sentence: t.causes.join(sources(facts, "missing")), detail: t.causes.joinArrived(sources(facts, "arrived")) };
    case "UNKNOWN":
      return { tone: "active", sentence: t.nothing };
    default:
      // Of a later version.
      return { tone: "waiting", sentence: t.causes.unknown(text.words.kind(cause)) };
  }
}

/** The retry of an incident is a button; other remedies are read. */
export function causeOf(finding: Finding, now: number): Cause {
  const cause = said(finding, now);
  const remedy = cause.incident !== undefined || cause.called !== undefined ? undefined : (finding.remedy ?? undefined);
  if (!isLate(finding, now)) return { ...cause, remedy, since: finding.since };
  const late = t.causes.late(span(now - Date.parse(finding.started ?? "")), span(finding.usualMs ?? 0));
  return { ...cause, tone: "waiting", late, remedy, since: finding.since };
}

/** An element instance with all that holds it up. */
export interface Place {
  key: Finding["elementInstanceKey"];
  id: string | null;
  name: string | null;
  findings: readonly Finding[];
}

/** Findings by where they are, in the order in which they came: the server puts those first that need somebody. */
export function placesOf(findings: readonly Finding[]): Place[] {
  const places = new Map<string, Place>();
  for (const finding of findings) {
    const { elementInstanceKey: key, elementId: id, elementName: name } = finding;
    // Gateways that have not begun have the key of the scope that they are in.
    const place = `${key} ${id}`;
    places.set(place, { key, id, name, findings: [...(places.get(place)?.findings ?? []), finding] });
  }
  return [...places.values()];
}
