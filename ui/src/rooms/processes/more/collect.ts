// All that a filter finds, up to ten thousand rows, with variables.
import { type Values, valuesOf } from "../../../api/columns";
import { type Filter, type Instance, type Sort, page } from "../../../api/instances";
import { PAGE } from "../../../api/list";

const MOST = 10_000;

interface Collected {
  rows: Instance[];
  values: Values;
  /** There are more. */
  cut: boolean;
}

export async function collect(filter: Filter, sort: Sort[], names: readonly string[], ask = page): Promise<Collected> {
  const rows: Instance[] = [];
  let after: string | undefined;
  let cut = false;
  do {
    const { items, page: at } = await ask(filter, sort, after);
    rows.push(...items);
    cut = at.hasMoreTotalItems || at.totalItems > MOST;
    after = items.length === 0 ? undefined : (at.endCursor ?? undefined);
  } while (after !== undefined && rows.length < MOST);
  const kept = rows.slice(0, MOST);
  const values = new Map<string, string>();
  for (let at = 0; names.length > 0 && at < kept.length; at += PAGE) {
    const keys = kept.slice(at, at + PAGE).map((row) => row.processInstanceKey);
    for (const [of, value] of await valuesOf(keys, names)) values.set(of, value);
  }
  return { rows: kept, values, cut };
}
