// The feed of an instance: what happened, of all kinds, the newest first.
import type { Arrived, Sources } from "../../../api/feed";
import type { Deed } from "../../../api/audit";
import type { Incident } from "../../../api/incidents";
import type { ElementInstance, Instance, Job } from "../../../api/instances";

export type What =
  | { kind: "began" | "over"; of: Instance }
  | { kind: "started" | "ended"; of: ElementInstance }
  | { kind: "incident"; of: Incident }
  | { kind: "job"; of: Job }
  | { kind: "message"; of: Arrived }
  | { kind: "deed"; of: Deed };

export interface Happening {
  id: string;
  /** ISO 8601. */
  at: string;
  /** Of the element instance: at one moment those that began earlier come earlier. */
  key: string;
  what: What;
}

/** The order of what happens to one element at one moment. */
const PHASES: readonly What["kind"][] = ["began", "started", "message", "deed", "job", "incident", "ended", "over"];
/** Behind all keys, which have at most nineteen digits. */
const LAST = "9".repeat(20);

const wide = (key: string): string => key.padStart(20, "0");

/** Newest first. */
function compare(a: Happening, b: Happening): number {
  const byTime = Date.parse(b.at) - Date.parse(a.at);
  if (byTime !== 0) return byTime;
  const [one, other] = [wide(a.key), wide(b.key)];
  if (one !== other) return one < other ? 1 : -1;
  return PHASES.indexOf(b.what.kind) - PHASES.indexOf(a.what.kind);
}

const one = (id: string, at: string | null, key: string | null, what: What): Happening[] => (at === null ? [] : [{ id, at, key: key ?? "", what }]);

export interface Feed {
  happenings: Happening[];
  /** The moment behind which something is missing; nothing: it is whole. */
  goesOn: string | undefined;
}

/**
 * `limit` is how many of a kind were asked for: of one with more, what is older than its last is unknown, and so nothing older is shown.
 * `before` is the moment with which it begins.
 */
export function feedOf(instance: Instance, sources: Sources, limit: number, before?: string): Feed {
  const kinds: Happening[][] = [
    sources.started.flatMap((of) => one(`started ${of.elementInstanceKey}`, of.startDate, of.elementInstanceKey, { kind: "started", of })),
    sources.ended.flatMap((of) => one(`ended ${of.elementInstanceKey}`, of.endDate, of.elementInstanceKey, { kind: "ended", of })),
    sources.incidents.flatMap((of) => one(`incident ${of.incidentKey}`, of.creationTime, of.elementInstanceKey, { kind: "incident", of })),
    sources.jobs.flatMap((of) => one(`job ${of.jobKey}`, of.endTime, of.elementInstanceKey, { kind: "job", of })),
    sources.messages.flatMap((of) => one(`message ${of.messageKey} ${of.subscriptionKey}`, of.correlationTime, of.elementInstanceKey, { kind: "message", of })),
    sources.deeds.flatMap((of) => one(`deed ${of.auditLogKey}`, of.timestamp, of.elementInstanceKey, { kind: "deed", of })),
  ];
  const cut = kinds.filter((each) => each.length >= limit).map((each) => Date.parse(each.at(-1)?.at ?? ""));
  const horizon = Math.max(Number.NEGATIVE_INFINITY, ...cut);
  const ends = [...one("began", instance.startDate, "", { kind: "began", of: instance }), ...one("over", instance.endDate, LAST, { kind: "over", of: instance })];
  const happenings = [...kinds.flat(), ...ends].filter(({ at }) => Date.parse(at) >= horizon && !(Date.parse(at) > Date.parse(before ?? ""))).toSorted(compare);
  return { happenings, goesOn: cut.length === 0 ? undefined : new Date(horizon).toISOString() };
}
