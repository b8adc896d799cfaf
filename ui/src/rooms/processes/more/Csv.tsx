// Fetches what the filter finds, up to ten thousand rows, and hands it over as a file.
import { useEffect } from "react";
import { type Values, valuesOf } from "../../../api/columns";
import { type Filter, type Instance, type Sort, page } from "../../../api/instances";
import { PAGE } from "../../../api/list";
import { announce } from "../../../parts/announce";
import { failed } from "../../../parts/failed";
import { text } from "../../../text";
import { type VariableSort, sorted } from "../columns/order";
import { csvOf } from "./csv";

const t = text.commands;
const MOST = 10_000;

interface Collected {
  rows: Instance[];
  values: Values;
  cut: boolean;
}

async function collect(filter: Filter, sort: Sort[], names: readonly string[]): Promise<Collected> {
  const rows: Instance[] = [];
  let after: string | undefined;
  do {
    const { items, page: at } = await page(filter, sort, after);
    rows.push(...items);
    after = items.length === 0 ? undefined : (at.endCursor ?? undefined);
  } while (after !== undefined && rows.length < MOST);
  const kept = rows.slice(0, MOST);
  const values = new Map<string, string>();
  for (let at = 0; names.length > 0 && at < kept.length; at += PAGE) {
    const keys = kept.slice(at, at + PAGE).map((row) => row.processInstanceKey);
    for (const [of, value] of await valuesOf(keys, names)) values.set(of, value);
  }
  return { rows: kept, values, cut: rows.length >= MOST };
}

function save(name: string, content: string) {
  const url = URL.createObjectURL(new Blob([content], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

interface CsvProps {
  filter: Filter;
  sort: Sort[];
  by: VariableSort | undefined;
  names: readonly string[];
  close: () => void;
}

export function Csv({ filter, sort, by, names, close }: CsvProps) {
  useEffect(() => {
    let gone = false;
    collect(filter, sort, names)
      .then(({ rows, values, cut }) => {
        if (gone) return;
        save(`instances-${new Date().toISOString().slice(0, 10)}.csv`, csvOf(by ? sorted(rows, values, by) : rows, names, values));
        announce("done", t.csvSaved(rows.length), cut ? t.csvCut : undefined);
      }, failed)
      .finally(() => void (gone || close()));
    return () => void (gone = true);
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- it is asked for once, by what was shown then
  }, []);
  return null;
}
