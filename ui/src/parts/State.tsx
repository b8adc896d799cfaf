// What state a thing is in: by shape and word, colour comes on top.
import { Ban, Check, CircleDashed, CircleDot, Clock, Pause, TriangleAlert } from "lucide-react";
import { text } from "../text";
import "./state.css";

const looks = {
  active: CircleDot,
  incident: TriangleAlert,
  waiting: Clock,
  ended: Check,
  cancelled: Ban,
  suspended: Pause,
  pending: CircleDashed,
} as const;
export type Look = keyof typeof looks;

const known: Record<string, Look> = {
  ACTIVE: "active",
  INCIDENT: "incident",
  COMPLETED: "ended",
  TERMINATED: "cancelled",
  CANCELED: "cancelled",
  SUSPENDED: "suspended",
  CREATED: "pending",
  PENDING: "pending",
  FAILED: "incident",
  ERROR_THROWN: "incident",
  TIMED_OUT: "waiting",
  RETRIES_UPDATED: "waiting",
  RESOLVED: "ended",
  EVALUATED: "ended",
  CORRELATED: "ended",
  PARTIALLY_COMPLETED: "waiting",
  SKIPPED: "cancelled",
  NOT_FOUND: "cancelled",
};

const lookOf = (state: string): Look => known[state] ?? "pending";

/** A pill with icon and word; `bare` leaves the word to the screen reader. */
export function State({ name, bare = false }: { name: string; bare?: boolean }) {
  const look = lookOf(name);
  const Icon = looks[look];
  const word = text.words.state(name);
  return (
    <span className={`state ${look}${bare ? " bare" : ""}`} title={bare ? word : undefined}>
      <Icon size={14} strokeWidth={2.25} aria-hidden="true" />
      <span className={bare ? "hidden" : undefined}>{word}</span>
    </span>
  );
}
