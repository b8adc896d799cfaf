// Words that many screens share: states, causes, failures.
import { number } from "../format";

const states: Record<string, string> = {
  ACTIVE: "Active",
  INCIDENT: "Incident",
  COMPLETED: "Completed",
  TERMINATED: "Cancelled",
  CANCELED: "Cancelled",
  SUSPENDED: "Suspended",
  CREATED: "Created",
  FAILED: "Failed",
  EVALUATED: "Evaluated",
  ERROR_THROWN: "Error thrown",
  TIMED_OUT: "Timed out",
  RETRIES_UPDATED: "Retries updated",
  MIGRATED: "Migrated",
  RESOLVED: "Resolved",
  PENDING: "Pending",
  PARTIALLY_COMPLETED: "Partly completed",
  CORRELATED: "Correlated",
  DELETED: "Deleted",
  SKIPPED: "Skipped",
  NOT_FOUND: "Not found",
};

const errors: Record<string, string> = {
  JOB_NO_RETRIES: "Job failed, no tries left",
  EXECUTION_LISTENER_NO_RETRIES: "Execution listener failed",
  TASK_LISTENER_NO_RETRIES: "Task listener failed",
  AD_HOC_SUB_PROCESS_NO_RETRIES: "Job of the sub-process failed",
  IO_MAPPING_ERROR: "A mapping failed",
  CONDITION_ERROR: "A condition failed",
  EXTRACT_VALUE_ERROR: "An expression failed",
  CALLED_ELEMENT_ERROR: "The process to call was not found",
  CALLED_DECISION_ERROR: "The decision to call was not found",
  DECISION_EVALUATION_ERROR: "A decision failed",
  UNHANDLED_ERROR_EVENT: "A BPMN error was not caught",
  MESSAGE_SIZE_EXCEEDED: "Too large",
  FORM_NOT_FOUND: "The form was not found",
  RESOURCE_NOT_FOUND: "A resource was not found",
};

/** SERVICE_TASK as "Service task". */
const sentence = (constant: string): string => {
  const words = constant.toLowerCase().replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
};

const lists = new Intl.ListFormat("en", { type: "conjunction" });

export const words = {
  all: (names: readonly string[]): string => lists.format(names),
  state: (name: string) => states[name] ?? sentence(name),
  error: (name: string) => errors[name] ?? sentence(name),
  kind: sentence,
  /** One instance, 2 instances. */
  count: (count: number, one: string, many: string) => `${number(count)} ${count === 1 ? one : many}`,
  loading: "Loading",
  retry: "Try again",
  more: "Show more",
  less: "Show less",
  close: "Close",
  cancel: "Never mind",
  none: "none",
  cutOn: (shown: string, total: string) => `${shown} more of ${total} are listed.`,
  fromStart: "Back to the beginning",
  cut: (shown: string, total: string) => `Only ${shown} of ${total} are listed.`,
  explain: "What it means, and what to do",
  failure: {
    NO_ANSWER: "The server did not answer",
    NO_ANSWER_detail: "It may have stopped, or the network between here and there is down. This page retries automatically.",
    off: "This server keeps no history to search",
    offDetail: "Its secondary storage is switched off (camunda.data.secondary-storage.type: none). Commands and jobs work; lists, counts and histories need it.",
    absent: "This server does not have that yet",
  },
} as const;
