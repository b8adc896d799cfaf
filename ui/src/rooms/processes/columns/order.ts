// The order of a list by a variable that stands as a column. The server has no such order: the page sorts what it holds, which is all
// of a list that fits into one window.
import { type Values, cellOf } from "../../../api/columns";
import type { Instance } from "../../../api/instances";

export interface VariableSort {
  name: string;
  descending: boolean;
}

const COLUMN = "variable ";
export const columnOf = (name: string): string => `${COLUMN}${name}`;

/** What the address says, as long as the variable is a column. */
export function variableSort(sort: string | undefined, names: readonly string[]): VariableSort | undefined {
  const descending = sort?.startsWith("-") ?? false;
  const column = descending ? sort?.slice(1) : sort;
  const name = names.find((each) => columnOf(each) === column);
  return name === undefined ? undefined : { name, descending };
}

const texts = new Intl.Collator("en", { numeric: true });
const INTEGER = /^-?\d+$/;
const NUMBER = /^-?\d/;

/** Numbers, then texts, then what else there is. */
const kind = (value: string): number => (NUMBER.test(value) ? 0 : value.startsWith('"') ? 1 : 2);

function numbers(one: string, other: string): number {
  const [a, b] = [Number(one), Number(other)];
  if (a !== b || !INTEGER.test(one) || !INTEGER.test(other)) return a - b;
  // They may differ in digits that a double does not have.
  const [whole, rest] = [BigInt(one), BigInt(other)];
  return whole < rest ? -1 : Number(whole > rest);
}

/** Of two values as JSON text. */
export function compare(one: string, other: string): number {
  const [a, b] = [kind(one), kind(other)];
  return a - b || (a === 0 ? numbers(one, other) : texts.compare(one, other));
}

/** Rows without a value come last, in either direction; those that are alike stay as they were. */
export function sorted(rows: readonly Instance[], values: Values, by: VariableSort): Instance[] {
  const of = (row: Instance) => values.get(cellOf(row.processInstanceKey, by.name));
  return rows.toSorted((one, other) => {
    const [a, b] = [of(one), of(other)];
    if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
    return by.descending ? compare(b, a) : compare(a, b);
  });
}
