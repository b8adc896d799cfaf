// Where a new condition goes in a filter that may have alternatives.
import { type Conditions, alternativesOf, always, together, withAlternatives } from "./alternatives";
import { KINDS } from "./kinds";
import type { ProcessSearch } from "./search";

/** Beside all others, as an alternative to them, or into one that there is. */
export type Place = "and" | "or" | number;

export function added(search: ProcessSearch, place: Place, more: Conditions): ProcessSearch {
  if (place === "and") return { ...search, ...together(always(search), more) };
  const all = alternativesOf(search);
  if (place !== "or") return withAlternatives(search, all.map((each, at) => (at === place ? together(each, more) : each)));
  if (all.length > 0) return withAlternatives(search, [...all, more]);
  const nothing = Object.fromEntries(KINDS.map((kind) => [kind, undefined]));
  return withAlternatives({ ...search, ...nothing }, [always(search), more]);
}
