// Variables beside the instances that a list shows, asked for with a page of them at a time.
import { useQueries } from "@tanstack/react-query";
import { post } from "./client";
import type { DefinitionKey, InstanceKey } from "./keys";
import { PAGE } from "./list";
import { live } from "./live";

/** By instance and name, as JSON text; long ones are cut. */
export type Values = ReadonlyMap<string, string>;
export const cellOf = (instance: InstanceKey, name: string): string => `${instance} ${name}`;

/** Values of these names in the scope of each instance itself. */
export async function valuesOf(keys: readonly InstanceKey[], names: readonly string[], how?: { signal: AbortSignal; eventual: boolean }): Promise<Values> {
  const { items } = await post("/variables/search", {}, { filter: { scopeKey: { $in: [...keys] }, name: { $in: [...names] } }, page: { limit: keys.length * names.length } }, how);
  return new Map(items.map((each) => [cellOf(each.processInstanceKey, each.name), each.isTruncated ? `${each.value}…` : each.value]));
}

interface Columns {
  values: Values;
  /** Those of all instances are there. */
  isWhole: boolean;
}

/** Outside, so that its outcome is the same for as long as the answers are. */
function together(found: readonly { data: Values | undefined }[]): Columns {
  const all = found.map(({ data }) => data);
  return { values: new Map(all.flatMap((data) => [...(data ?? [])])), isWhole: !all.includes(undefined) };
}

export function useColumnValues(keys: readonly InstanceKey[], names: readonly string[]): Columns {
  const pages = names.length === 0 ? [] : Array.from({ length: Math.ceil(keys.length / PAGE) }, (_, page) => keys.slice(page * PAGE, (page + 1) * PAGE));
  const queries = pages.map((page) => live(["variables", "columns", page, names], (how) => valuesOf(page, names, how)));
  return useQueries({ queries, combine: together });
}

/** Names that variables of instances of a definition have or had. */
export const variableNames = (key: DefinitionKey) =>
  live(["variables", "names", key], async (how) => {
    const { items } = await post("/process-definitions/{processDefinitionKey}/variable-names/search", { processDefinitionKey: key }, { page: { limit: 200 } }, how);
    return items.map((each) => each.name);
  }, 30_000);
