// Fetches what the filter finds, and hands it over as a file.
import { useEffect } from "react";
import type { Filter, Sort } from "../../../api/instances";
import { announce } from "../../../parts/announce";
import { failed } from "../../../parts/failed";
import { text } from "../../../text";
import { type VariableSort, sorted } from "../columns/order";
import { collect } from "./collect";
import { csvOf } from "./csv";

const t = text.commands;
/** After this many milliseconds a person is told that it goes on. */
const LONG = 1_000;

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
    let told: (() => void) | undefined;
    const late = setTimeout(() => (told = announce("going", t.csvGoing, t.csvGoingText)), LONG);
    const quiet = () => {
      clearTimeout(late);
      told?.();
    };
    collect(filter, sort, names)
      .then(({ rows, values, cut }) => {
        if (gone) return;
        quiet();
        save(`instances-${new Date().toISOString().slice(0, 10)}.csv`, csvOf(by ? sorted(rows, values, by) : rows, names, values));
        announce("done", t.csvSaved(rows.length), cut ? t.csvCut : undefined);
      }, failed)
      .finally(() => {
        quiet();
        if (!gone) close();
      });
    return () => {
      gone = true;
      quiet();
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- it is asked for once, by what was shown then
  }, []);
  return null;
}
