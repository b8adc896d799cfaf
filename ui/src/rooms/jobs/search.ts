// What the address of the jobs says: which of them, in which order, and which types are listed.
import { only } from "../../app/search";

const NAMES = ["view", "find", "sort", "after"] as const;
export type JobSearch = Partial<Record<(typeof NAMES)[number], string>>;

export const jobSearch = (search: Record<string, unknown>): JobSearch => only(search, NAMES);
