// Who did what, the newest first.
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { type Deed, type DeedFilter, deedOrder, useDeeds } from "../../../api/settings";
import { FindField } from "../../../parts/FindField";
import { NextWindow } from "../../../parts/NextWindow";
import { Note } from "../../../parts/Note";
import { ordered } from "../../../parts/ordered";
import { Shown } from "../../../parts/Shown";
import { State } from "../../../parts/State";
import { type Col, Table } from "../../../parts/Table";
import { Time } from "../../../parts/Time";
import { text } from "../../../text";
import { atLeast } from "../../../text/format";
import type { SectionProps } from "../page";

const t = text.admin;
const CATEGORIES = ["ADMIN", "DEPLOYED_RESOURCES", "USER_TASKS"] as const;
const RESULTS = ["SUCCESS", "FAIL"] as const;

const columns: readonly Col<Deed>[] = [
  {
    id: "operationType",
    name: t.auditWhat,
    sorts: true,
    width: "2fr",
    minWidth: 220,
    cell: (row) => (
      <>
        <State name={row.result === "FAIL" ? "FAILED" : "COMPLETED"} bare />
        <span className="clip">{text.instance.deed(text.words.kind(row.operationType), text.words.kind(row.entityType))}</span>
      </>
    ),
  },
  {
    id: "on",
    name: t.auditOn,
    width: "1fr",
    minWidth: 180,
    cell: (row) =>
      row.processInstanceKey ? (
        <Link to="/processes/i/$key" params={{ key: row.processInstanceKey }} className="mono clip">
          {row.entityDescription || row.entityKey}
        </Link>
      ) : (
        <span className="mono clip" title={row.entityKey}>
          {row.entityDescription || row.entityKey}
        </span>
      ),
  },
  { id: "actorId", name: t.auditWho, sorts: true, width: "1fr", minWidth: 120, cell: (row) => <span className="clip">{row.actorId ?? t.somebody}</span> },
  { id: "timestamp", name: t.auditWhen, sorts: true, width: 148, cell: (row) => <Time at={row.timestamp} /> },
];

export default function Audit({ search, change }: SectionProps) {
  const filter = useMemo((): DeedFilter => {
    const [category, result] = [CATEGORIES.find((each) => each === search.category), RESULTS.find((each) => each === search.result)];
    return { ...(category ? { category } : {}), ...(result ? { result } : {}), ...(search.actor === undefined ? {} : { actorId: search.actor }) };
  }, [search.category, search.result, search.actor]);
  const order = deedOrder(search.sort);
  const { query, list } = useDeeds(filter, order, search.after);
  return (
    <section className="list" aria-label={t.sections.audit}>
      <div className="list-head">
        <FindField main label={t.auditFind} value={search.actor ?? ""} set={(actor) => change({ ...search, actor })} className="admin-find" />
        <Choice label={t.auditCategory} any={t.auditAny} names={t.auditCategories} values={CATEGORIES} value={search.category} set={(category) => change({ ...search, category })} />
        <Choice label={t.auditResult} any={t.auditAnyResult} names={t.auditResults} values={RESULTS} value={search.result} set={(result) => change({ ...search, result })} />
        <b role="status">{query.data ? t.audit(atLeast(list.total, list.more), list.total === 1) : " "}</b>
      </div>
      <div className="list-body">
        <Shown query={query} rows={8}>
          {() => (
            <Table
              label={t.sections.audit}
              columns={columns}
              rows={list.rows}
              {...ordered(order, (sort) => change({ ...search, sort }))}
              idOf={(row) => row.auditLogKey}
              loadMore={query.hasNextPage ? () => void query.fetchNextPage() : undefined}
              isLoadingMore={query.isFetchingNextPage}
              empty={<Note title={t.auditNone}>{t.auditNoneText}</Note>}
            />
          )}
        </Shown>
      </div>
      <NextWindow next={list.next} />
    </section>
  );
}

interface ChoiceProps {
  label: string;
  any: string;
  names: Record<string, string>;
  values: readonly string[];
  value: string | undefined;
  set: (value: string | undefined) => void;
}

function Choice({ label, any, names, values, value, set }: ChoiceProps) {
  return (
    <select className="field" aria-label={label} value={value ?? ""} onChange={(event) => set(event.target.value || undefined)}>
      <option value="">{any}</option>
      {values.map((each) => (
        <option key={each} value={each}>
          {names[each]}
        </option>
      ))}
    </select>
  );
}
