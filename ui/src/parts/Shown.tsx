// An answer in its states: not there yet, there, there while another is asked for, or refused.
import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { Problem } from "../api/problem";
import { text } from "../text";
import { Failure } from "./Note";
import "./shown.css";

interface ShownProps<T> {
  query: UseQueryResult<T, Problem>;
  children: (data: T) => ReactNode;
  /** Rows that stand for those to come. */
  rows?: number;
  small?: boolean;
  /** What is shown where there is no such thing any more. */
  gone?: ReactNode;
}

export function Shown<T>({ query, children, rows = 3, small = false, gone }: ShownProps<T>) {
  const { data, error, refetch } = query;
  if (gone !== undefined && data === undefined && error instanceof Problem && error.isGone) return gone;
  if (error && data === undefined) return <Failure problem={error} retry={() => void refetch()} small={small} />;
  if (data === undefined) return <Skeleton rows={rows} />;
  return (
    <div className="shown" aria-busy={query.isPlaceholderData}>
      {query.isPlaceholderData ? <div className="thin-bar" /> : null}
      {error ? <Failure problem={error} retry={() => void refetch()} small /> : null}
      {children(data)}
    </div>
  );
}

/** Grey rows, once waiting is long enough to be seen. */
export function Skeleton({ rows }: { rows: number }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 200);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="skeleton" aria-busy="true">
      <span className="hidden">{text.words.loading}</span>
      {late ? Array.from({ length: rows }, (_, row) => <div key={row} className="skeleton-row" />) : null}
    </div>
  );
}
