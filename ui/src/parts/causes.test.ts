// Why an instance does not go on, in sentences.
import { expect, test } from "vitest";
import type { Finding } from "../api/instances";
import { asKey } from "../api/keys";
import { causeOf, isLate, lateIn, placesOf } from "./causes";

const NOW = Date.parse("2026-11-23T12:00:00Z");
const finding = (cause: string, facts: Record<string, unknown> = {}, remedy: string | null = null, key = "1"): Finding =>
  ({ elementInstanceKey: asKey(key), elementId: "charge", elementName: "Charge", type: "SERVICE_TASK", since: "2026-11-23T11:00:00Z", started: "2026-11-23T11:00:00Z", usualMs: null, cause, facts, remedy }) as Finding;
const said = (found: Finding) => {
  const { sentence, detail } = causeOf(found, NOW);
  return [sentence, detail];
};

test("a job that nobody asks for names its type, when somebody asked last, and what to do", () => {
  const facts = { type: "charge-card", worker: "", lastAsked: "2026-11-23T11:58:00Z" };
  expect(causeOf(finding("JOB_WITHOUT_WORKER", facts, "Start a worker."), NOW)).toMatchObject({
    tone: "waiting", sentence: "No worker asks for charge-card", detail: "the last one asked 2m ago", remedy: "Start a worker.",
  });
  expect(said(finding("JOB_WITHOUT_WORKER", { type: "t", lastAsked: null, workersNotedSince: "2026-11-23T11:00:00Z" }))[1]).toMatch(/^none has asked since .*2026/);
});

test("a job at work names its worker, and says when its time is over", () => {
  const job = { type: "t", worker: "w-1", retries: 3, deadline: "2026-11-23T12:10:00Z" };
  expect(said(finding("JOB_AT_WORK", job))).toEqual(["Worker w-1 is at work on t", "its time ends in 10m"]);
  expect(said(finding("JOB_RETRIED", { type: "t", retries: 1 }))).toEqual(["The job t failed and is tried again", "1 try left"]);
  expect(said(finding("JOB_WAITS", { type: "t", lastAsked: "2026-11-23T11:59:30Z" }))).toEqual(["No worker has taken the job t", "the last one asked 30s ago"]);
});

test("an incident is retried, with its job or without one", () => {
  const facts = { incidentKey: "7", jobKey: "8", errorType: "JOB_NO_RETRIES", errorMessage: "no" };
  expect(causeOf(finding("INCIDENT", facts, "Mend it."), NOW)).toMatchObject({
    tone: "incident", sentence: "Job failed, no tries left", detail: "no", incident: { key: "7", job: "8" }, remedy: undefined,
  });
  expect(causeOf(finding("INCIDENT", { incidentKey: "7", errorType: "IO_MAPPING_ERROR" }), NOW).incident).toEqual({ key: "7", job: undefined });
});

test("message, timer and called instance say what is to come", () => {
  expect(said(finding("MESSAGE", { messageName: "paid", correlationKey: "i-1" }))).toEqual(["Waits for the message paid", "with the correlation key i-1"]);
  expect(said(finding("TIMER", { dueDate: "2026-11-23T14:00:00Z" }))).toEqual(["Waits for its timer, due in 2h", undefined]);
  expect(causeOf(finding("CALLED_INSTANCE", { processInstanceKey: "9", processDefinitionId: "p" }), NOW)).toMatchObject({ sentence: "Waits for the called process p", called: "9" });
});

test("a task says who is to do it, and by when", () => {
  expect(said(finding("USER_TASK", { candidateGroups: ["managers"], candidateUsers: [], dueDate: "2026-11-25T12:00:00Z" }))).toEqual(["Waits for a member of managers", "due in 2d"]);
  expect(said(finding("USER_TASK", { assignee: "anna" }))).toEqual(["Waits for anna", undefined]);
});

test("what a later server says is told as it is", () => {
  expect(said(finding("NEW_MOON"))).toEqual(["Waits for New moon", undefined]);
});

test("what holds one element up stands together, in the server's order", () => {
  const [stuck, message, timer] = [finding("INCIDENT", {}, null, "2"), finding("MESSAGE"), finding("TIMER")];
  expect(placesOf([stuck, message, timer]).map(({ key, findings }) => [key, findings])).toEqual([["2", [stuck]], ["1", [message, timer]]]);
});

test("what waits longer than nearly all before it says so, and an incident says more", () => {
  const late = (cause: string, usualMs: number | null) => isLate({ ...finding(cause), usualMs }, NOW);
  expect([late("JOB_WAITS", null), late("JOB_WAITS", 3_600_000), late("JOB_WAITS", 3_599_999), late("INCIDENT", 1)]).toEqual([false, false, true, false]);
  expect(causeOf({ ...finding("TIMER", { dueDate: "2026-11-23T11:30:00Z" }), usualMs: 1_800_000 }, NOW)).toMatchObject({
    tone: "waiting", late: "Longer than usual: 1 h so far, mostly done within 30 min",
  });
  expect(causeOf({ ...finding("TIMER", {}), usualMs: 7_200_000 }, NOW)).toMatchObject({ tone: "active" });
});

test("seconds are not late, however quick it usually is", () => {
  const young = { ...finding("JOB_WAITS"), started: "2026-11-23T11:59:51Z", usualMs: 3 };
  expect([isLate(young, NOW), isLate(young, NOW + 2_000)]).toEqual([false, true]);
});

const of = (key: string, cause: string): Finding => ({ ...finding(cause, {}, null, key), usualMs: 60_000 });

test("on a drawing instances count, not what each of them waits for", () => {
  expect([...lateIn([of("1", "MESSAGE"), of("1", "TIMER"), of("2", "MESSAGE"), of("3", "INCIDENT")], NOW)]).toEqual([["charge", 2]]);
});

const from = (...names: string[]) => names.map((elementName) => ({ elementName }));

test("a gateway says from where tokens are missing", () => {
  const facts = { arrived: from("Charge"), missing: from("Pack", "Check", "Print") };
  expect(said(finding("JOIN", facts))).toEqual(["Waits for the token from Pack, Check, and Print", "the one from Charge is there"]);
});

const at = (elementId: string): Finding => ({ ...finding("JOIN", { arrived: [], missing: [] }), elementId });

test("two gateways of one scope are two places", () => {
  expect(placesOf([at("a"), at("b"), at("a")]).map(({ id, findings }) => [id, findings.length])).toEqual([["a", 2], ["b", 1]]);
});
