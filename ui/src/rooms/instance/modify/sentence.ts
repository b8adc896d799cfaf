// A planned change in words.
import type { Step } from "../../../parts/steps";
import { text } from "../../../text";
import type { Change } from "./plan";

const t = text.change;

export function sentence(change: Change, steps: readonly Step[], standing: (element: string) => number): string {
  const name = (id: string | undefined) => steps.find((step) => step.id === id)?.name ?? id ?? "?";
  const count = change.token === undefined ? (standing(change.element) > 0 ? t.tokens(standing(change.element)) : t.every) : t.one(change.token);
  if (change.kind === "add") return t.doAdd(name(change.element));
  return change.kind === "cancel" ? t.doCancel(count, name(change.element)) : t.doMove(count, name(change.element), name(change.to));
}
