// Below rows that are not all: how many there are, and the way to those behind them and back.
import { Link } from "@tanstack/react-router";
import { text } from "../text";
import { atLeast, number } from "../text/format";
import "./entries.css";

export interface Page {
  totalItems: number;
  hasMoreTotalItems: boolean;
  endCursor?: string | null;
}

/** Rows that such a list shows. */
const MOST = 1_000;

interface CutProps {
  shown: number;
  page: Page;
  /** Where the rows that are shown begin; nothing: they are the first. */
  after?: string;
}

export function Cut({ shown, page: { totalItems, hasMoreTotalItems, endCursor }, after }: CutProps) {
  const isFirst = after === undefined;
  if (isFirst && totalItems <= shown && !hasMoreTotalItems) return null;
  const total = atLeast(totalItems, hasMoreTotalItems);
  const next = shown >= MOST ? (endCursor ?? undefined) : undefined;
  return (
    <p className="faint entries-more">
      {isFirst ? text.words.cut(number(shown), total) : text.words.cutOn(number(shown), total)}{" "}
      {isFirst ? null : (
        <Link to="." search={(now) => ({ ...now, after: undefined })}>
          {text.words.fromStart}
        </Link>
      )}{" "}
      {next === undefined ? null : (
        <Link to="." search={(now) => ({ ...now, after: next })}>
          {text.processes.window}
        </Link>
      )}
    </p>
  );
}
