// The tasks of a view, each with what one needs to choose it; and boxes to do something with many.
import { Link, getRouteApi } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import type { TaskKey } from "../../api/keys";
import { type Sort, type Task, type TaskFilter, taskSort, type useTasks } from "../../api/tasks";
import { useTenantShown } from "../../api/tenant";
import { NextWindow } from "../../parts/NextWindow";
import { Note } from "../../parts/Note";
import { useNow } from "../../parts/now";
import { Shown } from "../../parts/Shown";
import { Time } from "../../parts/Time";
import { useWho } from "../../parts/who";
import { text } from "../../text";
import { atLeast } from "../../text/format";
import { FilterBar } from "./FilterBar";
import { viewOf } from "./filter";
import { Bulk } from "./Bulk";
import { ClaimNext } from "./ClaimNext";
import type { TaskSearch } from "./search";

const route = getRouteApi("/tasks");
const t = text.tasks;

interface ListProps {
  search: TaskSearch;
  filter: TaskFilter;
  found: ReturnType<typeof useTasks>;
}

export function List({ search, filter, found: { query, list } }: ListProps) {
  const [chosen, choose] = useState<ReadonlySet<TaskKey>>(new Set());
  const selected = list.rows.filter((row) => chosen.has(row.userTaskKey));
  const flip = (key: TaskKey, on: boolean) => {
    const next = new Set(chosen);
    if (on) next.add(key);
    else next.delete(key);
    choose(next);
  };
  const view = viewOf(search);
  const done = view === "done";
  return (
    <nav className="side task-side" aria-label={t.listed}>
      <FilterBar search={search} />
      <div className="task-count">
        {done || list.rows.length === 0 ? null : (
          <input
            type="checkbox"
            aria-label={t.selectAll}
            checked={selected.length === list.rows.length}
            ref={(box) => void (box && (box.indeterminate = selected.length > 0 && selected.length < list.rows.length))}
            onChange={(event) => choose(event.target.checked ? new Set(list.rows.map((row) => row.userTaskKey)) : new Set())}
          />
        )}
        {selected.length > 0 && !done ? (
          <Bulk tasks={selected} clear={() => choose(new Set())} />
        ) : (
          <>
            <b role="status" className="grow">{query.data ? t.found(atLeast(list.total, list.more), list.total === 1) : " "}</b>
            {done || view === "mine" || search.assignee !== undefined || list.total === 0 ? null : <ClaimNext search={search} filter={filter} />}
          </>
        )}
      </div>
      <Shown query={query} rows={8}>
        {() =>
          list.rows.length === 0 ? (
            <None search={search} />
          ) : (
            <ul>
              {list.rows.map((row) => (
                <Row key={row.userTaskKey} task={row} search={search} chosen={chosen.has(row.userTaskKey)} flip={done ? undefined : flip} />
              ))}
              {query.hasNextPage ? <More key={list.rows.length} busy={query.isFetchingNextPage} more={() => void query.fetchNextPage()} /> : null}
              <NextWindow next={list.next} as="li" />
            </ul>
          )
        }
      </Shown>
    </nav>
  );
}

interface RowProps {
  task: Task;
  search: TaskSearch;
  chosen: boolean;
  flip: ((key: TaskKey, on: boolean) => void) | undefined;
}

function Row({ task, search, chosen, flip }: RowProps) {
  const now = useNow();
  const who = useWho();
  const tenants = useTenantShown();
  const name = task.name ?? task.elementId;
  const late = task.dueDate !== null && task.completionDate === null && new Date(task.dueDate).getTime() < now;
  return (
    <li className="task-row">
      {flip === undefined ? null : (
        <input type="checkbox" tabIndex={-1} checked={chosen} aria-label={t.select(name)} onChange={(event) => flip(task.userTaskKey, event.target.checked)} />
      )}
      <Link to="/tasks" search={{ ...search, task: task.userTaskKey, tab: undefined, start: undefined }} className="side-item task-item" data-row="" aria-current={search.task === task.userTaskKey ? "page" : undefined}>
        <span className="clip task-name" title={name}>
          {name}
        </span>
        <span className={`task-when figure ${late ? "bad" : "faint"}`} title={late ? t.overdue : undefined}>
          <When task={task} order={late ? "due" : taskSort(search.sort, task.completionDate !== null)} />
        </span>
        <span className="clip faint" title={task.processName ?? task.processDefinitionId}>
          {`${task.processName ?? task.processDefinitionId}${tenants ? ` · ${task.tenantId}` : ""}`}
        </span>
        <span className="clip faint task-for">{assigned(task, who)}</span>
      </Link>
    </li>
  );
}

/** What the order of the list goes by, or when the task is due. */
function When({ task, order }: { task: Task; order: Sort }) {
  if (order === "priority") return `${t.priority} ${task.priority}`;
  if (task.completionDate !== null) return <Time at={task.completionDate} />;
  const [name, at] = order === "followUp" ? [t.followUp, task.followUpDate] : [t.due, task.dueDate];
  return at === null ? null : (
    <>
      {`${name} `}
      <Time at={at} />
    </>
  );
}

const assigned = ({ assignee, candidateGroups, candidateUsers }: Task, who: string): string =>
  assignee === null ? [...candidateGroups, ...candidateUsers].join(", ") || t.nobody : assignee === who ? t.you(who) : assignee;

/** Asks for the next page once it is scrolled to. */
function More({ busy, more }: { busy: boolean; more: () => void }) {
  const place = useRef<HTMLButtonElement>(null);
  const ask = useRef(more);
  useEffect(() => {
    ask.current = more;
  });
  useEffect(() => {
    if (!place.current) return;
    const observer = new IntersectionObserver(([seen]) => seen?.isIntersecting && ask.current());
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return (
    <li className="side-none">
      <button type="button" ref={place} className="button quiet small" disabled={busy} onClick={more}>
        {busy ? text.words.loading : t.more}
      </button>
    </li>
  );
}

function None({ search }: { search: TaskSearch }) {
  const who = useWho();
  const navigate = route.useNavigate();
  const view = viewOf(search);
  if (search.group !== undefined || search.user !== undefined || search.assignee !== undefined || search.process !== undefined) {
    const all = (
      <button type="button" className="button small" onClick={() => void navigate({ search: {} })}>
        {t.noFilter}
      </button>
    );
    return <Note title={t.noneFiltered} actions={all} small />;
  }
  if (view === "mine") return <Note title={t.noneMine} small>{who === "" ? t.whoText : t.noneMineText(who)}</Note>;
  if (view === "groups") return <Note title={t.noneGroups} small />;
  if (view === "unassigned") return <Note title={t.noneUnassigned} small />;
  return view === "done" ? <Note title={t.noneDone} small /> : <Note title={t.none} small limited>{t.noneText}</Note>;
}
