// What decisions came to.
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { type Evaluation, type EvaluationFilter, evaluationOrder, useEvaluations } from "../../api/decisions";
import { asKey, looksLikeKey } from "../../api/keys";
import { router } from "../../app/router";
import { NextWindow } from "../../parts/NextWindow";
import { Note } from "../../parts/Note";
import { ordered } from "../../parts/ordered";
import { Shown } from "../../parts/Shown";
import { State } from "../../parts/State";
import { type Col, Table } from "../../parts/Table";
import { useTenantColumn } from "../../parts/tenant";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { atLeast } from "../../text/format";
import { type DecisionSearch, VIEWS } from "./search";

const t = text.decisions;

const columns: readonly Col<Evaluation>[] = [
  {
    id: "decisionDefinitionName",
    name: t.decision,
    sorts: true,
    width: "2fr",
    minWidth: 196,
    cell: (row) => (
      <>
        <State name={row.state} bare />
        <Link to="/decisions/i/$id" params={{ id: row.decisionEvaluationInstanceKey }} className="clip" title={row.decisionDefinitionName}>
          {row.decisionDefinitionName}
        </Link>
        <span className="faint figure">{`v${row.decisionDefinitionVersion}`}</span>
      </>
    ),
  },
  {
    id: "result",
    name: t.result,
    width: "3fr",
    minWidth: 140,
    cell: (row) =>
      row.state === "FAILED" ? <span className="clip bad" title={row.evaluationFailure ?? undefined}>{row.evaluationFailure}</span> : <code className="clip" title={row.result}>{row.result}</code>,
  },
  {
    id: "processInstanceKey",
    name: t.instance,
    sorts: true,
    width: 184,
    cell: (row) =>
      row.processInstanceKey === null || row.processInstanceKey === asKey("-1") ? (
        <span className="faint">{t.tried}</span>
      ) : (
        <Link to="/processes/i/$key" params={{ key: row.processInstanceKey }} search={{ scope: row.elementInstanceKey ?? undefined }} className="mono">
          {row.processInstanceKey}
        </Link>
      ),
  },
  { id: "evaluationDate", name: t.when, width: 132, number: true, sorts: true, cell: (row) => <Time at={row.evaluationDate} /> },
];

export function Evaluations({ search, filter }: { search: DecisionSearch; filter: EvaluationFilter }) {
  const failed = search.view === "failed";
  const whole = useMemo<EvaluationFilter>(
    () => ({
      ...filter,
      ...(failed ? { state: "FAILED" } : {}),
      ...(search.instance !== undefined && looksLikeKey(search.instance) ? { processInstanceKey: asKey(search.instance) } : {}),
    }),
    [filter, failed, search.instance],
  );
  const order = evaluationOrder(search.sort);
  const { query, list } = useEvaluations(whole, order, search.after);
  const shown = useTenantColumn(columns, "processInstanceKey");
  return (
    <>
      <div className="list-head">
        <span className="row" role="group" aria-label={t.state}>
          {VIEWS.map((each) => (
            <Link key={each} to="/decisions" search={{ ...search, after: undefined, view: each === "all" ? undefined : each }} className="button small quiet" activeOptions={{ exact: true }} aria-current={(each === "failed") === failed ? "page" : undefined}>
              {t.views[each]}
            </Link>
          ))}
        </span>
        <b role="status">{query.data ? text.words.count(list.total, "evaluation", "evaluations").replace(/^[\d,]+/, atLeast(list.total, list.more)) : " "}</b>
      </div>
      <div className="list-body">
        <Shown query={query} rows={8}>
          {() => (
            <Table
              label={t.evaluations}
              columns={shown}
              rows={list.rows}
              {...ordered(order, (sort) => void router.navigate({ to: "/decisions", search: { ...search, sort, after: undefined }, replace: true }))}
              idOf={(row) => row.decisionEvaluationInstanceKey}
              onOpen={(row) => void router.navigate({ to: "/decisions/i/$id", params: { id: row.decisionEvaluationInstanceKey } })}
              loadMore={query.hasNextPage ? () => void query.fetchNextPage() : undefined}
              isLoadingMore={query.isFetchingNextPage}
              empty={failed ? <Note title={t.evaluationsNoneFailed} /> : <Note title={t.evaluationsNone}>{t.evaluationsNoneText}</Note>}
            />
          )}
        </Shown>
      </div>
      <NextWindow next={list.next} />
    </>
  );
}
