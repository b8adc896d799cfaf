// The rows of a history that can be seen. One of them is the tab stop; arrows go from it, also to rows that are not drawn yet.
import { Link } from "@tanstack/react-router";
import { type Range, defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { AT_REST, type Instance, within } from "../../../api/instances";
import type { ScopeKey } from "../../../api/keys";
import { queries } from "../../../api/live";
import { Failure, Note } from "../../../parts/Note";
import { text } from "../../../text";
import { number } from "../../../text/format";
import { Item } from "./Item";
import { type Question, type Row, isItem, leadsTo, writtenBeginning } from "./rows";
import type { View } from "./useTree";

const t = text.instance;
const HEIGHT = 32;
const BESIDE = 12;

interface Props {
  instance: Instance;
  rows: readonly Row[];
  see: (view: View) => void;
  open: (id: string, isOpen: boolean) => void;
  selected: ScopeKey;
  choose: (scope: ScopeKey | undefined) => void;
}

const again = ({ scope, after }: Question) => void queries.refetchQueries({ queryKey: within(scope, after, AT_REST).queryKey, exact: true });

/** The row that is reached by Tab: the last that had the focus, the selected one, or the first. */
function useStop(rows: readonly Row[], selected: string) {
  const [focused, setFocused] = useState<string>();
  const at = useMemo(() => {
    const had = rows.findIndex((row) => row.id === focused && isItem(row));
    return had === -1 ? Math.max(0, rows.findIndex(({ id }) => id === selected)) : had;
  }, [rows, focused, selected]);
  return { at, setFocused };
}

export function Rows({ instance, rows, see, open, selected, choose }: Props) {
  const tree = useRef<HTMLDivElement>(null);
  const { at: stop, setFocused } = useStop(rows, selected);
  const leaps = useRef(false);
  // oxlint-disable-next-line react/incompatible-library -- its answers are used here alone
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => tree.current,
    // Failures and remarks are as high as they are.
    estimateSize: () => HEIGHT,
    getItemKey: useCallback((at: number) => rows[at]?.id ?? at, [rows]),
    overscan: BESIDE,
    // The row with the focus stays drawn, wherever one has scrolled to.
    rangeExtractor: useCallback((range: Range) => [...new Set([...defaultRangeExtractor(range), ...(stop < range.count ? [stop] : [])])].toSorted((a, b) => a - b), [stop]),
  });
  const drawn = virtual.getVirtualItems();
  const [first, last] = [Math.max(0, (virtual.range?.startIndex ?? 0) - BESIDE), (virtual.range?.endIndex ?? 0) + BESIDE];
  useEffect(() => {
    const shown = rows.slice(first, last + 1);
    see({
      pages: new Set(shown.flatMap((row) => (row.kind === "element" ? [row.question.id] : []))),
      wanted: shown.flatMap((row) => (row.kind === "next" ? [row.question] : [])),
    });
  }, [rows, first, last, see]);
  useLayoutEffect(() => {
    const row = leaps.current ? tree.current?.querySelector<HTMLElement>(`[data-index="${stop}"] [role="treeitem"]`) : undefined;
    if (!row) return;
    leaps.current = false;
    row.focus({ preventScroll: true });
  });
  const press = (event: KeyboardEvent<HTMLElement>) => {
    const row = rows[stop];
    if (!(event.target as HTMLElement).matches('[role="treeitem"]')) return;
    const next = leadsTo(rows, stop, event.key);
    if (event.key === "Enter" || event.key === " ") choose(row?.kind === "element" ? row.element.elementInstanceKey : undefined);
    else if (row?.kind === "element" && event.key === "ArrowRight" && row.open === false) open(row.id, true);
    else if (row?.kind === "element" && event.key === "ArrowLeft" && row.open === true) open(row.id, false);
    else if (next === undefined) return;
    else {
      leaps.current = true;
      setFocused(rows[next]?.id);
      virtual.scrollToIndex(next);
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className="tree" role="tree" tabIndex={-1} aria-label={t.history} onKeyDown={press} ref={tree}>
      <div className="tree-rows" role="presentation" style={{ height: virtual.getTotalSize() }}>
        {drawn.map(({ index, key, start }) => {
          const row = rows[index];
          return row === undefined ? null : (
            <div key={key} className="tree-place" role="presentation" data-index={index} ref={isItem(row) ? undefined : virtual.measureElement} style={{ transform: `translateY(${start}px)` }}>
              {isItem(row) ? (
                <Item row={row} instance={instance} selected={row.id === selected} isStop={index === stop} open={open} choose={choose} focused={setFocused} />
              ) : (
                <Remark row={row} />
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** What is in the place of rows. */
function Remark({ row }: { row: Row }) {
  if (row.kind === "failed") return <Failure problem={row.problem} retry={() => again(row.question)} small />;
  if (row.kind === "gone") return <Note title={t.historyGone} small />;
  if (row.kind === "cut" || row.kind === "from") {
    const { beginning, first } = row;
    return (
      <p className="faint tree-remark">
        {beginning ? t.historyCut(number(beginning.before - first + 1)) : t.historyFrom(number(first))}{" "}
        <Link to="." search={(now) => ({ ...now, history: beginning && writtenBeginning(beginning) })}>
          {beginning ? text.processes.window : text.words.fromStart}
        </Link>
      </p>
    );
  }
  return (
    <p className="faint tree-remark" aria-busy="true">
      {text.words.loading}
    </p>
  );
}
