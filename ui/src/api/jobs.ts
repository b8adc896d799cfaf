// Questions about jobs: what is asked of workers, and who answers.
import { type Answer, type Body, command, get, patch, post } from "./client";
import type { JobKey } from "./keys";
import { PAGE, useList } from "./list";
import { done, live } from "./live";
import { orderIn, withKey } from "./order";
import { here } from "./tenant";

export type JobRow = Answer<"/jobs/search", "post">["items"][number];
export type JobTypes = Answer<"/skep/v1/job-types", "get">;
export type JobType = Answer<"/jobs/statistics/by-types", "post">["items"][number];
export type JobWorker = Answer<"/jobs/statistics/by-workers", "post">["items"][number];
type JobFilter = NonNullable<Body<"/jobs/search", "post">["filter"]>;

const DAY = 86_400_000;

/** The last day, as the statistics count it. */
const day = () => ({ from: new Date(Date.now() - DAY).toISOString(), to: new Date(Date.now() + 60_000).toISOString() });

/** Types of jobs that were asked for, done or failed within a day. */
export const jobTypes = () =>
  live(["jobs", "types"], (how) => post("/jobs/statistics/by-types", {}, { filter: day(), page: { limit: 1000 } }, how), 10_000);

/** Which types wait for a worker now, and who asks for them. */
export const jobWork = () => live(["jobs", "work"], (how) => get("/skep/v1/job-types", {}, { signal: how.signal }), 5_000);

/** Who did, or failed, jobs of a type within a day. */
export const jobWorkers = (type: string) =>
  live(["jobs", "workers", type], (how) => post("/jobs/statistics/by-workers", {}, { filter: { ...day(), jobType: type }, page: { limit: 100 } }, how), 10_000);

/** How many jobs of a type were created, completed and failed from a moment on, in milliseconds. */
export interface JobSlot {
  from: number;
  created: number;
  completed: number;
  failed: number;
}

const SLOT = 300_000;
const SLOTS = 12;

type Counted = Pick<Answer<"/jobs/statistics/time-series", "post">["items"][number], "time" | "created" | "completed" | "failed">;

/** The slots of an hour until `end`: an answer leaves out those in which nothing happened. */
export function hourOf(items: readonly Counted[], end: number): JobSlot[] {
  return Array.from({ length: SLOTS }, (_, at) => {
    const from = end - (SLOTS - at) * SLOT;
    const within = items.filter(({ time }) => Date.parse(time) >= from && Date.parse(time) < from + SLOT);
    const sum = (of: "created" | "completed" | "failed") => within.reduce((total, each) => total + each[of].count, 0);
    return { from, created: sum("created"), completed: sum("completed"), failed: sum("failed") };
  });
}

/** What became of the jobs of a type within the hour. */
export const jobHour = (jobType: string) =>
  live(["jobs", "hour", jobType], async (how) => {
    const end = Math.floor(Date.now() / SLOT + 1) * SLOT;
    const span = { from: new Date(end - SLOTS * SLOT).toISOString(), to: new Date(end).toISOString() };
    const { items } = await post("/jobs/statistics/time-series", {}, { filter: { ...span, jobType, resolution: "PT5M" }, page: { limit: 100 } }, how);
    return hourOf(items, end);
  }, 10_000);

/** What a worker could still be given, or has in hand. */
const OPEN: JobFilter["state"] = { $in: ["CREATED", "FAILED", "RETRIES_UPDATED", "TIMED_OUT", "MIGRATED"] };
export const VIEWS = ["open", "failed", "all"] as const;
export type View = (typeof VIEWS)[number];

const filterOf = (type: string, view: View): JobFilter =>
  view === "open" ? { type, state: OPEN } : view === "failed" ? { type, state: "FAILED" } : { type };

const SORTS = ["processInstanceKey", "elementId", "worker", "errorMessage", "retries", "creationTime", "jobKey"] as const;
/** The oldest of a partition first while they are open, unless the address says otherwise. */
export const jobOrder = (sort: string | undefined, view: View) => orderIn(sort, SORTS, { field: "jobKey", order: view === "all" ? "DESC" : "ASC" });

/** Jobs of a type. */
export const useJobs = (type: string, view: View, order: ReturnType<typeof jobOrder>, after?: string) =>
  useList(["jobs", "list", type, view, order], (how, from) =>
    post("/jobs/search", {}, {
      filter: { ...filterOf(type, view), ...here() },
      sort: withKey(order, "jobKey"),
      page: from === undefined ? { limit: PAGE } : { limit: PAGE, after: from },
    }, how), after);

export interface JobChange {
  /** Tries left. */
  retries?: number;
  /** Milliseconds from now on, for the worker that has it. */
  timeout?: number;
}

export const changeJob = (key: JobKey, changeset: JobChange): Promise<void> => done(patch("/jobs/{jobKey}", { jobKey: key }, { changeset }));

/** Done as a worker would have done it; `variables` is JSON text. */
export const completeJob = (key: JobKey, variables: string): Promise<unknown> =>
  done(command("/jobs/{jobKey}/completion", { jobKey: key }, `{"variables":${variables}}`));

/** Failed as by a worker: with no tries left there is an incident. */
export const failJob = (key: JobKey, errorMessage: string, retries: number): Promise<void> =>
  done(post("/jobs/{jobKey}/failure", { jobKey: key }, { errorMessage, retries }));

/** Ended in an error that the model catches, or nobody does. */
export const throwError = (key: JobKey, errorCode: string, variables: string): Promise<unknown> =>
  done(command("/jobs/{jobKey}/error", { jobKey: key }, `{"errorCode":${JSON.stringify(errorCode)},"variables":${variables}}`));
