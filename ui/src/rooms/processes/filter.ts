// From the address to the filter that is sent: what is shown is what is asked, and what commands on all of it act on.
import type { Filter, Sort } from "../../api/instances";
import { type InstanceKey, type Key, asKey, looksLikeKey } from "../../api/keys";
import type { CountFilter } from "../../api/processes";
import { compactJson, isJson } from "../../parts/json";
import { type ProcessSearch, STATES, type State } from "./search";

export interface Condition {
  name: string;
  not: boolean;
  /** JSON text, with `*` for anything where it is a pattern. */
  value: string;
}

/** `amount = 99`, `city = "Bonn"`, `city = Bo*`; what is no JSON is meant as a text. */
export function condition(text: string): Condition | undefined {
  const found = /^\s*([A-Za-z_]\w*)\s*(!?=)\s*(\S.*?)\s*$/s.exec(text);
  if (!found) return undefined;
  const [, name = "", sign, written = ""] = found;
  const value = isJson(written) ? compactJson(written) : JSON.stringify(written.replace(/^"|"$/g, ""));
  return { name, not: sign === "!=", value };
}

export const written = ({ name, not, value }: Condition): string => `${name} ${not ? "!=" : "="} ${value}`;

export function statesOf(search: ProcessSearch): State[] {
  if (search.state === undefined) return [...STATES];
  const named = search.state.split(",");
  return STATES.filter((state) => named.includes(state));
}

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

/** `undefined` when no state is chosen: then nothing can be found, and nothing is asked. */
export function filterOf(search: ProcessSearch): Filter | undefined {
  const states = statesOf(search);
  if (states.length === 0) return undefined;
  const filter: Filter = { ...stateFilter(states) };
  if (search.tenant) filter.tenantId = search.tenant;
  if (search.process) filter.processDefinitionId = search.process;
  const [version, other] = [numberOf(search.version), search.process === undefined ? undefined : numberOf(search.versus)];
  if (version !== undefined) filter.processDefinitionVersion = other === undefined ? version : { $in: [version, other] };
  if (search.element) filter.elementId = search.element;
  if (search.element && states.every((state) => state === "active" || state === "incident")) filter.elementInstanceState = "ACTIVE";
  if (search.error) filter.errorMessage = pattern(search.error);
  if (search.hash && /^-?\d{1,10}$/.test(search.hash)) filter.incidentErrorHashCode = Number(search.hash);
  if (search.business) filter.businessId = pattern(search.business);
  if (search.batch) filter.batchOperationKey = search.batch;
  if (search.key) filter.processInstanceKey = { $in: keys<InstanceKey>(search.key) };
  if (search.parent) filter.parentProcessInstanceKey = search.parent;
  const [from, to] = [search.from && iso(search.from), search.to && iso(search.to)];
  if (from || to) filter.startDate = { ...(from ? { $gte: from } : {}), ...(to ? { $lte: to } : {}) };
  const conditions = (search.var ?? []).flatMap((text) => condition(text) ?? []);
  if (conditions.length > 0) {
    filter.variables = conditions.map(({ name, not, value }) => ({
      name,
      value: not ? { $neq: value } : value.includes("*") ? { $like: value } : value,
    }));
  }
  return filter;
}

const SORTS = ["startDate", "endDate", "processInstanceKey", "businessId", "processDefinitionName"] as const;

export function sortOf(search: ProcessSearch): Sort {
  const wanted = search.sort ?? "-startDate";
  const field = SORTS.find((each) => each === wanted.replace("-", "")) ?? "startDate";
  return { field, order: wanted.startsWith("-") ? "DESC" : "ASC" };
}

/** The filter without what the diagram itself says: its process, and the element that was chosen in it. */
export function countFilter(filter: Filter): CountFilter {
  const { processDefinitionId: _id, processDefinitionVersion: _version, tenantId: _tenant, elementId: _element, elementInstanceState: _state, ...rest } = filter;
  return rest as CountFilter;
}
