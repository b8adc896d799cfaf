// Fetches what the filter finds, up to ten thousand rows, and hands it over as a file.
import { useEffect } from "react";
import { type Filter, type Instance, type Sort, page } from "../../../api/instances";
import { announce } from "../../../parts/announce";
import { failed } from "../../../parts/failed";
import { text } from "../../../text";
import { csvOf } from "./csv";

const t = text.commands;
const MOST = 10_000;

async function collect(filter: Filter, sort: Sort[]): Promise<{ rows: Instance[]; cut: boolean }> {
  const rows: Instance[] = [];
  let after: string | undefined;
  do {
    const { items, page: at } = await page(filter, sort, after);
    rows.push(...items);
    after = items.length === 0 ? undefined : (at.endCursor ?? undefined);
  } while (after !== undefined && rows.length < MOST);
  return { rows: rows.slice(0, MOST), cut: rows.length >= MOST };
}

function save(name: string, content: string) {
  const url = URL.createObjectURL(new Blob([content], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function Csv({ filter, sort, close }: { filter: Filter; sort: Sort[]; close: () => void }) {
  useEffect(() => {
    let gone = false;
    collect(filter, sort)
      .then(({ rows, cut }) => {
        if (gone) return;
        save(`instances-${new Date().toISOString().slice(0, 10)}.csv`, csvOf(rows));
        announce("done", t.csvSaved(rows.length), cut ? t.csvCut : undefined);
      }, failed)
      .finally(() => void (gone || close()));
    return () => void (gone = true);
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- it is asked for once, by what was shown then
  }, []);
  return null;
}
