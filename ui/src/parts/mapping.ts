// Which element becomes which: by id and kind, unless somebody chose otherwise. The choices stand in the address as `source>target`.
import type { Step } from "./steps";

export interface Row {
  source: Step;
  target: string | undefined;
  how: "same" | "chosen" | "dropped" | "gap";
  /** Tokens that stand there. */
  standing: number;
}

/** Names of BPMN that are one kind for a migration. */
const kind = (step: Step): string => step.type + (step.multi ? " multi" : "");

export const candidates = (source: Step, targets: readonly Step[]): Step[] => targets.filter((target) => kind(target) === kind(source));

export const choicesOf = (plan: readonly string[]): Map<string, string> =>
  new Map(plan.flatMap((line) => {
    const at = line.indexOf(">");
    return at < 1 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const];
  }));

export const written = (choices: ReadonlyMap<string, string>): string[] => [...choices].map(([source, target]) => `${source}>${target}`);

/** A row for each element; those with tokens come first. */
export function rowsOf(sources: readonly Step[], targets: readonly Step[], choices: ReadonlyMap<string, string>, standing: (element: string) => number): Row[] {
  const rows = sources.map((source): Row => {
    const possible = candidates(source, targets);
    const choice = choices.get(source.id);
    const wanted = choice ?? source.id;
    const target = possible.find((each) => each.id === wanted)?.id;
    const count = standing(source.id);
    if (target !== undefined) return { source, target, how: choice === undefined ? "same" : "chosen", standing: count };
    return { source, target, how: count > 0 ? "gap" : "dropped", standing: count };
  });
  return rows.toSorted((a, b) => Number(b.standing > 0) - Number(a.standing > 0));
}

export const pairsOf = (rows: readonly Row[]) =>
  rows.flatMap(({ source, target }) => (target === undefined ? [] : [{ sourceElementId: source.id, targetElementId: target }]));
