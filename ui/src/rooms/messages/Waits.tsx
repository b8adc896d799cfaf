// Elements that wait for a time, a signal or a condition.
import { useMemo } from "react";
import { type WaitState, useWaitStates } from "../../api/messages";
import { rightsOn } from "../../api/rights";
import type { Col } from "../../parts/Table";
import { useTenantColumn } from "../../parts/tenant";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { byDue } from "./due";
import { InstanceCell, Rows } from "./Rows";
import type { MessageSearch } from "./search";
import { SendButton } from "./SendButton";

const t = text.messages;
const KINDS = { timers: "TIMER", signals: "SIGNAL", conditions: "CONDITION" } as const;

const first: readonly Col<WaitState>[] = [
  { id: "process", name: t.process, width: "1fr", minWidth: 120, cell: (row) => <span className="clip">{row.bpmnProcessId}</span> },
  { id: "element", name: t.element, width: "1fr", minWidth: 120, cell: (row) => <span className="clip" title={row.elementId}>{row.elementId}</span> },
  { id: "instance", name: t.instance, width: 184, cell: (row) => <InstanceCell row={row} /> },
];

const timers: readonly Col<WaitState>[] = [
  { id: "due", name: t.due, width: 160, cell: ({ details }) => (details.waitStateType === "TIMER" ? <Due details={details} /> : null) },
  ...first,
];

const conditions: readonly Col<WaitState>[] = [
  { id: "what", name: t.condition, width: "2fr", minWidth: 160, cell: ({ details }) => (details.waitStateType === "CONDITION" ? <code className="clip" title={details.expression}>{details.expression}</code> : null) },
  ...first,
];

function Due({ details }: { details: Extract<WaitState["details"], { waitStateType: "TIMER" }> }) {
  return (
    <>
      <Time at={details.dueDate === null || details.dueDate === undefined ? null : new Date(details.dueDate).toISOString()} />
      {details.repetitions !== null && details.repetitions !== undefined && details.repetitions !== 1 ? <span className="faint">{t.repeats(details.repetitions)}</span> : null}
    </>
  );
}

const signals: readonly Col<WaitState>[] = [
  { id: "what", name: t.signal, width: "2fr", minWidth: 160, cell: ({ details }) => (details.waitStateType === "SIGNAL" ? <span className="clip" title={details.signalName}>{details.signalName}</span> : null) },
  ...first,
  { id: "send", name: t.send, width: 104, number: true, cell: ({ details, tenantId, bpmnProcessId }) => (details.waitStateType === "SIGNAL" ? <SendButton way="signal" name={details.signalName} tenant={tenantId} needs={rightsOn(bpmnProcessId).update} /> : null) },
];

const columns = { timers, signals, conditions };

export function Waits({ view, search }: { view: keyof typeof KINDS; search: MessageSearch }) {
  const found = useWaitStates(KINDS[view], search.after);
  const { query, list } = found;
  const isWhole = !query.hasNextPage && list.next === undefined && search.after === undefined;
  const rows = useMemo(() => (view === "timers" && isWhole ? byDue(list.rows) : list.rows), [view, isWhole, list.rows]);
  const shown = useTenantColumn(columns[view], "process", true);
  return <Rows view={view} search={search} found={{ query, list: { ...list, rows } }} columns={shown} idOf={(row) => `${row.elementInstanceKey} ${row.elementId} ${JSON.stringify(row.details)}`} />;
}
