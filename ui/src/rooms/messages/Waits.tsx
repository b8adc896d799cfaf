// Elements that wait for a time, a signal or a condition.
import { useMemo } from "react";
import { type WaitState, useWaitStates, waitOrder } from "../../api/messages";
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
  { id: "elementId", name: t.element, sorts: true, width: "1fr", minWidth: 120, cell: (row) => <span className="clip" title={row.elementId}>{row.elementId}</span> },
  { id: "processInstanceKey", name: t.instance, sorts: true, width: 184, cell: (row) => <InstanceCell row={row} /> },
];

/** Only a whole list can be in the order of its times. */
const timed = (whole: boolean): readonly Col<WaitState>[] => [
  { id: "due", name: t.due, sorts: whole, width: 160, cell: ({ details }) => (details.waitStateType === "TIMER" ? <Due details={details} /> : null) },
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

const columns = { timers: timed(true), signals, conditions };
const part = timed(false);
const KEYS = { field: "elementInstanceKey", order: "ASC" } as const;

export function Waits({ view, search }: { view: keyof typeof KINDS; search: MessageSearch }) {
  const order = waitOrder(search.sort);
  const found = useWaitStates(KINDS[view], order, search.after);
  const { query, list } = found;
  const isWhole = !query.hasNextPage && list.next === undefined && search.after === undefined;
  const isDue = order.field === "due" && view === "timers" && isWhole;
  const rows = useMemo(() => (isDue ? byDue(list.rows, order.order) : list.rows), [isDue, order.order, list.rows]);
  const shown = useTenantColumn(view === "timers" && !isWhole ? part : columns[view], "process", true);
  return <Rows view={view} search={search} found={{ query, list: { ...list, rows } }} columns={shown} order={order.field === "due" && !isDue ? KEYS : order} idOf={(row) => `${row.elementInstanceKey} ${row.elementId} ${JSON.stringify(row.details)}`} />;
}
