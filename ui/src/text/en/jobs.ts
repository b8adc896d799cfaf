// Jobs: what is asked of workers.
import { number } from "../format";

export const jobs = {
  title: "Jobs",
  types: "Job types",
  find: "Find a type",
  noMatch: "No type has this name",
  none: "No jobs within a day",
  noneText: "No element has asked a worker for anything. Jobs appear as soon as an instance reaches a service task.",
  choose: "Choose a type to see its jobs and its workers.",
  noWorker: "no worker",
  noWorkerHint: "No worker has finished a job of this type within a day.",
  failed: (count: number) => `${number(count)} failed`,
  created: (count: number) => `${number(count)} asked for`,
  done: (count: number) => `${number(count)} done`,
  workers: "Workers of the last day",
  workersNone: (type: string) => `No worker has finished a job of the type ${type} within a day. Start one, or look whether it asks for another type.`,
  views: { open: "Open", failed: "Failed", all: "All" },
  listed: "Jobs",
  nothing: { open: "No open jobs of this type", failed: "No failed jobs of this type", all: "No jobs of this type" },
  instance: "Instance",
  element: "Element",
  state: "State",
  tries: "Tries left",
  worker: "Worker",
  since: "Created",
  error: "Error",
} as const;
