// Questions about batch operations.
import { type Answer, get, post } from "./client";
import type { BatchKey } from "./keys";
import { PAGE, useList } from "./list";
import { live } from "./live";

export type Batch = Answer<"/batch-operations/search", "post">["items"][number];
export type BatchItem = Answer<"/batch-operation-items/search", "post">["items"][number];

/** The newest first. */
export const useBatches = () =>
  useList(["batches", "all"], (how, from) =>
    post("/batch-operations/search", {}, {
      sort: [{ field: "startDate", order: "DESC" }, { field: "batchOperationKey", order: "DESC" }],
      page: from === undefined ? { limit: PAGE } : { limit: PAGE, after: from },
    }, how), undefined, 2_000);

export const batch = (key: BatchKey) =>
  live(["batches", "one", key], (how) => get("/batch-operations/{batchOperationKey}", { batchOperationKey: key }, how), 2_000);

/** What became of each instance; `failed` leaves out the rest. */
export const useItems = (key: BatchKey, failed: boolean, after?: string) =>
  useList(["batches", "items", key, failed], (how, from) =>
    post("/batch-operation-items/search", {}, {
      filter: { batchOperationKey: key, ...(failed ? { state: "FAILED" as const } : {}) },
      sort: [{ field: "itemKey", order: "ASC" }],
      page: from === undefined ? { limit: PAGE } : { limit: PAGE, after: from },
    }, how), after, 2_000);

/** The instances for which it failed; as many as one command takes. */
export const failedKeys = (key: BatchKey) =>
  live(["batches", "failed", key], async (how) => {
    const { items } = await post("/batch-operation-items/search", {}, { filter: { batchOperationKey: key, state: "FAILED" as const }, page: { limit: 1000 } }, how);
    return items.flatMap((each) => each.processInstanceKey ?? []);
  }, 10_000);
