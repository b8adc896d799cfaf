// All of a kind: users, groups, roles, tenants or mapping rules.
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { type Entity, type Kind, entityOrder, useEntities } from "../../../api/identity";
import { RIGHTS } from "../../../api/rights";
import { router } from "../../../app/router";
import { FindField } from "../../../parts/FindField";
import { MayButton } from "../../../parts/MayButton";
import { NextWindow } from "../../../parts/NextWindow";
import { Filtered, Note } from "../../../parts/Note";
import { ordered } from "../../../parts/ordered";
import { Shown } from "../../../parts/Shown";
import { type Col, Table } from "../../../parts/Table";
import { text } from "../../../text";
import { atLeast } from "../../../text/format";
import type { SectionProps } from "../page";
import { EntityForm } from "./EntityForm";

const t = text.admin;

const plain = (id: keyof Entity, name: string): Col<Entity> => ({ id, name, sorts: id !== "description", width: "1fr", minWidth: 148, cell: (row) => <span className="clip" title={row[id]}>{row[id]}</span> });

const columnsOf = (kind: Kind): readonly Col<Entity>[] => [
  {
    id: "id",
    name: t.id[kind],
    sorts: true,
    width: "1fr",
    minWidth: 160,
    cell: (row) => (
      <Link to="/admin/$section/$id" params={{ section: kind, id: row.id }} search={{}} className="clip" title={row.id}>
        {row.id}
      </Link>
    ),
  },
  plain("name", t.name),
  ...(kind === "users" ? [plain("email", t.email)] : []),
  ...(kind === "mapping-rules" ? [plain("claimName", t.claimName), plain("claimValue", t.claimValue)] : []),
  ...(kind === "groups" || kind === "roles" || kind === "tenants" ? [{ ...plain("description", t.description), width: "2fr" as const }] : []),
];

const COLUMNS = Object.fromEntries((["users", "groups", "roles", "tenants", "mapping-rules"] as const).map((kind) => [kind, columnsOf(kind)])) as Record<Kind, readonly Col<Entity>[]>;

export default function Entities({ kind, search, change }: SectionProps & { kind: Kind }) {
  const order = entityOrder(kind, search.sort);
  const { query, list } = useEntities(kind, search.find, order, search.after);
  const [making, make] = useState(false);
  const wanted = search.find?.toLowerCase();
  // Where the server does not look for a part of a name, what there is is few.
  const rows = wanted === undefined ? list.rows : list.rows.filter((row) => [row.id, row.name].some((each) => each.toLowerCase().includes(wanted)));
  const total = rows.length === list.rows.length ? list.total : rows.length;
  return (
    <section className="list" aria-label={t.sections[kind]}>
      <div className="list-head">
        <FindField main label={t.find[kind]} value={search.find ?? ""} set={(find) => change({ ...search, find })} className="admin-find" />
        <b role="status">{query.data ? t.found(atLeast(total, list.more), total === 1, kind) : " "}</b>
        <span className="grow" />
        <MayButton needs={RIGHTS.make[kind]} className="button small main" onClick={() => make(true)}>
          <Plus size={14} aria-hidden="true" />
          {t.create(kind)}
        </MayButton>
      </div>
      <div className="list-body">
        <Shown query={query} rows={6}>
          {() => (
            <Table
              label={t.sections[kind]}
              columns={COLUMNS[kind]}
              rows={rows}
              {...ordered(order, (sort) => change({ ...search, sort }))}
              idOf={(row) => row.id}
              onOpen={(row) => void router.navigate({ to: "/admin/$section/$id", params: { section: kind, id: row.id }, search: {} })}
              loadMore={query.hasNextPage ? () => void query.fetchNextPage() : undefined}
              isLoadingMore={query.isFetchingNextPage}
              empty={search.find === undefined ? <Note title={t.none(kind)}>{t.noneText}</Note> : <Filtered title={t.noneFound}>{search.find}</Filtered>}
            />
          )}
        </Shown>
      </div>
      <NextWindow next={list.next} />
      {making ? <EntityForm kind={kind} close={() => make(false)} /> : null}
    </section>
  );
}
