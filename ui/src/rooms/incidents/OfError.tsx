// The incidents of one error, or of all: where they are, and another try for each or for all.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { type ErrorGroup, type Incident, byDefinition, useIncidents } from "../../api/incidents";
import type { Filter } from "../../api/instances";
import { router } from "../../app/router";
import { Many } from "../../parts/Many";
import { NextWindow } from "../../parts/NextWindow";
import { Note } from "../../parts/Note";
import { RetryButton } from "../../parts/RetryButton";
import { Shown } from "../../parts/Shown";
import { type Col, Table } from "../../parts/Table";
import { useTenantColumn } from "../../parts/tenant";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { atLeast, number } from "../../text/format";
import type { IncidentSearch } from "./search";

const t = text.incidents;

const columns: readonly Col<Incident>[] = [
  {
    id: "instance",
    name: t.instance,
    width: 184,
    cell: (row) => (
      <Link to="/processes/i/$key" params={{ key: row.processInstanceKey }} search={{ scope: row.elementInstanceKey }} className="mono">
        {row.processInstanceKey}
      </Link>
    ),
  },
  { id: "process", name: t.process, width: "1fr", minWidth: 110, cell: (row) => <span className="clip">{row.processDefinitionId}</span> },
  { id: "element", name: t.element, width: "1fr", minWidth: 110, cell: (row) => <span className="clip" title={row.elementId}>{row.elementId}</span> },
  { id: "error", name: t.error, width: "3fr", minWidth: 180, cell: (row) => <span className="clip" title={row.errorMessage}>{row.errorMessage}</span> },
  { id: "since", name: t.since, width: 104, cell: (row) => <Time at={row.creationTime} /> },
  { id: "retry", name: text.commands.retry, width: 124, number: true, cell: (row) => <RetryButton incident={row.incidentKey} job={row.jobKey} /> },
];

export function OfError({ error, search }: { error: ErrorGroup | undefined; search: IncidentSearch }) {
  const filter = useMemo(() => (error ? { errorMessage: error.errorMessage } : {}), [error]);
  const { query, list } = useIncidents(filter, search.after);
  const shownColumns = useTenantColumn(useMemo(() => (error ? columns.filter((column) => column.id !== "error") : columns), [error]), "element");
  const bulk = useMemo<Filter>(
    () => (error ? { state: "ACTIVE", hasIncident: true, incidentErrorHashCode: error.errorHashCode } : { state: "ACTIVE", hasIncident: true }),
    [error],
  );
  return (
    <section className="list" aria-label={t.title}>
      {error ? <Message error={error} /> : null}
      <div className="list-head">
        <b role="status">{query.data ? text.words.count(list.total, "incident", "incidents") + (list.more ? "+" : "") : " "}</b>
        <span className="grow" />
        {list.total > 0 ? <Many command="retry" filter={bulk} terms={[error ? error.errorMessage : t.allErrors]} label={t.retryAll(atLeast(list.total, list.more))} /> : null}
      </div>
      <div className="list-body">
        <Shown query={query} rows={8}>
          {() => (
            <Table
              label={t.title}
              columns={shownColumns}
              rows={list.rows}
              idOf={(row) => row.incidentKey}
              onOpen={(row) => void router.navigate({ to: "/processes/i/$key", params: { key: row.processInstanceKey }, search: { scope: row.elementInstanceKey } })}
              loadMore={query.hasNextPage ? () => void query.fetchNextPage() : undefined}
              isLoadingMore={query.isFetchingNextPage}
              empty={<Note title={t.none} small />}
            />
          )}
        </Shown>
      </div>
      <NextWindow next={list.next} />
    </section>
  );
}

/** The whole text of the error, and in which processes it is. */
function Message({ error }: { error: ErrorGroup }) {
  const places = useQuery(byDefinition(error.errorHashCode)).data?.items ?? [];
  return (
    <header className="side-head">
      <h2 className="error-whole">{error.errorMessage}</h2>
      <ul className="error-places" aria-label={t.places}>
        {places.map((each) => (
          <li key={each.processDefinitionKey}>
            <Link
              to="/processes"
              search={{ process: each.processDefinitionId, version: String(each.processDefinitionVersion), state: "incident", hash: String(error.errorHashCode) }}
            >
              {`${each.processDefinitionName ?? each.processDefinitionId} v${each.processDefinitionVersion}`}
            </Link>
            <span className="faint figure">{` ${number(each.activeInstancesWithErrorCount)}`}</span>
          </li>
        ))}
      </ul>
    </header>
  );
}
