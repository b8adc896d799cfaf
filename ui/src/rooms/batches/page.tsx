// Batch operations: what was done to many instances at a time, and how far it is.
import { Link, getRouteApi } from "@tanstack/react-router";
import { type Batch, STATES, TYPES, batchOrder, useBatches } from "../../api/batches";
import { router } from "../../app/router";
import { NextWindow } from "../../parts/NextWindow";
import { Filtered, Note } from "../../parts/Note";
import { ordered } from "../../parts/ordered";
import { PageTitle } from "../../parts/PageTitle";
import { Shown } from "../../parts/Shown";
import { State } from "../../parts/State";
import { type Col, Table } from "../../parts/Table";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { atLeast } from "../../text/format";
import { FilterBar } from "./FilterBar";
import { Progress } from "./Progress";
import "../../parts/list.css";
import "./batches.css";

const route = getRouteApi("/batches");
const t = text.batches;

const columns: readonly Col<Batch>[] = [
  {
    id: "operationType",
    name: t.operation,
    sorts: true,
    width: "2fr",
    minWidth: 180,
    cell: (row) => (
      <Link to="/batches/$key" params={{ key: row.batchOperationKey }} className="clip">
        {t.kind(row.batchOperationType)}
      </Link>
    ),
  },
  { id: "state", name: t.state, width: 160, sorts: true, cell: (row) => <State name={row.state} /> },
  { id: "progress", name: t.progress, width: "2fr", minWidth: 220, cell: (row) => <Progress batch={row} /> },
  { id: "startDate", name: t.started, width: 120, sorts: true, cell: (row) => <Time at={row.startDate} /> },
  { id: "endDate", name: t.ended, width: 120, sorts: true, cell: (row) => <Time at={row.endDate} /> },
  { id: "batchOperationKey", name: t.key, width: 184, sorts: true, cell: (row) => <span className="mono faint">{row.batchOperationKey}</span> },
];

export function Batches() {
  const search = route.useSearch();
  const [state, type] = [STATES.find((each) => each === search.state), TYPES.find((each) => each === search.type)];
  const order = batchOrder(search.sort);
  const { query, list } = useBatches({ ...(state === undefined ? {} : { state }), ...(type === undefined ? {} : { operationType: type }) }, order, search.after);
  const isFiltered = state !== undefined || type !== undefined;
  return (
    <div className="list-page">
      <PageTitle title={t.title} />
      <FilterBar search={search} found={query.data ? t.found(atLeast(list.total, list.more), list.total === 1) : " "} />
      <div className="list-body">
        <Shown query={query} rows={6}>
          {() => (
            <Table
              label={t.title}
              columns={columns}
              rows={list.rows}
              {...ordered(order, (sort) => void router.navigate({ to: "/batches", search: { ...search, sort, after: undefined }, replace: true }))}
              idOf={(row) => row.batchOperationKey}
              onOpen={(row) => void router.navigate({ to: "/batches/$key", params: { key: row.batchOperationKey } })}
              loadMore={query.hasNextPage ? () => void query.fetchNextPage() : undefined}
              isLoadingMore={query.isFetchingNextPage}
              empty={isFiltered ? <Filtered title={t.noneFiltered} actions={<Link to="/batches" className="button small">{t.noFilter}</Link>} /> : <Note title={t.none} limited>{t.noneText}</Note>}
            />
          )}
        </Shown>
      </div>
      <NextWindow next={list.next} />
    </div>
  );
}
