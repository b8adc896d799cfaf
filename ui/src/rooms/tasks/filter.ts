// The filter of the server that an address means.
import { OPEN, type TaskFilter } from "../../api/tasks";
import { type TaskSearch, VIEWS, type View } from "./search";

export const viewOf = (search: TaskSearch): View => VIEWS.find((each) => each === search.view) ?? "open";

export function filterOf(search: TaskSearch, who: string): TaskFilter {
  const view = viewOf(search);
  return {
    state: view === "done" ? "COMPLETED" : OPEN,
    ...(search.group === undefined ? {} : { candidateGroup: search.group }),
    ...(search.user === undefined ? {} : { candidateUser: search.user }),
    ...(search.assignee === undefined ? {} : { assignee: search.assignee }),
    ...(search.process === undefined ? {} : { processDefinitionId: search.process }),
    ...(view === "mine" ? { assignee: who } : {}),
    ...(view === "unassigned" ? { assignee: { $exists: false } } : {}),
  };
}
