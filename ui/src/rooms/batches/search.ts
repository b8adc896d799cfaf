// What the address of a batch operation says: which of its items.
import { only } from "../../app/search";

const NAMES = ["items", "after"] as const;
export type BatchSearch = Partial<Record<(typeof NAMES)[number], string>>;

export const batchSearch = (search: Record<string, unknown>): BatchSearch => only(search, NAMES);
