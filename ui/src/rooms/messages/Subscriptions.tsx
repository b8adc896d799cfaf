// Who waits for a message, and which messages came.
import { type Correlated, type Subscription, type Wanted, cameOrder, useCame, useWaiting, waitingOrder } from "../../api/messages";
import { rightsOn } from "../../api/rights";
import type { Col } from "../../parts/Table";
import { useTenantColumn } from "../../parts/tenant";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { InstanceCell, Rows } from "./Rows";
import type { MessageSearch } from "./search";
import { SendButton } from "./SendButton";

const t = text.messages;

const wanted = ({ name, key, process }: MessageSearch): Wanted => ({ name, key, process });

/** What waits goes on; a start event makes an instance. */
const neededFor = ({ messageSubscriptionType, processDefinitionId }: Subscription) => {
  const { update, start } = rightsOn(processDefinitionId);
  return messageSubscriptionType === "START_EVENT" ? start : update;
};

const waiting: readonly Col<Subscription>[] = [
  { id: "messageName", name: t.name, sorts: true, width: "2fr", minWidth: 130, cell: (row) => <span className="clip" title={row.messageName}>{row.messageName}</span> },
  { id: "correlationKey", name: t.key, sorts: true, width: "1fr", minWidth: 128, cell: (row) => <span className="clip mono" title={row.correlationKey ?? undefined}>{row.correlationKey}</span> },
  { id: "processDefinitionName", name: t.process, sorts: true, width: "1fr", minWidth: 110, cell: (row) => <span className="clip" title={row.processDefinitionId}>{row.processDefinitionName ?? row.processDefinitionId}</span> },
  { id: "elementId", name: t.element, sorts: true, width: "1fr", minWidth: 100, cell: (row) => <span className="clip" title={row.elementId}>{row.elementId}</span> },
  { id: "processInstanceKey", name: t.instance, sorts: true, width: 176, cell: (row) => <InstanceCell row={row} /> },
  { id: "lastUpdatedDate", name: t.since, sorts: true, width: 112, number: true, cell: (row) => <Time at={row.lastUpdatedDate} /> },
  {
    id: "send",
    name: t.send,
    width: 104,
    number: true,
    cell: (row) => <SendButton way="correlate" name={row.messageName} correlationKey={row.correlationKey ?? ""} tenant={row.tenantId} needs={neededFor(row)} />,
  },
];

export function Waiting({ search }: { search: MessageSearch }) {
  const order = waitingOrder(search.sort);
  const found = useWaiting(wanted(search), order, search.after);
  return <Rows view="waiting" search={search} found={found} order={order} columns={useTenantColumn(waiting, "processDefinitionName")} idOf={(row) => row.messageSubscriptionKey} />;
}

const came: readonly Col<Correlated>[] = [
  { id: "messageName", name: t.name, sorts: true, width: "2fr", minWidth: 130, cell: (row) => <span className="clip" title={row.messageName}>{row.messageName}</span> },
  { id: "correlationKey", name: t.key, sorts: true, width: "1fr", minWidth: 128, cell: (row) => <span className="clip mono" title={row.correlationKey ?? undefined}>{row.correlationKey}</span> },
  { id: "processDefinitionId", name: t.process, sorts: true, width: "1fr", minWidth: 110, cell: (row) => <span className="clip">{row.processDefinitionId}</span> },
  { id: "elementId", name: t.element, sorts: true, width: "1fr", minWidth: 100, cell: (row) => <span className="clip" title={row.elementId}>{row.elementId}</span> },
  { id: "processInstanceKey", name: t.instance, sorts: true, width: 176, cell: (row) => <InstanceCell row={row} /> },
  { id: "correlationTime", name: t.arrived, sorts: true, width: 112, number: true, cell: (row) => <Time at={row.correlationTime} /> },
];

export function Came({ search }: { search: MessageSearch }) {
  const order = cameOrder(search.sort);
  const found = useCame(wanted(search), order, search.after);
  return <Rows view="came" search={search} found={found} order={order} columns={useTenantColumn(came, "processDefinitionId")} idOf={(row) => `${row.messageKey} ${row.subscriptionKey}`} />;
}
