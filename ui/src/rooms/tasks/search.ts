// What the address of the tasks says: which are listed, in which order, and which one is open.
import { only } from "../../app/search";

const NAMES = ["view", "sort", "group", "user", "assignee", "process", "task", "tab", "start", "after"] as const;
export type TaskSearch = Partial<Record<(typeof NAMES)[number], string>>;

export const taskSearch = (search: Record<string, unknown>): TaskSearch => only(search, NAMES);

export const VIEWS = ["open", "mine", "groups", "unassigned", "done"] as const;
export type View = (typeof VIEWS)[number];

/** What the list can be narrowed by; one of them at a time. */
export const FILTERS = ["group", "user", "assignee", "process"] as const;
export type Filter = (typeof FILTERS)[number];

/** What a saved view has of it: which are listed, in which order. */
export const viewIn = ({ view, sort, group, user, assignee, process }: TaskSearch): TaskSearch => ({ view, sort, group, user, assignee, process });
