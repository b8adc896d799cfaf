// What the address of the list says: which process, which instances, in which order.
import { only } from "../../app/search";

export const STATES = ["active", "incident", "completed", "terminated"] as const;
export type State = (typeof STATES)[number];

const NAMES = ["process", "version", "state", "element", "error", "hash", "business", "key", "parent", "batch", "from", "to", "sort", "heat", "cols", "versus", "tenant", "after"] as const;
export type ProcessSearch = Partial<Record<(typeof NAMES)[number], string>> & { var?: string[] };

/** What says how things are shown, and not which: it stays when filters are taken away. Whose they are is chosen for all pages. */
const SHOWN = ["sort", "heat", "cols", "tenant"] as const;

export const isFiltered = (search: ProcessSearch): boolean =>
  Object.entries(search).some(([name, value]) => value !== undefined && !(SHOWN as readonly string[]).includes(name));

export const withoutFilters = ({ sort, heat, cols, tenant }: ProcessSearch): ProcessSearch => ({ sort, heat, cols, tenant });

export function processSearch(search: Record<string, unknown>): ProcessSearch {
  const list = Array.isArray(search.var) ? search.var.filter((each) => typeof each === "string") : [];
  return { ...only(search, NAMES), ...(list.length > 0 ? { var: list } : {}) };
}

/** What a saved view has of it: all but the place in the list, and whose they are. */
export const viewIn = (search: ProcessSearch): ProcessSearch => ({ ...search, after: undefined, tenant: undefined });
