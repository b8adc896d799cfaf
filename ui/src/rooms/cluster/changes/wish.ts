// From what somebody has written to what the server is asked for.
import type { Step, Wanted } from "../../../api/management";
import { cluster as t } from "../../../text/cluster";

export interface Wish {
  add: string;
  remove: readonly number[];
  partitions: string;
  copies: string;
}

export const NONE: Wish = { add: "", remove: [], partitions: "", copies: "" };

export type Checked = { wanted: Wanted } | { wrong: Partial<Record<"add" | "partitions" | "copies" | "all", string>> };

/** Node ids with commas or spaces between them; `undefined` where one is none. */
export function idsIn(text: string): number[] | undefined {
  const parts = text.split(/[\s,]+/).filter((part) => part !== "");
  return parts.every((part) => /^\d{1,9}$/.test(part)) ? [...new Set(parts.map(Number))] : undefined;
}

const countIn = (text: string): number | undefined => (/^[1-9]\d{0,5}$/.test(text.trim()) ? Number(text.trim()) : undefined);

/** Only what differs from how the cluster is goes into the request. */
export function checked(wish: Wish, now: { partitions: number; copies: number }): Checked {
  const add = idsIn(wish.add);
  const partitions = wish.partitions.trim() === "" ? now.partitions : countIn(wish.partitions);
  const copies = wish.copies.trim() === "" ? now.copies : countIn(wish.copies);
  if (add === undefined || partitions === undefined || copies === undefined) {
    return {
      wrong: {
        ...(add === undefined ? { add: t.wrongIds } : {}),
        ...(partitions === undefined ? { partitions: t.wrongCount } : {}),
        ...(copies === undefined ? { copies: t.wrongCount } : {}),
      },
    };
  }
  const brokers = { ...(add.length > 0 ? { add } : {}), ...(wish.remove.length > 0 ? { remove: [...wish.remove] } : {}) };
  const counts = { ...(partitions === now.partitions ? {} : { count: partitions }), ...(copies === now.copies ? {} : { replicationFactor: copies }) };
  const wanted = { ...(Object.keys(brokers).length > 0 ? { brokers } : {}), ...(Object.keys(counts).length > 0 ? { partitions: counts } : {}) };
  return Object.keys(wanted).length === 0 ? { wrong: { all: t.wishNone } } : { wanted };
}

/** A step as people say it; one of a later version by its name. */
export function stepText({ operation, brokerId, partitionId, priority }: Step): string {
  const of = { broker: String(brokerId ?? "?"), partition: String(partitionId ?? "?"), priority: String(priority ?? "?") };
  const known = t.step[operation];
  if (known !== undefined) return known(of);
  const words = operation.toLowerCase().replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
