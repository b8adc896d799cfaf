// Which tasks are listed, and in which order.
import { Link, getRouteApi } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useState } from "react";
import { taskSort, taskSorts } from "../../api/tasks";
import { FindField } from "../../parts/FindField";
import { Views } from "../../parts/views/Views";
import { text } from "../../text";
import { viewOf } from "./filter";
import { FILTERS, type Filter, type TaskSearch, VIEWS, taskSearch, viewIn } from "./search";
import { Who, useGroups } from "./who";

const route = getRouteApi("/tasks");
const t = text.tasks;

export function FilterBar({ search }: { search: TaskSearch }) {
  const navigate = route.useNavigate();
  const set = (next: TaskSearch) => void navigate({ search: { ...search, after: undefined, ...next }, replace: true });
  const view = viewOf(search);
  const done = view === "done";
  const usual = taskSort(undefined, done);
  const groups = useGroups();
  const [kind, setKind] = useState<Filter | "">(() => FILTERS.find((each) => search[each] !== undefined) ?? "");
  const open = (saved: Record<string, unknown>) => {
    const next = viewIn(taskSearch(saved));
    setKind(FILTERS.find((each) => next[each] !== undefined) ?? "");
    void navigate({ search: { task: search.task, tab: search.tab, ...next } });
  };
  const none = Object.fromEntries(FILTERS.map((each) => [each, undefined]));
  return (
    <div className="side-find task-filter">
      <div className="row">
        <select className="field grow" data-filter="" aria-label={t.view} value={view} onChange={(event) => set({ view: event.target.value === "open" ? undefined : event.target.value })}>
          {VIEWS.filter((each) => each !== "groups" || groups.length > 0 || view === each).map((each) => (
            <option key={each} value={each}>
              {t.views[each]}
            </option>
          ))}
        </select>
        <Who />
        <Link to="/tasks" search={{ ...search, task: undefined, tab: undefined, start: "any" }} className="button small" title={t.start} aria-label={t.start}>
          <Play size={14} aria-hidden="true" />
          {t.startGo}
        </Link>
      </div>
      <div className="row">
        <select
          className="field grow"
          aria-label={t.filter}
          value={kind}
          onChange={(event) => {
            setKind(FILTERS.find((each) => each === event.target.value) ?? "");
            set(none);
          }}
        >
          <option value="">{t.filterAll}</option>
          {FILTERS.map((each) => (
            <option key={each} value={each}>
              {t.filters[each]}
            </option>
          ))}
        </select>
        <select className="field grow" aria-label={t.sort} value={taskSort(search.sort, done)} onChange={(event) => set({ sort: event.target.value === usual ? undefined : event.target.value })}>
          {taskSorts(done).map((each) => (
            <option key={each} value={each}>
              {t.sorts[each]}
            </option>
          ))}
        </select>
        <Views room="tasks" search={viewIn(search)} open={open} />
      </div>
      {kind === "" ? null : <FindField key={kind} label={t.filters[kind]} value={search[kind] ?? ""} autoFocus={search[kind] === undefined} set={(value) => set({ ...none, [kind]: value })} />}
    </div>
  );
}
