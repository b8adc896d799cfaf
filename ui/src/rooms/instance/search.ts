// What the address of an instance says: which of its parts is looked at.
import { only } from "../../app/search";

export const TABS = ["variables", "incidents", "jobs", "messages", "mappings", "feed", "audit"] as const;
export type Tab = (typeof TABS)[number];
/**
 * `after`: where the list of the tab begins; `history`: where the history of a scope does; `do`: what is being changed; `to`: the definition that a migration goes to; `at`: the
 * moment that is looked at.
 */
const NAMES = ["element", "scope", "tab", "do", "to", "at", "after", "history"] as const;
export type InstanceSearch = Partial<Record<(typeof NAMES)[number], string>> & { plan?: string[] };

export function instanceSearch(search: Record<string, unknown>): InstanceSearch {
  const plan = Array.isArray(search.plan) ? search.plan.filter((each) => typeof each === "string") : [];
  return { ...only(search, NAMES), ...(plan.length > 0 ? { plan } : {}) };
}
