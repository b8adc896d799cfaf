// One batch operation: its progress, its errors, and what became of each instance.
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { type Batch as Operation, type BatchItem, batch, itemOrder, useItems } from "../../api/batches";
import { type BatchKey, asKey } from "../../api/keys";
import { router } from "../../app/router";
import { NextWindow } from "../../parts/NextWindow";
import { Note } from "../../parts/Note";
import { ordered } from "../../parts/ordered";
import { PageTitle } from "../../parts/PageTitle";
import { Shown } from "../../parts/Shown";
import { State } from "../../parts/State";
import { type Col, Table } from "../../parts/Table";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { Control } from "./Control";
import { Errors } from "./Errors";
import { Progress } from "./Progress";
import { Repeat } from "./Repeat";
import { Request } from "./Request";
import type { BatchSearch } from "./search";
import "../../parts/list.css";
import "./batches.css";

const route = getRouteApi("/batches/$key");
const t = text.batches;

export function Batch() {
  const key = asKey<BatchKey>(route.useParams().key);
  const search = route.useSearch();
  const one = useQuery(batch(key));
  if (one.error?.isGone || one.error?.status === 400) {
    return (
      <>
        <PageTitle title={t.title} />
        <Note title={t.gone} actions={<Link to="/batches" className="button small">{t.back}</Link>}>
          {t.goneText(key)}
        </Note>
      </>
    );
  }
  return (
    <div className="list-page">
      <PageTitle title={one.data ? t.kind(one.data.batchOperationType) : t.title} />
      <Shown query={one} rows={2}>
        {(found) => <Head operation={found} />}
      </Shown>
      {one.error && one.data === undefined ? null : <Items of={key} ended={one.data !== undefined && one.data.endDate !== null} search={search} />}
    </div>
  );
}

/** Whose instances are found by the operation. */
const listed: ReadonlySet<Operation["batchOperationType"]> = new Set(["CANCEL_PROCESS_INSTANCE", "RESOLVE_INCIDENT", "MIGRATE_PROCESS_INSTANCE", "MODIFY_PROCESS_INSTANCE"]);

function Head({ operation }: { operation: Operation }) {
  return (
    <>
      <header className="batch-head">
        <State name={operation.state} />
        <Progress batch={operation} />
        <span className="faint">
          {`${t.started} `}
          <Time at={operation.startDate} />
        </span>
        {operation.actorId === null ? null : <span className="faint clip">{t.by(operation.actorId)}</span>}
        <span className="mono faint">{operation.batchOperationKey}</span>
        {listed.has(operation.batchOperationType) && operation.operationsTotalCount > 0 ? (
          <Link to="/processes" search={{ batch: operation.batchOperationKey }}>
            {t.instances}
          </Link>
        ) : null}
        <span className="grow" />
        <Repeat operation={operation} />
        <Control operation={operation} />
      </header>
      {operation.errors.length > 0 ? (
        <ul className="batch-errors">
          {operation.errors.map((error) => (
            <li key={`${error.partitionId} ${error.type}`} className="bad">
              {error.message}
            </li>
          ))}
        </ul>
      ) : null}
      <Request of={operation.batchOperationKey} />
      <Errors operation={operation} />
    </>
  );
}

const columns: readonly Col<BatchItem>[] = [
  {
    id: "processInstanceKey",
    name: t.item,
    sorts: true,
    width: 200,
    cell: (row) =>
      row.processInstanceKey === null ? (
        <span className="mono">{row.itemKey}</span>
      ) : (
        <Link to="/processes/i/$key" params={{ key: row.processInstanceKey }} className="mono">
          {row.processInstanceKey}
        </Link>
      ),
  },
  { id: "state", name: t.state, sorts: true, width: 140, cell: (row) => <State name={row.state} /> },
  { id: "processedDate", name: t.processed, sorts: true, width: 120, cell: (row) => <Time at={row.processedDate} /> },
  { id: "error", name: t.error, width: "1fr", minWidth: 160, cell: (row) => <span className="clip" title={row.errorMessage ?? undefined}>{row.errorMessage}</span> },
];

function Items({ of, ended, search }: { of: BatchKey; ended: boolean; search: BatchSearch }) {
  const failed = search.items === "failed";
  const order = itemOrder(search.sort);
  const { query, list } = useItems(of, failed, order, search.after);
  return (
    <section className="list" aria-label={t.items}>
      <div className="list-head">
        <b>{t.items}</b>
        <Link to="/batches/$key" params={{ key: of }} className="button small quiet" activeOptions={{ exact: true }} aria-current={failed ? undefined : "page"}>
          {t.allItems}
        </Link>
        <Link to="/batches/$key" params={{ key: of }} search={{ items: "failed" }} className="button small quiet" aria-current={failed ? "page" : undefined}>
          {t.failedOnly}
        </Link>
      </div>
      <div className="list-body">
        <Shown query={query} rows={6}>
          {() => (
            <Table
              label={t.items}
              columns={columns}
              rows={list.rows}
              {...ordered(order, (sort) => void router.navigate({ to: "/batches/$key", params: { key: of }, search: { ...search, sort, after: undefined }, replace: true }))}
              idOf={(row) => row.itemKey}
              onOpen={(row) => void (row.processInstanceKey && router.navigate({ to: "/processes/i/$key", params: { key: row.processInstanceKey } }))}
              loadMore={query.hasNextPage ? () => void query.fetchNextPage() : undefined}
              isLoadingMore={query.isFetchingNextPage}
              empty={failed ? <Note title={t.itemsNoneFailed} small /> : <Note title={t.itemsNone} small>{ended ? t.itemsNoneEver : t.itemsNoneText}</Note>}
            />
          )}
        </Shown>
      </div>
      <NextWindow next={list.next} />
    </section>
  );
}
