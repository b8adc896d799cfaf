// The instances that a filter finds, with the variables that stand as columns, in the order that was chosen.
import { useEffect, useMemo, useState } from "react";
import { useColumnValues } from "../../../api/columns";
import { type Filter, useInstances } from "../../../api/instances";
import { WINDOW } from "../../../api/list";
import { orderOf, sortOf } from "../filter";
import type { ProcessSearch } from "../search";
import { columnOf, sorted, variableSort } from "./order";

/** Asks for the pages that are not there yet, one after the other, while that is wanted. */
function useAll({ hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage }: ReturnType<typeof useInstances>["query"], wanted: boolean) {
  const goes = wanted && hasNextPage && !isFetchingNextPage && !isFetchNextPageError;
  useEffect(() => {
    if (goes) void fetchNextPage();
  }, [goes, fetchNextPage]);
}

/** The last one that was ready. */
function useHeld<T>(value: T, isReady: boolean): T {
  const [held, hold] = useState(value);
  if (isReady && held !== value) hold(value);
  return isReady ? value : held;
}

export function useRows(filter: Filter, search: ProcessSearch, names: readonly string[]) {
  const sort = sortOf(search);
  const order = useMemo(() => orderOf(search), [search]);
  const { query, list } = useInstances(filter, order, search.after);
  const keys = useMemo(() => list.rows.map((row) => row.processInstanceKey), [list.rows]);
  const { values, isWhole } = useColumnValues(keys, names);
  const wanted = useMemo(() => variableSort(search.sort, names), [search.sort, names]);
  // Rows that are not here cannot be sorted.
  const fits = query.data !== undefined && !list.more && list.total <= WINDOW && search.after === undefined;
  const by = fits ? wanted : undefined;
  useAll(query, by !== undefined);
  // A table is dear to draw, and would be drawn with each of twenty pages: it stays as it was until all of them are here.
  const isReady = by === undefined || query.isError || (!query.hasNextPage && isWhole);
  const now = useMemo(() => ({ rows: by && isReady ? sorted(list.rows, values, by) : list.rows, values }), [list.rows, values, by, isReady]);
  const isDown = by ? by.descending : sort.order === "DESC";
  return {
    query,
    list,
    ...useHeld(now, isReady),
    order,
    by,
    isSorting: !isReady,
    /** Whether variables can be sorted by; and the one that somebody chose although there are too many rows. */
    sorts: fits,
    lacking: query.data !== undefined && !fits ? wanted?.name : undefined,
    shown: { column: by ? columnOf(by.name) : sort.field, direction: isDown ? "descending" : "ascending" } as const,
  };
}
