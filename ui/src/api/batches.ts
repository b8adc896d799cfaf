// Questions about batch operations.
import { type Answer, type Body, get, post } from "./client";
import type { BatchKey } from "./keys";
import { PAGE, useList } from "./list";
import { live, once } from "./live";
import { orderIn, withKey } from "./order";

export type Batch = Answer<"/batch-operations/search", "post">["items"][number];
export type BatchRequest = Answer<"/skep/v1/batch-operations/{batchOperationKey}/request", "get">;
export type BatchItem = Answer<"/batch-operation-items/search", "post">["items"][number];

type BatchFilter = NonNullable<Body<"/batch-operations/search", "post">["filter"]>;

export const STATES = ["CREATED", "ACTIVE", "SUSPENDED", "COMPLETED", "PARTIALLY_COMPLETED", "FAILED", "CANCELED"] as const satisfies readonly Batch["state"][];
export const TYPES = [
  "CANCEL_PROCESS_INSTANCE", "RESOLVE_INCIDENT", "MIGRATE_PROCESS_INSTANCE", "MODIFY_PROCESS_INSTANCE", "DELETE_PROCESS_INSTANCE", "DELETE_DECISION_INSTANCE",
  "DELETE_PROCESS_DEFINITION",
] as const satisfies readonly Batch["batchOperationType"][];

const SORTS = ["operationType", "state", "startDate", "endDate", "batchOperationKey"] as const;
/** The newest first, unless the address says otherwise. */
export const batchOrder = (sort: string | undefined) => orderIn(sort, SORTS, { field: "startDate", order: "DESC" });

export const useBatches = (filter: BatchFilter, order: ReturnType<typeof batchOrder>, after?: string) =>
  useList(["batches", "all", filter, order], (how, from) =>
    post("/batch-operations/search", {}, {
      filter,
      sort: withKey(order, "batchOperationKey"),
      page: from === undefined ? { limit: PAGE } : { limit: PAGE, after: from },
    }, how), after, 2_000);

export const batch = (key: BatchKey) =>
  live(["batches", "one", key], (how) => get("/batch-operations/{batchOperationKey}", { batchOperationKey: key }, how), 2_000);

/** By which filter and plan it was requested. */
export const request = (key: BatchKey) =>
  once(["batches", "request", key], (how) => get("/skep/v1/batch-operations/{batchOperationKey}/request", { batchOperationKey: key }, how));

const ITEM_SORTS = ["processInstanceKey", "state", "processedDate", "itemKey"] as const;
/** By their keys, unless the address says otherwise. */
export const itemOrder = (sort: string | undefined) => orderIn(sort, ITEM_SORTS, { field: "itemKey", order: "ASC" });

/** What became of each instance; `failed` leaves out the rest. */
export const useItems = (key: BatchKey, failed: boolean, order: ReturnType<typeof itemOrder>, after?: string) =>
  useList(["batches", "items", key, failed, order], (how, from) =>
    post("/batch-operation-items/search", {}, {
      filter: { batchOperationKey: key, ...(failed ? { state: "FAILED" as const } : {}) },
      sort: withKey(order, "itemKey"),
      page: from === undefined ? { limit: PAGE } : { limit: PAGE, after: from },
    }, how), after, 2_000);

/** The instances for which it failed; as many as one command takes. */
export const failedKeys = (key: BatchKey) =>
  live(["batches", "failed", key], async (how) => {
    const { items } = await post("/batch-operation-items/search", {}, { filter: { batchOperationKey: key, state: "FAILED" as const }, page: { limit: 1000 } }, how);
    return items.flatMap((each) => each.processInstanceKey ?? []);
  }, 10_000);

const FAILURES = 1_000;
const ROUNDS = 5;

/** What was said of those that failed, as far as one can read at once. */
export const failures = (key: BatchKey) =>
  live(["batches", "failures", key], async (how) => {
    const messages: string[] = [];
    let after: string | null = null;
    for (let round = 0; round < ROUNDS; round++) {
      const { items, page }: Answer<"/batch-operation-items/search", "post"> = await post("/batch-operation-items/search", {}, {
        filter: { batchOperationKey: key, state: "FAILED" as const },
        sort: [{ field: "itemKey", order: "ASC" }],
        page: after === null ? { limit: FAILURES } : { limit: FAILURES, after },
      }, how);
      messages.push(...items.map((each) => each.errorMessage ?? ""));
      after = page.endCursor;
      if (items.length < FAILURES || after === null) return { messages, isWhole: true };
    }
    return { messages, isWhole: false };
  }, 10_000);
