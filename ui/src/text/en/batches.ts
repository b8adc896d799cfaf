// Batch operations: work on many instances at a time.
import { number } from "../format";

const kinds: Record<string, string> = {
  CANCEL_PROCESS_INSTANCE: "Cancel process instances",
  RESOLVE_INCIDENT: "Retry incidents",
  MIGRATE_PROCESS_INSTANCE: "Migrate process instances",
  MODIFY_PROCESS_INSTANCE: "Modify process instances",
  DELETE_PROCESS_INSTANCE: "Delete process instances from history",
  DELETE_DECISION_INSTANCE: "Delete evaluations of decisions",
  DELETE_PROCESS_DEFINITION: "Delete a process definition",
};

export const batches = {
  title: "Batches",
  kind: (name: string) => kinds[name] ?? name.toLowerCase().replaceAll("_", " "),
  none: "No batch operations",
  noneText: "They begin where many instances are cancelled or retried at a time: on Processes and Incidents.",
  operation: "Operation",
  state: "State",
  progress: "Progress",
  started: "Started",
  ended: "Ended",
  key: "Key",
  done: (done: number, total: number) => `${number(done)} of ${number(total)}`,
  failed: (count: number) => `${number(count)} failed`,
  repeat: (count: string) => `Repeat the ${count} that failed`,
  failedOf: (count: string, key: string) => `${count} that failed in the batch operation ${key}`,
  items: "Items",
  failedOnly: "Failed only",
  allItems: "All",
  itemsNone: "No items",
  itemsNoneText: "What the filter finds is still being collected, or it found nothing.",
  itemsNoneFailed: "Nothing failed",
  item: "Instance",
  processed: "Done at",
  error: "Error",
  suspend: "Suspend",
  resume: "Resume",
  cancel: "Cancel",
  cancelText: "What was done stays done. The rest is left as it is.",
  gone: "There is no such batch operation",
  goneText: (key: string) => `None has the key ${key}.`,
} as const;
