// The feed is in the order of time, and shows nothing of a time of which it does not know everything.
import { expect, it } from "vitest";
import type { Sources } from "../../../api/feed";
import type { ElementInstance, Instance } from "../../../api/instances";
import { feedOf } from "./feed";

const at = (ms: number) => new Date(Date.UTC(2026, 10, 28, 12) + ms).toISOString();
const element = (key: string, from: number, to: number | null) => ({ elementInstanceKey: key, startDate: at(from), endDate: to === null ? null : at(to) }) as ElementInstance;
const newest = (field: "startDate" | "endDate", all: ElementInstance[]) => all.toSorted((a, b) => Date.parse(b[field] ?? "") - Date.parse(a[field] ?? ""));
const sources = (all: ElementInstance[], limit: number, more: Partial<Sources> = {}): Sources => ({
  started: newest("startDate", all).slice(0, limit),
  ended: newest("endDate", all.filter((each) => each.endDate !== null)).slice(0, limit),
  incidents: [], jobs: [], messages: [], deeds: [], withoutDeeds: false, ...more,
});
const instance = (endDate: string | null) => ({ startDate: at(0), endDate }) as Instance;
const ids = (of: Instance, from: Sources, limit: number) => feedOf(of, from, limit).happenings.map(({ id }) => id);

it("keeps the order of what happens at one moment", () => {
  const all = [element("9", 0, 0), element("10", 0, 5)];
  expect(ids(instance(at(5)), sources(all, 100), 100)).toEqual(["over", "ended 10", "started 10", "ended 9", "started 9", "began"]);
});

it("puts what happens to an element between its start and its end", () => {
  const job = { jobKey: "3", elementInstanceKey: "2", endTime: at(7) } as Sources["jobs"][number];
  const deed = { auditLogKey: "4", elementInstanceKey: "2", timestamp: at(7) } as Sources["deeds"][number];
  const from = sources([element("2", 7, 7)], 100, { jobs: [job], deeds: [deed] });
  expect(ids(instance(null), from, 100)).toEqual(["ended 2", "job 3", "deed 4", "started 2", "began"]);
});

it("shows nothing older than what it knows of every kind", () => {
  const all = [1, 2, 3, 4].map((n) => element(String(n), n * 10, n === 1 ? 100 : null));
  const some = feedOf(instance(null), sources(all, 2), 2);
  // The end of the first is new, the starts before the third are not known.
  expect(some.happenings.map(({ id }) => id)).toEqual(["ended 1", "started 4", "started 3"]);
  expect(some.goesOn).toBe(at(30));
  const whole = feedOf(instance(null), sources(all, 5), 5);
  expect(whole.goesOn).toBeUndefined();
  expect(whole.happenings).toHaveLength(6);
});

it("goes on with the moment behind which something was missing, and shows nothing newer", () => {
  const all = [1, 2, 3, 4].map((n) => element(String(n), n * 10, n === 1 ? 100 : null));
  const until = all.filter((each) => Date.parse(each.startDate) <= Date.parse(at(30)));
  const rest = feedOf(instance(at(200)), { ...sources(until, 5), ended: [] }, 5, at(30));
  expect(rest.happenings.map(({ id }) => id)).toEqual(["started 3", "started 2", "started 1", "began"]);
  expect(rest.goesOn).toBeUndefined();
});
