// Rows as a file that spreadsheets read, and that none of them takes for formulas.
import { type Values, cellOf } from "../../../api/columns";
import type { Instance } from "../../../api/instances";

const columns: readonly (readonly [string, (row: Instance) => unknown])[] = [
  ["key", (row) => row.processInstanceKey],
  ["process", (row) => row.processDefinitionId],
  ["name", (row) => row.processDefinitionName],
  ["version", (row) => row.processDefinitionVersion],
  ["versionTag", (row) => row.processDefinitionVersionTag],
  ["state", (row) => row.state],
  ["incident", (row) => row.hasIncident],
  ["businessId", (row) => row.businessId],
  ["started", (row) => row.startDate],
  ["ended", (row) => row.endDate],
  ["calledBy", (row) => row.parentProcessInstanceKey],
  ["tenant", (row) => row.tenantId],
];

/** A spreadsheet reads it as what it is. */
const NUMBER = /^-\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** In quotes where it has to be; what a spreadsheet would compute begins with an apostrophe. */
export function cell(value: unknown): string {
  const text = value === null || value === undefined ? "" : String(value);
  const safe = /^[=+\-@\t\r]/.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const csvOf = (rows: readonly Instance[], names: readonly string[], values: Values): string =>
  [
    [...columns.map(([name]) => name), ...names.map(cell)],
    ...rows.map((row) => [...columns.map(([, value]) => cell(value(row))), ...names.map((name) => cell(values.get(cellOf(row.processInstanceKey, name))))]),
  ].map((line) => line.join(",")).join("\r\n") + "\r\n";
