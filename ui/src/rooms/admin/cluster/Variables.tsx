// Variables that expressions of all processes see, or those of a tenant's.
import { Pencil, Plus, Trash2 } from "lucide-react";
import { useMemo, useState } from "react";
import { RIGHTS, rightsOnVariable } from "../../../api/rights";
import { type ClusterVariable, clusterVariableOrder, dropClusterVariable, useClusterVariables } from "../../../api/settings";
import { FindField } from "../../../parts/FindField";
import { MayButton } from "../../../parts/MayButton";
import { Filtered, Note } from "../../../parts/Note";
import { ordered } from "../../../parts/ordered";
import { Shown } from "../../../parts/Shown";
import { type Col, Table } from "../../../parts/Table";
import { text } from "../../../text";
import { atLeast } from "../../../text/format";
import { Ask } from "../../../parts/Ask";
import type { SectionProps } from "../page";
import { VariableForm } from "./VariableForm";

const t = text.admin;

type Asked = { what: "edit" | "erase"; of: ClusterVariable } | { what: "new" };

const columnsOf = (tenants: boolean, ask: (what: Asked) => void): readonly Col<ClusterVariable>[] => [
  { id: "name", name: t.variableName, sorts: true, width: "1fr", minWidth: 100, cell: (row) => <span className="clip mono" title={row.name}>{row.name}</span> },
  { id: "value", name: text.commands.value, sorts: true, width: "2fr", minWidth: 110, cell: (row) => <span className="clip mono" title={row.value}>{row.value}</span> },
  ...(tenants ? [{ id: "tenantId", name: t.variableScope, sorts: true, width: "1fr" as const, minWidth: 120, cell: (row: ClusterVariable) => <span className="clip">{row.tenantId ?? t.variableGlobal}</span> }] : []),
  {
    id: "acts",
    name: t.acts,
    width: 84,
    cell: (row) => (
      <span className="row">
        <MayButton needs={rightsOnVariable(row.name).edit} className="button quiet icon small" aria-label={t.variableEdit(row.name)} title={t.editShort} onClick={() => ask({ what: "edit", of: row })}>
          <Pencil size={14} aria-hidden="true" />
        </MayButton>
        <MayButton needs={rightsOnVariable(row.name).erase} className="button quiet icon small" aria-label={t.variableErase(row.name)} title={t.erase} onClick={() => ask({ what: "erase", of: row })}>
          <Trash2 size={14} aria-hidden="true" />
        </MayButton>
      </span>
    ),
  },
];

export default function Variables({ search, change }: SectionProps) {
  const order = clusterVariableOrder(search.sort);
  const { query, list } = useClusterVariables(search.find, order, search.after);
  const [asked, ask] = useState<Asked>();
  const close = () => ask(undefined);
  const tenants = list.rows.some((row) => row.tenantId !== null);
  const columns = useMemo(() => columnsOf(tenants, ask), [tenants]);
  return (
    <section className="list" aria-label={t.sections.variables}>
      <div className="list-head">
        <FindField main label={t.variablesFind} value={search.find ?? ""} set={(find) => change({ ...search, find })} className="admin-find" />
        <b role="status">{query.data ? t.variables(atLeast(list.total, list.more), list.total === 1) : " "}</b>
        <span className="grow" />
        <MayButton needs={RIGHTS.variable} className="button small main" onClick={() => ask({ what: "new" })}>
          <Plus size={14} aria-hidden="true" />
          {t.variable}
        </MayButton>
      </div>
      <div className="list-body">
        <Shown query={query} rows={6}>
          {() => (
            <Table
              label={t.sections.variables}
              columns={columns}
              rows={list.rows}
              {...ordered(order, (sort) => change({ ...search, sort }))}
              idOf={(row) => JSON.stringify([row.tenantId, row.name])}
              loadMore={query.hasNextPage ? () => void query.fetchNextPage() : undefined}
              isLoadingMore={query.isFetchingNextPage}
              empty={search.find === undefined ? <Note title={t.variablesNone}>{t.variablesNoneText}</Note> : <Filtered title={t.noneFound}>{search.find}</Filtered>}
            />
          )}
        </Shown>
      </div>
      {asked?.what === "new" ? <VariableForm close={close} /> : null}
      {asked?.what === "edit" ? <VariableForm known={asked.of} close={close} /> : null}
      {asked?.what === "erase" ? (
        <Ask
          title={t.variableErase(asked.of.name)}
          hint={t.variableEraseText}
          go={t.erase}
          said={t.erased(asked.of.name)}
          command={() => dropClusterVariable(asked.of.tenantId, asked.of.name)}
          close={close}
        />
      ) : null}
    </section>
  );
}
