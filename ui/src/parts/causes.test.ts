// Why an instance does not go on, in sentences.
import { expect, test } from "vitest";
import type { Wait } from "../api/instances";
import { asKey } from "../api/keys";
import { byUrgency, causesOf } from "./causes";

const NOW = Date.parse("2026-11-23T12:00:00Z");
const wait = (...waitsFor: Record<string, unknown>[]): Wait =>
  ({ elementInstanceKey: asKey("1"), elementId: "charge", elementName: "Charge", type: "SERVICE_TASK", since: "2026-11-23T11:00:00Z", waitsFor: waitsFor }) as Wait;
const said = (found: Wait) => causesOf(found, NOW).map(({ sentence, detail }) => [sentence, detail]);

test("a job that nobody has taken names its type and what to start", () => {
  const [cause] = causesOf(wait({ for: "JOB", type: "charge-card", worker: "", retries: 3, state: "CREATED" }), NOW);
  expect(cause).toMatchObject({ tone: "waiting", sentence: "No worker has taken the job charge-card", remedy: "Start a worker for jobs of the type charge-card." });
});

test("a job at work names its worker, and says when its time is over", () => {
  const job = { for: "JOB", type: "t", worker: "w-1", retries: 3, state: "CREATED" };
  expect(said(wait({ ...job, deadline: "2026-11-23T12:10:00Z" }))).toEqual([["Worker w-1 is at work on t", "its time ends in 10m"]]);
  expect(said(wait({ ...job, deadline: "2026-11-23T11:59:00Z" }))).toEqual([["Worker w-1 is at work on t", "its time is over; another worker may take it"]]);
});

test("an incident is said once, and not again as its job", () => {
  const found = causesOf(wait({ for: "JOB", type: "t", state: "FAILED", retries: 0 }, { for: "INCIDENT", incidentKey: "7", jobKey: "8", errorType: "JOB_NO_RETRIES", errorMessage: "no" }), NOW);
  expect(found).toMatchObject([{ tone: "incident", sentence: "Job failed, no tries left", detail: "no", incident: { key: "7", job: "8" } }]);
});

test("an incident without a job is retried without one", () => {
  const [cause] = causesOf(wait({ for: "INCIDENT", incidentKey: "7", errorType: "IO_MAPPING_ERROR" }), NOW);
  expect(cause?.incident).toEqual({ key: "7", job: undefined });
});

test("of message and timer the message comes first: somebody has to send it", () => {
  const timer = { for: "TIMER", dueDate: "2026-11-23T14:00:00Z" };
  const message = { for: "MESSAGE", messageName: "paid", correlationKey: "i-1" };
  expect(said(wait(timer, message))).toEqual([["Waits for the message paid", "with the correlation key i-1"], ["Waits for its timer, due in 2h", undefined]]);
});

test("a task says who is to do it, and by when", () => {
  expect(said(wait({ for: "USER_TASK", candidateGroups: ["managers"], candidateUsers: [], dueDate: "2026-11-25T12:00:00Z" }))).toEqual([["Waits for somebody of managers", "due in 2d"]]);
  expect(said(wait({ for: "USER_TASK", assignee: "anna" }))).toEqual([["Waits for anna", undefined]]);
});

test("what a later server says is told as it is", () => {
  expect(said(wait({ for: "NEW_MOON" }))).toEqual([["Waits for New moon", undefined]]);
});

test("what needs somebody comes first", () => {
  const [calm, stuck] = [wait({ for: "TIMER" }), wait({ for: "INCIDENT" })];
  expect(byUrgency([calm, stuck])).toEqual([stuck, calm]);
});
