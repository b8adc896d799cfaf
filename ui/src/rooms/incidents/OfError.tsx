// The incidents of one error, or of all: where they are, and another try for each or for all.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { type ErrorGroup, type ErrorPlace, type Incident, byDefinition, incidentOrder, useIncidents } from "../../api/incidents";
import { router } from "../../app/router";
import { Many } from "../../parts/Many";
import { NextWindow } from "../../parts/NextWindow";
import { Note } from "../../parts/Note";
import { ordered } from "../../parts/ordered";
import { RetryButton } from "../../parts/RetryButton";
import { Shown } from "../../parts/Shown";
import { type Col, Table } from "../../parts/Table";
import { useTenantColumn } from "../../parts/tenant";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { atLeast } from "../../text/format";
import { bulkFilter, listFilter } from "./filter";
import { OneFirst } from "./OneFirst";
import { Places, nameOf } from "./Places";
import type { IncidentSearch } from "./search";

const t = text.incidents;

const columns: readonly Col<Incident>[] = [
  {
    id: "processInstanceKey",
    name: t.instance,
    width: 184,
    sorts: true,
    cell: (row) => (
      <Link to="/processes/i/$key" params={{ key: row.processInstanceKey }} search={{ scope: row.elementInstanceKey }} className="mono">
        {row.processInstanceKey}
      </Link>
    ),
  },
  { id: "processDefinitionId", name: t.process, width: "1fr", minWidth: 96, sorts: true, cell: (row) => <span className="clip">{row.processDefinitionId}</span> },
  { id: "elementId", name: t.element, width: "1fr", minWidth: 96, sorts: true, cell: (row) => <span className="clip" title={row.elementId}>{row.elementId}</span> },
  { id: "error", name: t.error, width: "3fr", minWidth: 180, cell: (row) => <span className="clip" title={row.errorMessage}>{row.errorMessage}</span> },
  { id: "creationTime", name: t.since, width: 104, sorts: true, cell: (row) => <Time at={row.creationTime} /> },
  { id: "retry", name: text.commands.retry, width: 112, number: true, cell: (row) => <RetryButton process={row.processDefinitionId} incident={row.incidentKey} job={row.jobKey} /> },
];

interface OfErrorProps {
  error: ErrorGroup | undefined;
  search: IncidentSearch;
}

export function OfError({ error, search }: OfErrorProps) {
  const filter = useMemo(() => listFilter(error, search), [error, search]);
  const order = incidentOrder(search.sort);
  const { query, list } = useIncidents(filter, order, search.after);
  const shownColumns = useTenantColumn(useMemo(() => (error ? columns.filter((column) => column.id !== "error") : columns), [error]), "elementId");
  const places = useQuery({ ...byDefinition(error?.errorHashCode ?? 0), enabled: error !== undefined }).data?.items ?? NOWHERE;
  const where = error && placeOf(places, search);
  const terms = [error ? error.errorMessage : t.allErrors, ...(where === undefined ? [] : [where])];
  return (
    <section className="list" aria-label={t.title}>
      {error ? (
        <header className="side-head">
          <h2 className="error-whole">{error.errorMessage}</h2>
          <Places error={error} places={places} search={search} />
        </header>
      ) : null}
      <div className="list-head">
        <b role="status">{query.data ? t.incidents(atLeast(list.total, list.more), list.total === 1) : " "}</b>
        {where === undefined ? null : <Narrowed places={places} where={where} search={search} />}
        <span className="grow" />
        <OneFirst key={`${search.error} ${search.process} ${search.element}`} next={list.rows[0]} several={list.total > 1} />
        {list.total > 0 ? <Many command="retry" filter={bulkFilter(error, search)} terms={terms} label={t.retryAll(atLeast(list.total, list.more))} /> : null}
      </div>
      <div className="list-body">
        <Shown query={query} rows={8}>
          {() => (
            <Table
              label={t.title}
              columns={shownColumns}
              rows={list.rows}
              {...ordered(order, (sort) => void router.navigate({ to: "/incidents", search: { ...search, sort, after: undefined }, replace: true }))}
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

const NOWHERE: readonly ErrorPlace[] = [];
const chosenIn = (places: readonly ErrorPlace[], { process }: IncidentSearch) => places.find(({ processDefinitionKey }) => processDefinitionKey === process);

/** The chosen place in words; its key, where the error has left that process meanwhile. */
function placeOf(places: readonly ErrorPlace[], search: IncidentSearch): string | undefined {
  if (search.process === undefined) return search.element;
  const place = chosenIn(places, search);
  const name = place ? nameOf(place) : search.process;
  return search.element === undefined ? name : t.at(search.element, name);
}

/** That only a place of the error is listed, with the ways back to all of them and to the instances. */
function Narrowed({ places, where, search }: { places: readonly ErrorPlace[]; where: string; search: IncidentSearch }) {
  const place = chosenIn(places, search);
  return (
    <>
      <span className="clip muted">{t.within(where)}</span>
      <Link to="/incidents" search={{ error: search.error, find: search.find, sort: search.sort }} activeOptions={{ exact: true }}>
        {t.everywhere}
      </Link>
      {place ? (
        <Link
          to="/processes"
          search={{ process: place.processDefinitionId, version: String(place.processDefinitionVersion), state: "incident", hash: search.error, element: search.element }}
        >
          {t.showInstances}
        </Link>
      ) : null}
    </>
  );
}
