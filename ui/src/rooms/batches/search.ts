// What the addresses of batch operations say: which of them, and which of the items of one.
import { only } from "../../app/search";

const OF_ALL = ["state", "type", "sort", "after"] as const;
export type BatchesSearch = Partial<Record<(typeof OF_ALL)[number], string>>;

export const batchesSearch = (search: Record<string, unknown>): BatchesSearch => only(search, OF_ALL);

const NAMES = ["items", "sort", "after"] as const;
export type BatchSearch = Partial<Record<(typeof NAMES)[number], string>>;

export const batchSearch = (search: Record<string, unknown>): BatchSearch => only(search, NAMES);
