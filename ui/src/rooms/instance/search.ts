// What the address of an instance says: which of its parts is looked at.
import { only } from "../../app/search";

export const TABS = ["variables", "incidents", "jobs", "messages"] as const;
export type Tab = (typeof TABS)[number];
const NAMES = ["element", "scope", "tab"] as const;
export type InstanceSearch = Partial<Record<(typeof NAMES)[number], string>>;

export const instanceSearch = (search: Record<string, unknown>): InstanceSearch => only(search, NAMES);
