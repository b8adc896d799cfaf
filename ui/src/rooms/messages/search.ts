// What the address of the messages says: which list, and what narrows it.
import { only } from "../../app/search";

const NAMES = ["view", "name", "key", "process", "sort", "after"] as const;
export type MessageSearch = Partial<Record<(typeof NAMES)[number], string>>;

export const messageSearch = (search: Record<string, unknown>): MessageSearch => only(search, NAMES);

export const VIEWS = ["waiting", "came", "timers", "signals", "conditions"] as const;
export type View = (typeof VIEWS)[number];
