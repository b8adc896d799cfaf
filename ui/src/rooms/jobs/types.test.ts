// Types that nobody asks for stand first, and workers are known from both sides.
import { expect, it } from "vitest";
import type { JobType, JobTypes, JobWorker } from "../../api/jobs";
import { asksAt, isAlone, joined, workersOf } from "./types";

const NOW = Date.parse("2026-11-27T12:00:00Z");
const at = (seconds: number) => new Date(NOW - seconds * 1_000).toISOString();
const status = (count: number, lastUpdatedAt: string | null = null) => ({ count, lastUpdatedAt });
const counted = (jobType: string, failed: number): JobType => ({ jobType, created: status(1), completed: status(1), failed: status(failed), workers: 1 });
const asker = (name: string, seen: string | null, inFlight = 0) => ({ name, nodes: ["0"], ways: ["POLL" as const], inFlight, seen });
const known = (type: string, waiting: number, lastAsked: string | null): JobTypes["items"][number] => ({ type, waiting, oldest: null, lastAsked, workers: [] });

it("puts those first that wait without a worker, then those that fail", () => {
  const work: JobTypes = { since: at(600), isIncomplete: false, items: [known("asked", 5, at(9)), known("idle", 0, null), known("left", 1, at(90)), known("never", 1, null)] };
  const types = joined([counted("asked", 0), counted("old", 3)], work, NOW);
  expect(types.map(({ name }) => name)).toEqual(["left", "never", "old", "asked", "idle"]);
  expect(types.map((type) => isAlone(type, NOW))).toEqual([true, true, false, false, false]);
  expect(types[2]).toEqual({ name: "old", failed: 3, waiting: 0, oldest: null, lastAsked: null, workers: [] });
});

it("takes a worker for gone after a minute", () => {
  expect([asksAt(at(59), NOW), asksAt(at(60), NOW), asksAt(null, NOW)]).toEqual([true, false, false]);
});

it("joins who asks with who finished, under one name", () => {
  const both: JobWorker = { worker: "a", created: status(9), completed: status(7, at(50)), failed: status(2, at(40)) };
  const gone: JobWorker = { worker: "gone", created: status(1), completed: status(0), failed: status(1, at(500)) };
  const none: JobWorker = { worker: "", created: status(5), completed: status(0), failed: status(0) };
  const workers = workersOf([asker("a", at(3), 4), asker("new", null)], [none, both, gone]);
  expect(workers.map(({ name, done, failed, last }) => [name, done, failed, last])).toEqual([["a", 7, 2, at(3)], ["new", 0, 0, null], ["gone", 0, 1, at(500)]]);
  expect(workers.map(({ now }) => now?.inFlight)).toEqual([4, 0, undefined]);
});
