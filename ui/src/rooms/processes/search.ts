// What the address of the list says: which process, which instances, in which order.
import { only } from "../../app/search";

export const STATES = ["active", "incident", "completed", "terminated"] as const;
export type State = (typeof STATES)[number];

const NAMES = ["process", "version", "state", "element", "error", "hash", "business", "key", "parent", "batch", "from", "to", "sort", "heat", "cols", "versus", "tenant", "after"] as const;
export type ProcessSearch = Partial<Record<(typeof NAMES)[number], string>> & { var?: string[]; or?: string[] };

/** What says how things are shown, and not which: it stays when filters are taken away. Whose they are is chosen for all pages. */
const SHOWN = ["sort", "heat", "cols", "tenant"] as const;

export const isFiltered = (search: ProcessSearch): boolean =>
  Object.entries(search).some(([name, value]) => value !== undefined && !(SHOWN as readonly string[]).includes(name));

export const withoutFilters = ({ sort, heat, cols, tenant }: ProcessSearch): ProcessSearch => ({ sort, heat, cols, tenant });

function texts(name: "var" | "or", value: unknown): ProcessSearch {
  const list = Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
  return list.length > 0 ? { [name]: list } : {};
}

export function processSearch(search: Record<string, unknown>): ProcessSearch {
  return { ...only(search, NAMES), ...texts("var", search.var), ...texts("or", search.or) };
}

/** What a saved view has of it: all but the place in the list, and whose they are. */
export const viewIn = (search: ProcessSearch): ProcessSearch => ({ ...search, after: undefined, tenant: undefined });
