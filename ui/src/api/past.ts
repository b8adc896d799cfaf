// All that happened in an instance, the oldest first, in windows behind each other: of each step just what tells where tokens stood.
import { useQueries } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { post } from "./client";
import type { ElementInstance, Instance } from "./instances";
import type { InstanceKey } from "./keys";
import { live, queries } from "./live";
import type { Problem } from "./problem";

/** Steps of one window: as many as one answer holds. */
const STEP = 10_000;
/** Steps that are read before somebody asks for more. */
const AT_ONCE = 100_000;
/** Steps that a page holds, in some 25 MB. */
const MOST = 1_000_000;
const AT_WORK = 5_000;
const AT_REST = 60_000;

export type Life = Pick<ElementInstance, "elementId" | "startDate" | "endDate" | "state">;

/** Columns, in the order of the beginnings. */
export interface Steps {
  elements: readonly string[];
  /** Which of the elements. */
  of: Uint32Array;
  start: Float64Array;
  /** What has not ended ends never. */
  end: Float64Array;
  cancelled: Uint8Array;
}

export interface Window extends Steps {
  /** Where the next one begins; nothing: there is none. */
  next: string | undefined;
}

export function steps(lives: readonly Life[]): Steps {
  const known = new Map<string, number>();
  const found = { of: new Uint32Array(lives.length), start: new Float64Array(lives.length), end: new Float64Array(lives.length), cancelled: new Uint8Array(lives.length) };
  for (const [at, { elementId, startDate, endDate, state }] of lives.entries()) {
    const element = known.get(elementId) ?? known.size;
    known.set(elementId, element);
    found.of[at] = element;
    found.start[at] = Date.parse(startDate);
    found.end[at] = endDate ? Date.parse(endDate) : Number.POSITIVE_INFINITY;
    found.cancelled[at] = state === "TERMINATED" ? 1 : 0;
  }
  return { elements: [...known.keys()], ...found };
}

const windowOf = (key: InstanceKey, after: string | undefined, every: number) =>
  live<Window>(["instances", "past", key, after ?? ""], async (how) => {
    const { items, page } = await post("/element-instances/search", {}, {
      filter: { processInstanceKey: key },
      sort: [{ field: "startDate" }, { field: "elementInstanceKey" }],
      page: after === undefined ? { limit: STEP } : { limit: STEP, after },
    }, how);
    return { ...steps(items), next: items.length < STEP ? undefined : (page.endCursor ?? undefined) };
  }, every);

const known = (key: InstanceKey, after: string | undefined) => queries.getQueryData<Window>(windowOf(key, after, AT_REST).queryKey);

/** Nothing of a window will change: it is full, and all of it has ended. */
const isStill = (of: Window | undefined): boolean => of?.next !== undefined && of.end.every((time) => time !== Number.POSITIVE_INFINITY);

interface Read {
  afters: readonly (string | undefined)[];
  windows: readonly Window[];
}

/** What is known, and the window behind it if it is wanted. */
function reading(key: InstanceKey, wanted: number, until: number): Read {
  const [afters, windows]: [(string | undefined)[], Window[]] = [[], []];
  for (let after: string | undefined; afters.length * STEP < MOST; ) {
    const last = windows.at(-1);
    if (windows.length * STEP >= wanted && (last?.start.at(-1) ?? 0) > until) break;
    afters.push(after);
    const found = known(key, after);
    if (found === undefined) break;
    windows.push(found);
    after = found.next;
    if (after === undefined) break;
  }
  return { afters, windows };
}

export interface Past {
  windows: readonly Window[];
  count: number;
  /** There is more than was read. */
  more: boolean;
  busy: boolean;
  error: Problem | undefined;
  /** Reads further, where it is not at its end. */
  goOn: (() => void) | undefined;
  retry: () => void;
}

/** As much of it as is read at once, up to the time that is looked at, and then as far as somebody asks for. */
export function usePast({ processInstanceKey: key, state }: Instance, until: number | undefined): Past {
  const [wanted, want] = useState(AT_ONCE);
  const { afters, windows } = until === undefined ? { afters: [], windows: [] } : reading(key, wanted, until);
  const results = useQueries({
    // What will not change is read once, as there may be a hundred windows; steps are added to the last one.
    queries: afters.map((after, at) => {
      const grows = state === "ACTIVE" && at === afters.length - 1;
      return { ...windowOf(key, after, grows ? AT_WORK : AT_REST), enabled: !isStill(known(key, after)), staleTime: grows ? 1_000 : AT_REST };
    }),
  });
  const count = windows.reduce((sum, each) => sum + each.of.length, 0);
  // Only the data of each result is read, so that nothing else draws the page again when it comes.
  const failed = results.find(({ data, error }) => data === undefined && error !== null);
  const more = windows.length > 0 && windows.at(-1)?.next !== undefined;
  const further = useCallback(() => want((before) => Math.max(before, count) + AT_ONCE), [count]);
  return {
    windows,
    count,
    more,
    busy: windows.length < afters.length && failed === undefined,
    error: failed?.error ?? undefined,
    goOn: more && windows.length === afters.length && count < MOST ? further : undefined,
    retry: () => void failed?.refetch(),
  };
}
