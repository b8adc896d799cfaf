// Long lists: pages of a hundred by cursors, up to a window of two thousand rows. Behind it one goes on by an address.
import { type InfiniteData, type QueryKey, keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { type Ask, interval, isLed, moves, queries, renewed, usePaused } from "./live";
import type { Problem } from "./problem";

/** Rows that one page on the screen holds. */
export const WINDOW = 2_000;
export const PAGE = 100;

export interface Page<Row> {
  items: Row[];
  page: { totalItems: number; hasMoreTotalItems: boolean; endCursor: string | null };
}

export interface List<Row> {
  rows: Row[];
  total: number;
  /** There are more than the total says. */
  more: boolean;
  /** Where the window ends, when there is something behind it. */
  next: string | undefined;
}

const NONE: readonly never[] = [];

/** `after` is where the window begins; nothing: at the start of the list. */
export function useList<Row>(key: QueryKey, ask: (how: Ask, after: string | undefined) => Promise<Page<Row>>, after?: string, every = 5_000) {
  const paused = usePaused();
  const led = isLed(key, every);
  const query = useInfiniteQuery<Page<Row>, Problem, InfiniteData<Page<Row>, string | undefined>, QueryKey, string | undefined>({
    queryKey: [...key, "list", after ?? ""],
    queryFn: ({ signal, pageParam, queryKey }) => {
      const shown = queries.getQueryData<InfiniteData<Page<Row>, string | undefined>>(queryKey);
      const data = shown?.pages[shown.pageParams.indexOf(pageParam)];
      return renewed({ key: queryKey, every, data, page: pageParam ?? "" }, signal, (how) => ask(how, pageParam));
    },
    initialPageParam: after,
    getNextPageParam: (page, pages) =>
      page.items.length < PAGE || pages.length * PAGE >= WINDOW ? undefined : (page.page.endCursor ?? undefined),
    placeholderData: keepPreviousData,
    meta: { every },
    refetchOnWindowFocus: () => !(led && moves.works),
    refetchInterval: (q) => {
      const pages = q.state.data?.pages.length ?? 1;
      return led || paused ? false : pages * interval(q.queryKey, every, document.hidden);
    },
  });
  const pages = query.data?.pages ?? NONE;
  const [first, last] = [pages[0], pages.at(-1)];
  const rows = useMemo(() => pages.flatMap((page) => page.items), [pages]);
  const list: List<Row> = {
    rows,
    total: first?.page.totalItems ?? 0,
    more: first?.page.hasMoreTotalItems ?? false,
    next: rows.length >= WINDOW && last?.items.length === PAGE ? (last.page.endCursor ?? undefined) : undefined,
  };
  return { query, list };
}
