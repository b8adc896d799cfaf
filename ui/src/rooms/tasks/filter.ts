// The filter of the server that an address means.
import { OPEN, type TaskFilter } from "../../api/tasks";
import { type TaskSearch, VIEWS, type View } from "./search";

export const viewOf = (search: TaskSearch): View => VIEWS.find((each) => each === search.view) ?? "open";

/** `groups` are those of the person who looks. */
export function filterOf(search: TaskSearch, who: string, groups: readonly string[]): TaskFilter {
  const view = viewOf(search);
  return {
    state: view === "done" ? "COMPLETED" : OPEN,
    ...(search.group === undefined ? {} : { candidateGroup: search.group }),
    ...(search.user === undefined ? {} : { candidateUser: search.user }),
    ...(search.assignee === undefined ? {} : { assignee: search.assignee }),
    ...(search.process === undefined ? {} : { processDefinitionId: search.process }),
    ...(view === "mine" ? { assignee: who } : {}),
    // Also where the list is narrowed to one group: only to one of theirs.
    ...(view === "groups" ? { candidateGroup: { $in: groups.filter((each) => search.group === undefined || each === search.group) }, assignee: { $exists: false } } : {}),
    ...(view === "unassigned" ? { assignee: { $exists: false } } : {}),
  };
}
