// Who waits for messages, timers and signals, what came, and ways to send.
import { type Answer, type Body, command, post } from "./client";
import { PAGE, useList } from "./list";
import { done } from "./live";
import { orderIn, withKey } from "./order";
import { here } from "./tenant";

export type Subscription = Answer<"/message-subscriptions/search", "post">["items"][number];
export type Correlated = Answer<"/correlated-message-subscriptions/search", "post">["items"][number];
export type WaitState = Answer<"/element-instances/wait-states/search", "post">["items"][number];
type SubscriptionFilter = NonNullable<Body<"/message-subscriptions/search", "post">["filter"]>;
type CorrelatedFilter = NonNullable<Body<"/correlated-message-subscriptions/search", "post">["filter"]>;

export interface Wanted {
  name: string | undefined;
  key: string | undefined;
  process: string | undefined;
}

const page = (from: string | undefined) => (from === undefined ? { limit: PAGE } : { limit: PAGE, after: from });

const WAITING = ["messageName", "correlationKey", "processDefinitionName", "elementId", "processInstanceKey", "lastUpdatedDate"] as const;
/** Who waits longest comes first, unless the address says otherwise. */
export const waitingOrder = (sort: string | undefined) => orderIn(sort, WAITING, { field: "lastUpdatedDate", order: "ASC" });

export const useWaiting = ({ name, key, process }: Wanted, order: ReturnType<typeof waitingOrder>, after?: string) => {
  const filter: SubscriptionFilter = {
    messageSubscriptionState: "CREATED",
    ...here(),
    ...(name === undefined ? {} : { messageName: name }),
    ...(key === undefined ? {} : { correlationKey: key }),
    ...(process === undefined ? {} : { processDefinitionId: process }),
  };
  return useList(["messages", "waiting", filter, order], (how, from) =>
    post("/message-subscriptions/search", {}, { filter, sort: withKey(order, "messageSubscriptionKey"), page: page(from) }, how), after);
};

const CAME = ["messageName", "correlationKey", "processDefinitionId", "elementId", "processInstanceKey", "correlationTime"] as const;
/** The newest first, unless the address says otherwise. */
export const cameOrder = (sort: string | undefined) => orderIn(sort, CAME, { field: "correlationTime", order: "DESC" });

/** What came. */
export const useCame = ({ name, key, process }: Wanted, order: ReturnType<typeof cameOrder>, after?: string) => {
  const filter: CorrelatedFilter = {
    ...here(),
    ...(name === undefined ? {} : { messageName: name }),
    ...(key === undefined ? {} : { correlationKey: key }),
    ...(process === undefined ? {} : { processDefinitionId: process }),
  };
  return useList(["messages", "came", filter, order], (how, from) =>
    post("/correlated-message-subscriptions/search", {}, { filter, sort: withKey(order, "messageKey"), page: page(from) }, how), after);
};

const WAITS = ["due", "elementId", "processInstanceKey"] as const;
/** The soonest first, unless the address says otherwise. */
export const waitOrder = (sort: string | undefined) => orderIn(sort, WAITS, { field: "due", order: "ASC" });

/** Elements that wait for a timer, a signal or a condition. The server does not know the order by `due`. */
export const useWaitStates = (kind: "TIMER" | "SIGNAL" | "CONDITION", { field, order }: ReturnType<typeof waitOrder>, after?: string) => {
  const sort = withKey(field === "due" ? { field: "elementInstanceKey", order: "ASC" } : { field, order }, "elementInstanceKey");
  return useList(["messages", "waits", kind, sort], (how, from) =>
    post("/element-instances/wait-states/search", {}, { filter: { waitStateType: kind }, sort, page: page(from) }, how), after);
};

const member = (name: string, value: string): string => `${JSON.stringify(name)}:${value}`;
const text = (name: string, value: string): string[] => (value === "" ? [] : [member(name, JSON.stringify(value))]);

export interface Sent {
  name: string;
  key: string;
  /** JSON text. */
  variables: string;
  tenant: string | undefined;
}

const ofTenant = (tenant: string | undefined): string[] => (tenant === undefined ? [] : [member("tenantId", JSON.stringify(tenant))]);

export interface Published extends Sent {
  id: string;
  /** Milliseconds. */
  timeToLive: number;
}

export const publish = ({ name, key, variables, id, timeToLive, tenant }: Published) =>
  done(command("/messages/publication", {}, `{${[...text("name", name), member("correlationKey", JSON.stringify(key)), ...text("messageId", id), member("timeToLive", String(timeToLive)), ...ofTenant(tenant), member("variables", variables)].join(",")}}`));

/** To one that waits now, or that it starts; refused when there is none. */
export const correlate = ({ name, key, variables, tenant }: Sent) =>
  done(command("/messages/correlation", {}, `{${[...text("name", name), member("correlationKey", JSON.stringify(key)), ...ofTenant(tenant), member("variables", variables)].join(",")}}`));

export const broadcast = ({ name, variables, tenant }: Omit<Sent, "key">) =>
  done(command("/signals/broadcast", {}, `{${[...text("signalName", name), ...ofTenant(tenant), member("variables", variables)].join(",")}}`));
