// Who waits for a message, and which messages came.
import { type Correlated, type Subscription, type Wanted, useCame, useWaiting } from "../../api/messages";
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
  { id: "name", name: t.name, width: "2fr", minWidth: 130, cell: (row) => <span className="clip" title={row.messageName}>{row.messageName}</span> },
  { id: "key", name: t.key, width: "1fr", minWidth: 128, cell: (row) => <span className="clip mono" title={row.correlationKey ?? undefined}>{row.correlationKey}</span> },
  { id: "process", name: t.process, width: "1fr", minWidth: 110, cell: (row) => <span className="clip" title={row.processDefinitionId}>{row.processDefinitionName ?? row.processDefinitionId}</span> },
  { id: "element", name: t.element, width: "1fr", minWidth: 100, cell: (row) => <span className="clip" title={row.elementId}>{row.elementId}</span> },
  { id: "instance", name: t.instance, width: 176, cell: (row) => <InstanceCell row={row} /> },
  { id: "since", name: t.since, width: 112, number: true, cell: (row) => <Time at={row.lastUpdatedDate} /> },
  {
    id: "send",
    name: t.send,
    width: 104,
    number: true,
    cell: (row) => <SendButton way="correlate" name={row.messageName} correlationKey={row.correlationKey ?? ""} tenant={row.tenantId} needs={neededFor(row)} />,
  },
];

export function Waiting({ search }: { search: MessageSearch }) {
  const found = useWaiting(wanted(search), search.after);
  return <Rows view="waiting" search={search} found={found} columns={useTenantColumn(waiting, "process")} idOf={(row) => row.messageSubscriptionKey} />;
}

const came: readonly Col<Correlated>[] = [
  { id: "name", name: t.name, width: "2fr", minWidth: 130, cell: (row) => <span className="clip" title={row.messageName}>{row.messageName}</span> },
  { id: "key", name: t.key, width: "1fr", minWidth: 128, cell: (row) => <span className="clip mono" title={row.correlationKey ?? undefined}>{row.correlationKey}</span> },
  { id: "process", name: t.process, width: "1fr", minWidth: 110, cell: (row) => <span className="clip">{row.processDefinitionId}</span> },
  { id: "element", name: t.element, width: "1fr", minWidth: 100, cell: (row) => <span className="clip" title={row.elementId}>{row.elementId}</span> },
  { id: "instance", name: t.instance, width: 176, cell: (row) => <InstanceCell row={row} /> },
  { id: "when", name: t.arrived, width: 112, number: true, cell: (row) => <Time at={row.correlationTime} /> },
];

export function Came({ search }: { search: MessageSearch }) {
  const found = useCame(wanted(search), search.after);
  return <Rows view="came" search={search} found={found} columns={useTenantColumn(came, "process")} idOf={(row) => `${row.messageKey} ${row.subscriptionKey}`} />;
}
