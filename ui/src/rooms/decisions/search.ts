// What the address of the decisions says: which one, in which version, and what of it is looked at.
import { only } from "../../app/search";

const NAMES = ["decision", "version", "view", "tab", "find", "instance", "with", "sort", "after"] as const;
export type DecisionSearch = Partial<Record<(typeof NAMES)[number], string>>;

export const decisionSearch = (search: Record<string, unknown>): DecisionSearch => only(search, NAMES);

export const TABS = ["evaluations", "table", "try"] as const;
export const VIEWS = ["all", "failed"] as const;
