// Conditions as people read them.
import { text } from "../../text";
import { type Conditions, alternativesOf } from "./alternatives";
import { KINDS } from "./kinds";
import type { ProcessSearch } from "./search";
import { shownOf } from "./shown";

const t = text.processes;

/** One for each condition: "Variable amount = 99". */
export const wordsOf = (conditions: Conditions): string[] =>
  KINDS.flatMap((kind) => {
    const value = conditions[kind] ?? [];
    return (Array.isArray(value) ? value : [value]).map((each) => `${t.filters[kind]} ${shownOf(kind, each)}`);
  });

/** All alternatives in one sentence; nothing without any. */
export function eitherOf(search: ProcessSearch): string[] {
  const all = alternativesOf(search).map((each) => wordsOf(each).join(` ${t.and} `));
  return all.length === 0 ? [] : [`${t.either} ${all.join(`, ${t.or} `)}`];
}
