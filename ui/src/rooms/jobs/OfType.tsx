// The jobs of one type, and the workers that ask for them.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Pencil } from "lucide-react";
import { Suspense, lazy, useMemo, useState } from "react";
import { Button } from "react-aria-components";
import { type JobRow, VIEWS, type View, jobOrder, jobWorkers, useJobs } from "../../api/jobs";
import { router } from "../../app/router";
import { NextWindow } from "../../parts/NextWindow";
import { Note } from "../../parts/Note";
import { ordered } from "../../parts/ordered";
import { useNow } from "../../parts/now";
import { Shown } from "../../parts/Shown";
import { State } from "../../parts/State";
import { type Col, Table } from "../../parts/Table";
import { useTenantColumn } from "../../parts/tenant";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { atLeast, exact, fromNow } from "../../text/format";
import { isOpen } from "./change";
import { Hour } from "./Hour";
import type { JobSearch } from "./search";
import { type Type, type Worker, isAlone, workersOf } from "./types";

const Change = lazy(() => import("./Change"));
const t = text.jobs;

const columns: readonly Col<JobRow>[] = [
  {
    id: "processInstanceKey",
    name: t.instance,
    sorts: true,
    width: 184,
    cell: (row) => (
      <>
        <State name={row.state} bare />
        <Link to="/processes/i/$key" params={{ key: row.processInstanceKey }} search={{ scope: row.elementInstanceKey, tab: "jobs" }} className="mono">
          {row.processInstanceKey}
        </Link>
      </>
    ),
  },
  { id: "elementId", name: t.element, sorts: true, width: "1fr", minWidth: 128, cell: (row) => <span className="clip" title={row.processDefinitionId}>{row.elementId}</span> },
  { id: "worker", name: t.worker, sorts: true, width: "1fr", minWidth: 148, cell: (row) => <span className="clip" title={row.worker}>{row.worker}</span> },
  { id: "errorMessage", name: t.error, sorts: true, width: "4fr", minWidth: 160, cell: (row) => <span className="clip" title={row.errorMessage ?? undefined}>{row.errorMessage}</span> },
  { id: "creationTime", name: t.since, sorts: true, width: 104, number: true, cell: (row) => <Time at={row.creationTime} /> },
];

/** With the way to change what can be changed. */
const tries = (change: (job: JobRow) => void): Col<JobRow> => ({
  id: "retries",
  name: t.tries,
  sorts: true,
  width: 124,
  number: true,
  cell: (row) => (
    <>
      {row.retries}
      {isOpen(row) ? (
        // One that keeps a press for itself: that of a row opens the instance.
        <Button className="button quiet icon small" aria-label={t.changeOne(row.jobKey)} onPress={() => change(row)}>
          <Pencil size={14} aria-hidden="true" />
        </Button>
      ) : null}
    </>
  ),
});

interface OfTypeProps {
  type: string;
  search: JobSearch;
  /** What the nodes know of it; `undefined`: nothing. */
  known: Type | undefined;
  since: string | null;
}

export function OfType({ type, search, known, since }: OfTypeProps) {
  const view: View = VIEWS.find((each) => each === search.view) ?? "open";
  const order = jobOrder(search.sort, view);
  const { query, list } = useJobs(type, view, order, search.after);
  const [changed, change] = useState<JobRow>();
  const all = useMemo(() => columns.toSpliced(-1, 0, tries(change)), []);
  const shown = useTenantColumn(all, "elementId");
  return (
    <section className="list" aria-label={t.listed}>
      <Head type={type} known={known} since={since} />
      <div className="list-head">
        <span className="row" role="group" aria-label={t.state}>
          {VIEWS.map((each) => (
            <Link key={each} to="/jobs/$type" params={{ type }} search={{ find: search.find, view: each === "open" ? undefined : each }} className="button small quiet" activeOptions={{ exact: true }} aria-current={each === view ? "page" : undefined}>
              {t.views[each]}
            </Link>
          ))}
        </span>
        <b role="status">{query.data ? text.words.count(list.total, "job", "jobs").replace(/^[\d,]+/, atLeast(list.total, list.more)) : " "}</b>
      </div>
      <div className="list-body">
        <Shown query={query} rows={8}>
          {() => (
            <Table
              label={t.listed}
              columns={shown}
              rows={list.rows}
              {...ordered(order, (sort) => void router.navigate({ to: "/jobs/$type", params: { type }, search: { ...search, sort, after: undefined }, replace: true }))}
              idOf={(row) => row.jobKey}
              onOpen={(row) => void router.navigate({ to: "/processes/i/$key", params: { key: row.processInstanceKey }, search: { scope: row.elementInstanceKey, tab: "jobs" } })}
              loadMore={query.hasNextPage ? () => void query.fetchNextPage() : undefined}
              isLoadingMore={query.isFetchingNextPage}
              empty={<Note title={t.nothing[view]} />}
            />
          )}
        </Shown>
      </div>
      <NextWindow next={list.next} />
      {changed === undefined ? null : (
        <Suspense fallback={null}>
          <Change job={changed} close={() => change(undefined)} />
        </Suspense>
      )}
    </section>
  );
}

function Head({ type, known, since }: Omit<OfTypeProps, "search">) {
  const now = useNow();
  const counted = useQuery(jobWorkers(type));
  const alone = known !== undefined && isAlone(known, now);
  const workers = workersOf(known?.workers ?? [], counted.data?.items ?? []);
  return (
    <header className="side-head">
      <h2 className="mono clip" title={type}>
        {type}
      </h2>
      {alone ? (
        <p className="job-none" role="status">
          <b>{known.lastAsked !== null ? t.askedLast(fromNow(known.lastAsked, now)) : since !== null ? t.askedNever(exact(since)) : t.noWorker}</b> {t.start(type)}
        </p>
      ) : null}
      {/* The list says it, once. */}
      {counted.error?.isStorageOff ? null : (
        <>
          <Shown query={counted} rows={1} small>
            {() =>
              workers.length === 0 ? (
                alone ? null : <p className="faint">{t.workersNone}</p>
              ) : (
                <ul className="job-workers" aria-label={t.workers}>
                  {workers.map((each) => (
                    <OneWorker key={each.name} worker={each} />
                  ))}
                </ul>
              )
            }
          </Shown>
          <Hour type={type} />
        </>
      )}
    </header>
  );
}

function OneWorker({ worker: { name, now, done, failed, last } }: { worker: Worker }) {
  return (
    <li title={now === undefined || now.nodes.length === 0 ? undefined : t.connected(now.nodes.join(", "), now.ways.map((way) => t.ways[way]).join(", "))}>
      <span className="clip">{name || t.unnamed}</span>
      {now !== undefined && now.inFlight > 0 ? <span className="job-busy figure">{t.atWork(now.inFlight)}</span> : null}
      {done > 0 ? <span className="faint figure">{t.done(done)}</span> : null}
      {failed > 0 ? <span className="bad figure">{t.failed(failed)}</span> : null}
      <span className="faint">
        <Time at={last} />
      </span>
    </li>
  );
}
