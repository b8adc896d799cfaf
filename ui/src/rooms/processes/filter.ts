// From the address to the filter that is sent: what is shown is what is asked, and what commands on all of it act on.
import type { Filter, Sort } from "../../api/instances";
import { type InstanceKey, type Key, asKey, looksLikeKey } from "../../api/keys";
import { orderIn, withKey } from "../../api/order";
import type { CountFilter } from "../../api/processes";
import { compactJson, elementsOf, isJson } from "../../parts/json";
import { type Conditions, MOST_ALTERNATIVES, alternative, alternativesOf } from "./alternatives";
import { type ProcessSearch, STATES, type State } from "./search";

export interface Condition {
  name: string;
  not: boolean;
  /** JSON text, with `*` for anything where it is a pattern. */
  value: string;
  /** Of which the variable has one; then `value` is the list of them. */
  among?: readonly string[];
}

/** Values that one condition may name. */
const MOST = 100;

/** `city in ["Bonn", "Ulm"]`. */
function oneOf(text: string): Condition | undefined {
  const [, name = "", list = ""] = /^\s*([A-Za-z_]\w*)\s+in\s+(\[.*\])\s*$/s.exec(text) ?? [];
  if (name === "" || !isJson(list)) return undefined;
  const among = elementsOf(list);
  return among.length === 0 || among.length > MOST ? undefined : { name, not: false, value: `[${among.join(",")}]`, among };
}

/** `amount = 99`, `city = "Bonn"`, `city = Bo*`, or one of several values; what is no JSON is meant as a text. */
export function condition(text: string): Condition | undefined {
  if (/^\s*\w+\s+in\s/.test(text)) return oneOf(text);
  const found = /^\s*([A-Za-z_]\w*)\s*(!?=)\s*(\S.*?)\s*$/s.exec(text);
  if (!found) return undefined;
  const [, name = "", sign, written = ""] = found;
  const value = isJson(written) ? compactJson(written) : JSON.stringify(written.replace(/^"|"$/g, ""));
  return { name, not: sign === "!=", value };
}

export const written = ({ name, not, value, among }: Condition): string => `${name} ${among ? "in" : not ? "!=" : "="} ${value}`;

/** As the server takes it. */
const valueFilter = ({ not, value, among }: Condition) => (among ? { $in: [...among] } : not ? { $neq: value } : value.includes("*") ? { $like: value } : value);

export function statesOf(search: ProcessSearch): State[] {
  if (search.state === undefined) return [...STATES];
  const named = search.state.split(",");
  return STATES.filter((state) => named.includes(state));
}

/** Whether the drawing shows what ended as well. */
export const withEnded = (search: ProcessSearch): boolean => search.state !== undefined && /completed|terminated/.test(search.state);

const ended: Partial<Record<State, "COMPLETED" | "TERMINATED">> = { completed: "COMPLETED", terminated: "TERMINATED" };

function stateFilter(states: readonly State[]): Filter {
  const over = states.flatMap((state) => ended[state] ?? []);
  const [active, incident] = [states.includes("active"), states.includes("incident")];
  if (active && incident) return over.length === 2 ? {} : { state: { $in: ["ACTIVE", ...over] } };
  if (!active && !incident) return { state: { $in: over } };
  const atWork = { state: "ACTIVE" as const, hasIncident: incident };
  return over.length === 0 ? atWork : { $or: [atWork, { state: { $in: over } }] };
}

/** With `*` a pattern, or else the text itself. */
const pattern = (text: string) => (text.includes("*") ? { $like: text } : text);

const keys = <K extends Key<string>>(text: string): K[] => text.split(/[\s,]+/).filter((each) => looksLikeKey(each)).map((each) => asKey<K>(each));

/** Addresses hold moments; a time without a zone, as earlier versions wrote them, is one of here. */
const iso = (time: string): string | undefined => {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
};

const numberOf = (version: string | undefined): number | undefined => (version !== undefined && /^\d{1,9}$/.test(version) ? Number(version) : undefined);

const HASH = /^-?\d{1,10}$/;

function unreadIn(conditions: Conditions): string | undefined {
  const time = [conditions.from, conditions.to].find((each) => each && iso(each) === undefined);
  return conditions.var?.find((text) => condition(text) === undefined) ?? time;
}

/** What an address says that is no condition, as a link may that was cut. */
export function unread(search: ProcessSearch): string | undefined {
  const broken = search.or?.find((text, at) => at >= MOST_ALTERNATIVES || alternative(text) === undefined);
  const within = alternativesOf(search).map(unreadIn).find((text) => text !== undefined);
  return unreadIn(search) ?? broken ?? within ?? (search.hash && !HASH.test(search.hash) ? search.hash : undefined);
}

/** Of one alternative, or of what stands beside them; `atWork` when nothing that ended is asked for. */
function conditionsIn(search: Conditions, atWork: boolean): Filter {
  const filter: Filter = {};
  if (search.element) filter.elementId = search.element;
  if (search.element && atWork) filter.elementInstanceState = "ACTIVE";
  if (search.error) filter.errorMessage = pattern(search.error);
  if (search.business) filter.businessId = pattern(search.business);
  if (search.batch) filter.batchOperationKey = search.batch;
  if (search.key) filter.processInstanceKey = { $in: keys<InstanceKey>(search.key) };
  if (search.parent) filter.parentProcessInstanceKey = search.parent;
  const [from, to] = [search.from && iso(search.from), search.to && iso(search.to)];
  if (from || to) filter.startDate = { ...(from ? { $gte: from } : {}), ...(to ? { $lte: to } : {}) };
  const conditions = (search.var ?? []).flatMap((text) => condition(text) ?? []);
  if (conditions.length > 0) filter.variables = conditions.map((each) => ({ name: each.name, value: valueFilter(each) }));
  return filter;
}

/** `undefined` when no state is chosen, or a condition is none: then nothing is asked, and commands do not act on more than is seen. */
export function filterOf(search: ProcessSearch): Filter | undefined {
  const states = statesOf(search);
  if (states.length === 0 || unread(search) !== undefined) return undefined;
  const atWork = states.every((state) => state === "active" || state === "incident");
  const filter: Filter = { ...stateFilter(states), ...conditionsIn(search, atWork) };
  if (search.tenant) filter.tenantId = search.tenant;
  if (search.process) filter.processDefinitionId = search.process;
  const [version, other] = [numberOf(search.version), search.process === undefined ? undefined : numberOf(search.versus)];
  if (version !== undefined) filter.processDefinitionVersion = other === undefined ? version : { $in: [version, other] };
  if (search.hash) filter.incidentErrorHashCode = Number(search.hash);
  // The states may be alternatives as well; those of a filter have none within them.
  const alternatives = alternativesOf(search).map((each) => conditionsIn(each, atWork));
  if (alternatives.length > 0) filter.$or = (filter.$or ?? [{}]).flatMap((one) => alternatives.map((other) => Object.assign({}, one, other)));
  return filter;
}

const SORTS = ["startDate", "endDate", "processInstanceKey", "businessId", "processDefinitionName"] as const;

export const sortOf = (search: ProcessSearch) => orderIn(search.sort, SORTS, { field: "startDate", order: "DESC" });

/** The order of the list: rows that are alike in what was chosen by their keys. */
export const orderOf = (search: ProcessSearch): Sort[] => withKey(sortOf(search), "processInstanceKey");

/** The filter without what the diagram itself says: its process, and the element that was chosen in it. */
export function countFilter(filter: Filter): CountFilter {
  const { processDefinitionId: _id, processDefinitionVersion: _version, tenantId: _tenant, elementId: _element, elementInstanceState: _state, ...rest } = filter;
  return rest as CountFilter;
}
