// The filter and the plan of a batch operation as people read them: a name and a value for each condition.
import type { Pair } from "../../api/change";
import { text } from "../../text";
import { exact, number } from "../../text/format";

export interface Term {
  name: string;
  value: string;
}

type Condition = Record<string, unknown>;

const t = text.batches;
const { filters, process, version, either, or, and } = text.processes;

/** As the page that the filter was made on calls them. */
const NAMES: Readonly<Record<string, string>> = {
  processDefinitionId: process,
  processDefinitionVersion: version,
  elementId: filters.element,
  errorMessage: filters.error,
  processInstanceKey: filters.key,
  parentProcessInstanceKey: filters.parent,
  batchOperationKey: filters.batch,
  startDate: t.started,
  endDate: t.ended,
  tenantId: text.tenants.tenant,
};

/** More values than these nobody reads in one line. */
const SEVERAL = 4;

const isObject = (value: unknown): value is Condition => typeof value === "object" && value !== null && !Array.isArray(value);

/** `incidentErrorHashCode` as "Incident error hash code". */
const spoken = (name: string): string => {
  const words = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
};

function plain(name: string, value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  if (/state$/i.test(name)) return text.words.state(value);
  return name.endsWith("Date") && !Number.isNaN(Date.parse(value)) ? exact(value) : value;
}

function list(name: string, values: unknown): string {
  const all = Array.isArray(values) ? values : [values];
  const shown = all.slice(0, SEVERAL).map((each) => plain(name, each)).join(", ");
  return all.length > SEVERAL ? t.andMore(shown, number(all.length - SEVERAL)) : shown;
}

const OPERATORS: Readonly<Record<string, (shown: string) => string>> = {
  $eq: (shown) => shown,
  $like: (shown) => shown,
  $in: (shown) => shown,
  $neq: t.not,
  $notIn: t.not,
  $gt: (shown) => `> ${shown}`,
  $gte: (shown) => `≥ ${shown}`,
  $lt: (shown) => `< ${shown}`,
  $lte: (shown) => `≤ ${shown}`,
  $exists: (shown) => (shown === "true" ? t.exists : t.absent),
};

function valueOf(name: string, value: unknown): string {
  if (!isObject(value)) return list(name, value);
  return Object.entries(value).map(([operator, operand]) => (OPERATORS[operator] ?? ((shown) => `${operator} ${shown}`))(list(name, operand))).join(` ${and} `);
}

function variable(condition: unknown): Term {
  const { name, value } = isObject(condition) ? condition : { name: "", value: condition };
  const is = isObject(value) ? valueOf("value", value) : `= ${String(value)}`;
  return { name: filters.var, value: `${String(name)} ${is}` };
}

const sentence = (filter: Condition): string => termsOf(filter).map(({ name, value }) => `${name} ${value}`).join(` ${and} `);

/** One for each condition; alternatives are one sentence. */
export function termsOf(filter: Condition): Term[] {
  return Object.entries(filter).flatMap(([name, value]): Term[] => {
    if (value === null) return [];
    if (name === "variables" && Array.isArray(value)) return value.map(variable);
    if (name === "$or" && Array.isArray(value)) return [{ name: either, value: value.filter(isObject).map(sentence).join(`, ${or} `) }];
    if (name === "hasIncident") return [{ name: t.incident, value: value === true ? t.yes : t.no }];
    return [{ name: NAMES[name] ?? spoken(name), value: valueOf(name, value) }];
  });
}

/** Where tokens go: by elements that keep their ids nothing is said. */
export function pairsOf(pairs: readonly Pair[]): string {
  const moved = pairs.filter((each) => each.sourceElementId !== each.targetElementId).map((each) => `${each.sourceElementId} → ${each.targetElementId}`);
  return list("", moved);
}
