// A list of this screen: how many, the rows, and what stands there when there are none.
import { Link } from "@tanstack/react-router";
import { type List, type useList } from "../../api/list";
import type { Order } from "../../api/order";
import { router } from "../../app/router";
import type { ElementKey, InstanceKey } from "../../api/keys";
import { NextWindow } from "../../parts/NextWindow";
import { Note } from "../../parts/Note";
import { ordered } from "../../parts/ordered";
import { Shown } from "../../parts/Shown";
import { type Col, Table } from "../../parts/Table";
import { text } from "../../text";
import { atLeast } from "../../text/format";
import type { MessageSearch, View } from "./search";

const t = text.messages;

interface InAnInstance {
  processInstanceKey: InstanceKey | null;
  elementInstanceKey: ElementKey | null;
}

interface RowsProps<Row extends object> {
  view: View;
  search: MessageSearch;
  found: { query: ReturnType<typeof useList<Row>>["query"]; list: List<Row> };
  columns: readonly Col<Row>[];
  order: Order;
  idOf: (row: Row) => string;
}

export function Rows<Row extends InAnInstance>({ view, search, found: { query, list }, columns, order, idOf }: RowsProps<Row>) {
  const narrowed = search.name !== undefined || search.key !== undefined || search.process !== undefined;
  const none = narrowed && (view === "waiting" || view === "came");
  return (
    <section className="list" aria-label={t.views[view]}>
      <div className="list-head">
        <b role="status">{query.data ? t.found[view](atLeast(list.total, list.more), list.total === 1) : " "}</b>
      </div>
      <div className="list-body">
        <Shown query={query} rows={8}>
          {() => (
            <Table
              label={t.views[view]}
              columns={columns}
              rows={list.rows}
              {...ordered(order, (sort) => void router.navigate({ to: "/messages", search: { ...search, sort, after: undefined }, replace: true }))}
              idOf={idOf}
              onOpen={(row) => {
                if (row.processInstanceKey !== null) void router.navigate({ to: "/processes/i/$key", params: { key: row.processInstanceKey }, search: { scope: row.elementInstanceKey ?? undefined, tab: "messages" } });
              }}
              loadMore={query.hasNextPage ? () => void query.fetchNextPage() : undefined}
              isLoadingMore={query.isFetchingNextPage}
              empty={
                none ? (
                  <Note
                    title={t.noneFiltered}
                    actions={
                      <Link to="/messages" search={{ view: search.view }} className="button small">
                        {t.noFilter}
                      </Link>
                    }
                  />
                ) : (
                  <Note title={t.none[view]} limited>{t.noneText[view]}</Note>
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

/** A process instance as a link; what begins one has none yet. */
export function InstanceCell({ row }: { row: InAnInstance }) {
  if (row.processInstanceKey === null) return <span className="faint">{t.starts}</span>;
  return (
    <Link to="/processes/i/$key" params={{ key: row.processInstanceKey }} search={{ scope: row.elementInstanceKey ?? undefined, tab: "messages" }} className="mono">
      {row.processInstanceKey}
    </Link>
  );
}
