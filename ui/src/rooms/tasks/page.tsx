// Tasks: what waits for people, and the one that is worked on beside it.
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";
import { type TaskKey, asKey, looksLikeKey } from "../../api/keys";
import { task, taskSort, useTasks } from "../../api/tasks";
import { Note } from "../../parts/Note";
import { PageTitle } from "../../parts/PageTitle";
import { Shown } from "../../parts/Shown";
import { useWho } from "../../parts/who";
import { text } from "../../text";
import { forgetOld } from "./draft";
import { filterOf, viewOf } from "./filter";
import { forgetOldOfServer } from "./keeping";
import { List } from "./List";
import { Pane } from "./Pane";
import { Start } from "./start/Start";
import { useGroups } from "./who";
import "../../parts/list.css";
import "../../parts/sides.css";
import "../../parts/tabs.css";
import "./tasks.css";
import "./work.css";

const route = getRouteApi("/tasks");
const t = text.tasks;

export function Tasks() {
  const search = route.useSearch();
  const who = useWho();
  const groups = useGroups();
  const filter = useMemo(() => filterOf(search, who, groups), [search, who, groups]);
  const view = viewOf(search);
  const found = useTasks(filter, taskSort(search.sort, view === "done"), search.after);
  useEffect(() => {
    forgetOld();
    // What cannot be taken away now is taken away another time.
    forgetOldOfServer().catch(() => undefined);
  }, []);
  const rows = found.list.rows;
  const at = rows.findIndex((each) => each.userTaskKey === search.task);
  const next = rows[at + 1] ?? rows[at - 1];
  return (
    <>
      <PageTitle title={t.title} />
      <div className={`sides tasks${search.task === undefined && search.start === undefined ? "" : " one"}`}>
        <List search={search} filter={filter} found={found} />
        {search.start !== undefined ? (
          <Start of={search.start} />
        ) : search.task === undefined ? (
          <Note title={t.choose}>{t.chooseText}</Note>
        ) : (
          <One key={search.task} id={search.task} next={next?.userTaskKey} />
        )}
      </div>
    </>
  );
}

function One({ id, next }: { id: string; next: TaskKey | undefined }) {
  const known = looksLikeKey(id);
  const one = useQuery({ ...task(asKey<TaskKey>(known ? id : "0")), enabled: known });
  if (!known || one.error?.isGone || one.error?.status === 400) return <Note title={t.gone}>{t.goneText(id)}</Note>;
  return (
    <section className="task" aria-label={one.data?.name ?? one.data?.elementId ?? id}>
      <Shown query={one} rows={6}>
        {(found) => <Pane task={found} next={next} />}
      </Shown>
    </section>
  );
}
