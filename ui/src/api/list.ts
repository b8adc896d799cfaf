// Long lists: pages of a hundred by cursors, up to a window of two thousand rows. Behind it one goes on by an address.
import { type InfiniteData, type QueryKey, infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { type Ask, interval, isLed, moves, queries, renewed, usePaused } from "./live";
import type { Problem } from "./problem";

/** Rows that one page on the screen holds. */
export const WINDOW = 2_000;
export const PAGE = 100;
const EVERY = 5_000;

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

type AskPage<Row> = (how: Ask, after: string | undefined) => Promise<Page<Row>>;

const question = <Row>(key: QueryKey, ask: AskPage<Row>, after: string | undefined, every: number) =>
  infiniteQueryOptions<Page<Row>, Problem, InfiniteData<Page<Row>, string | undefined>, QueryKey, string | undefined>({
    queryKey: [...key, "list", after ?? ""],
    queryFn: ({ signal, pageParam, queryKey }) => {
      const shown = queries.getQueryData<InfiniteData<Page<Row>, string | undefined>>(queryKey);
      const data = shown?.pages[shown.pageParams.indexOf(pageParam)];
      return renewed({ key: queryKey, every, data, page: pageParam ?? "" }, signal, (how) => ask(how, pageParam));
    },
    initialPageParam: after,
    getNextPageParam: (page, pages) =>
      page.items.length < PAGE || pages.length * PAGE >= WINDOW ? undefined : (page.page.endCursor ?? undefined),
    meta: { every },
  });

/** Asks for the first page of a list that is about to be shown. Who shows it is told what fails. */
export const fetchList = <Row>(key: QueryKey, ask: AskPage<Row>, after?: string, every = EVERY): void => void queries.prefetchInfiniteQuery(question(key, ask, after, every));

/** `after` is where the window begins; nothing: at the start of the list. */
export function useList<Row>(key: QueryKey, ask: AskPage<Row>, after?: string, every = EVERY) {
  const paused = usePaused();
  const led = isLed(key, every);
  const query = useInfiniteQuery<Page<Row>, Problem, InfiniteData<Page<Row>, string | undefined>, QueryKey, string | undefined>({
    ...question(key, ask, after, every),
    placeholderData: keepPreviousData,
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
