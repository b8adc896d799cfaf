// The plan in the address: what it says, and how it is changed. Each change is one step back for the browser too.
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Ghosts } from "../../../parts/diagram";
import { type Change, arrives, readAll, write } from "./plan";

const route = getRouteApi("/processes/i/$key");

export interface Plan {
  changes: readonly Change[];
  add: (change: Change) => void;
  /** Takes one away, or puts another in its place. */
  replace: (at: number, change?: Change) => void;
  undo: () => void;
}

export function usePlan(): Plan {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return useMemo(() => {
    const changes = readAll(search.plan ?? []);
    const set = (next: readonly Change[]) => void navigate({ search: { ...search, plan: next.length === 0 ? undefined : next.map(write) } });
    return {
      changes,
      add: (change) => set([...changes, change]),
      replace: (at, change) => set(changes.flatMap((each, index) => (index !== at ? [each] : change ? [change] : []))),
      undo: () => set(changes.slice(0, -1)),
    };
  }, [search, navigate]);
}

/** What the diagram shows of it; `standing` are the tokens of each element. */
export function ghostsOf(changes: readonly Change[], standing: (element: string) => number): Ghosts {
  const steps = new Map<string, { arrive: number; leave: number }>();
  const at = (element: string) => {
    const found = steps.get(element) ?? { arrive: 0, leave: 0 };
    steps.set(element, found);
    return found;
  };
  for (const change of changes) {
    const count = change.kind === "add" || change.token !== undefined ? 1 : standing(change.element);
    if (change.kind !== "add") at(change.element).leave += count;
    const goal = arrives(change);
    if (goal !== undefined) at(goal).arrive += count;
  }
  return { steps, moves: changes.flatMap(({ kind, element, to }) => (kind === "move" && to !== undefined ? [{ from: element, to }] : [])) };
}
