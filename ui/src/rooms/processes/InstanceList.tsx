// The instances that the filter finds, in the order that was chosen.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { TriangleAlert } from "lucide-react";
import { Suspense, lazy, useMemo, useState } from "react";
import type { Key } from "react-aria-components";
import { type Values, cellOf } from "../../api/columns";
import type { Filter, Instance } from "../../api/instances";
import { WINDOW } from "../../api/list";
import { type Definition, deleted } from "../../api/processes";
import { router } from "../../app/router";
import { Deleted } from "../../parts/Deleted";
import { NextWindow } from "../../parts/NextWindow";
import { Filtered, Note } from "../../parts/Note";
import { Shown, Skeleton } from "../../parts/Shown";
import { State } from "../../parts/State";
import { type Col, Table } from "../../parts/Table";
import { useTenantColumn } from "../../parts/tenant";
import { Time } from "../../parts/Time";
import { Took } from "../../parts/Took";
import { text } from "../../text";
import { atLeast } from "../../text/format";
import { Columns } from "./columns/Columns";
import { columnsOf, written } from "./columns/names";
import { columnOf } from "./columns/order";
import { useRows } from "./columns/useRows";
import { unread } from "./filter";
import { type ProcessSearch, isFiltered, withoutFilters } from "./search";
import "../../parts/list.css";

const Bulk = lazy(() => import("./Bulk"));
const t = text.processes;

const keysOf = ({ items }: { items: readonly Definition[] }): ReadonlySet<string> => new Set(items.map((each) => each.processDefinitionKey));

const base: readonly Col<Instance>[] = [
  {
    id: "processInstanceKey",
    name: t.key,
    width: "1fr",
    minWidth: 196,
    sorts: true,
    cell: (row) => (
      <>
        <State name={row.hasIncident ? "INCIDENT" : row.state} bare />
        <Link to="/processes/i/$key" params={{ key: row.processInstanceKey }} className="mono">
          {row.processInstanceKey}
        </Link>
      </>
    ),
  },
  {
    id: "processDefinitionName",
    name: t.process,
    width: "2fr",
    minWidth: 184,
    sorts: true,
    cell: (row) => (
      <>
        <span className="clip" title={row.processDefinitionName ?? row.processDefinitionId}>
          {row.processDefinitionName ?? row.processDefinitionId}
        </span>
        <Version of={row} />
      </>
    ),
  },
  { id: "businessId", name: t.business, width: "1fr", minWidth: 100, sorts: true, cell: (row) => <span className="clip">{row.businessId}</span> },
  { id: "startDate", name: t.started, width: 132, sorts: true, cell: (row) => <Time at={row.startDate} /> },
  { id: "endDate", name: t.ended, width: 132, sorts: true, cell: (row) => <Time at={row.endDate} /> },
  { id: "took", name: t.took, width: 132, number: true, cell: (row) => <Took from={row.startDate} to={row.endDate} /> },
];

/** Of one process its name is said already. */
const version: Col<Instance> = { id: "version", name: t.version, width: 124, cell: (row) => <Version of={row} /> };

/** Known of the versions that were deleted last: one of a thousand others before them is not marked. */
function Version({ of }: { of: Instance }) {
  const gone = useQuery({ ...deleted(), select: keysOf }).data;
  return (
    <>
      <span className="faint">{`v${of.processDefinitionVersion}`}</span>
      {gone?.has(of.processDefinitionKey) ? <Deleted /> : null}
    </>
  );
}

interface InstanceListProps {
  /** The definition that the drawing shows, whose variables are suggested as columns. */
  drawn: Definition | undefined;
  search: ProcessSearch;
  filter: Filter | undefined;
  change: (search: ProcessSearch) => void;
  /** Where all of them are of one version: that. */
  of: Definition | undefined;
}

export function InstanceList({ filter, ...props }: InstanceListProps) {
  if (filter !== undefined) return <Found filter={filter} {...props} />;
  const bad = unread(props.search);
  if (bad === undefined) return <Note title={t.stateless}>{t.statelessText}</Note>;
  return (
    <Note icon={<TriangleAlert size={20} strokeWidth={1.75} />} title={t.unread(bad)}>
      {t.unreadText}
    </Note>
  );
}

function Found({ search, filter, change, of, drawn }: InstanceListProps & { filter: Filter }) {
  const names = useMemo(() => columnsOf(search.cols), [search.cols]);
  const { query, list, rows, values, order, by, isSorting, sorts, lacking, shown } = useRows(filter, search, names);
  // What was chosen under another filter is not meant any more.
  const [chosen, setChosen] = useState<{ of: Filter; keys: ReadonlySet<Key> }>({ of: filter, keys: new Set() });
  const selected = useMemo(() => new Set(chosen.of === filter ? chosen.keys : []), [chosen, filter]);
  const select = (keys: ReadonlySet<Key>) => setChosen({ of: filter, keys });
  const columns = useColumns(rows, search.process !== undefined, names, values, sorts);
  return (
    <section className="list" aria-label={t.list}>
      <div className="list-head">
        <b role="status">{query.data ? t.found(atLeast(list.total, list.more), list.total === 1) : " "}</b>
        {lacking === undefined ? null : <span className="faint">{t.sortsFew(lacking, WINDOW)}</span>}
        <span className="grow" />
        <Suspense fallback={null}>
          <Bulk search={search} filter={filter} sort={order} by={by} names={names} of={of} selected={selected} clear={() => select(new Set())} />
        </Suspense>
        {/* Last: what appears before it does not push it from under the pointer. */}
        <Columns names={names} of={drawn} change={(next) => change({ ...search, cols: written(next) })} />
      </div>
      <div className="list-body">
        <Shown query={query} rows={8}>
          {() => rows.length === 0 && isSorting ? <Skeleton rows={8} /> : (
            <Table
              label={t.list}
              columns={columns}
              rows={rows}
              idOf={(row) => row.processInstanceKey}
              onOpen={(row) => void router.navigate({ to: "/processes/i/$key", params: { key: row.processInstanceKey } })}
              selected={selected}
              onSelect={(next) => select(next === "all" ? new Set(list.rows.map((row) => row.processInstanceKey)) : new Set(next))}
              sort={shown}
              onSort={({ column, direction }) => change({ ...search, sort: `${direction === "descending" ? "-" : ""}${column}` })}
              loadMore={query.hasNextPage ? () => void query.fetchNextPage() : undefined}
              isLoadingMore={query.isFetchingNextPage || isSorting}
              empty={
                isFiltered(search) ? (
                  <Filtered title={t.noneFilter} actions={<button type="button" className="button small" onClick={() => change(withoutFilters(search))}>{t.clear}</button>}>
                    {t.noneFilterText}
                  </Filtered>
                ) : (
                  <Note title={t.none} limited>{t.noneText}</Note>
                )
              }
            />
          )}
        </Shown>
      </div>
      <NextWindow next={list.next} />
    </section>
  );
}

/** Where nothing else takes the room of a wide screen, times do: a row is read from one end to the other. */
const spread = (column: Col<Instance>): Col<Instance> =>
  column.id === "processInstanceKey" ? { ...column, width: 196 } : typeof column.width === "number" ? { ...column, width: "1fr", minWidth: column.width } : column;

/** A column without anything in it is not worth its place, unless somebody asked for it. */
function useColumns(rows: readonly Instance[], ofOne: boolean, names: readonly string[], values: Values, sorts: boolean): readonly Col<Instance>[] {
  const named = rows.some((row) => row.businessId);
  const columns = useMemo(() => {
    const shown = ofOne ? base.map((column) => (column.id === "processDefinitionName" ? version : column)).map(spread) : base;
    const plain = shown.filter((column) => named || column.id !== "businessId");
    // Behind what an instance is, before when it was.
    const at = plain.findIndex((column) => column.id === "startDate");
    return plain.toSpliced(at, 0, ...names.map((name) => variable(name, values, sorts)));
  }, [named, ofOne, names, values, sorts]);
  return useTenantColumn(columns, "startDate");
}

const variable = (name: string, values: Values, sorts: boolean): Col<Instance> => ({
  id: columnOf(name),
  name,
  sorts,
  width: "1fr",
  minWidth: 112,
  cell: (row) => {
    const value = values.get(cellOf(row.processInstanceKey, name));
    return value === undefined ? null : (
      <span className="clip mono" title={value}>
        {value}
      </span>
    );
  },
});
