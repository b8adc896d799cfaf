// The rows of a history: what is open of the tree, one below the other, and what of it is still to be asked for.
import { FIRST, THEN, type ElementInstance, type Instance } from "../../../api/instances";
import { type ScopeKey, asKey } from "../../../api/keys";
import type { Problem } from "../../../api/problem";

/** One page of what is right within a scope. */
export interface Question {
  id: string;
  scope: ScopeKey;
  after: string | undefined;
  /** The page before it. */
  before: string | undefined;
}

export interface Answer {
  data?: { items: readonly ElementInstance[]; page: { totalItems: number; hasMoreTotalItems: boolean; endCursor: string | null } };
  error?: Problem | null;
}

/** Where the rows of a scope begin, when not with the first. */
export interface Beginning {
  scope: ScopeKey;
  /** How many rows there are before them. */
  before: number;
  after: string;
}

/** As addresses have it: the key of the scope, how many are before, the cursor. */
export const writtenBeginning = ({ scope, before, after }: Beginning): string => `${scope}.${before}.${after}`;

export function beginningOf(written: string | undefined): Beginning | undefined {
  const [, scope, before, after] = /^(\d{1,19})\.(\d{1,9})\.(.+)$/.exec(written ?? "") ?? [];
  return scope === undefined || after === undefined ? undefined : { scope: asKey<ScopeKey>(scope), before: Number(before), after };
}

interface OfRow {
  id: string;
  level: number;
}

/** `question` is the page that the row is of. */
export type Row = OfRow &
  (
    | { kind: "whole" }
    | { kind: "element"; element: ElementInstance; open: boolean | undefined; at: number; of: number; question: Question }
    | { kind: "next"; question: Question }
    | { kind: "failed"; question: Question; problem: Problem }
    | { kind: "gone" }
    /** Where one goes on: behind the rows that are shown, or at the beginning, before them. */
    | { kind: "cut" | "from"; beginning: Beginning | undefined; first: number }
  );

/** Rows of one scope that one tree shows. */
export const MOST = 10_000;
const SCOPES: ReadonlySet<string> = new Set(["SUB_PROCESS", "EVENT_SUB_PROCESS", "MULTI_INSTANCE_BODY", "AD_HOC_SUB_PROCESS", "AD_HOC_SUB_PROCESS_INNER_INSTANCE"]);

export interface Tree {
  instance: Pick<Instance, "processInstanceKey">;
  /** What a person opened and closed. */
  opened: ReadonlyMap<string, boolean>;
  /** What is known of a page; nothing: it was not asked for. */
  answer: (question: Question) => Answer;
  /** Of one scope rows may begin further on. */
  beginning?: Beginning;
}

export const questionOf = (scope: ScopeKey, after?: string, before?: string): Question => ({ id: `${scope} ${after ?? ""}`, scope, after, before });

/** Little depth is open from the start, and what leads to an incident. */
const isOpen = ({ opened }: Tree, element: ElementInstance, level: number): boolean | undefined =>
  SCOPES.has(element.type) ? (opened.get(element.elementInstanceKey) ?? (level < 4 || element.hasIncident)) : undefined;

function branch(tree: Tree, rows: Row[], element: ElementInstance, of: { level: number; at: number; total: number; question: Question }) {
  const open = isOpen(tree, element, of.level);
  rows.push({ kind: "element", id: element.elementInstanceKey, element, level: of.level, open, at: of.at, of: of.total, question: of.question });
  if (open) within(tree, rows, element.elementInstanceKey, of.level + 1);
}

function within(tree: Tree, rows: Row[], scope: ScopeKey, level: number) {
  const beginning = tree.beginning?.scope === scope ? tree.beginning : undefined;
  const before = beginning?.before ?? 0;
  if (beginning) rows.push({ kind: "from", id: `${scope} from`, level, beginning: undefined, first: before + 1 });
  let question = questionOf(scope, beginning?.after);
  for (let at = before; ; ) {
    const { data, error } = tree.answer(question);
    if (data === undefined) {
      rows.push(error ? { kind: "failed", id: question.id, level, question, problem: error } : { kind: "next", id: question.id, level, question });
      return;
    }
    const { items, page } = data;
    if (items.length === 0 && level === 2 && at === 0 && !beginning) rows.push({ kind: "gone", id: question.id, level });
    for (const element of items) {
      at += 1;
      branch(tree, rows, element, { level, at, total: page.hasMoreTotalItems ? -1 : page.totalItems, question });
    }
    if (items.length < (question.after === undefined ? FIRST : THEN) || page.endCursor === null) return;
    const next = questionOf(scope, page.endCursor, question.id);
    if (at - before >= MOST) {
      rows.push({ kind: "cut", id: next.id, level, beginning: { scope, before: at, after: page.endCursor }, first: before + 1 });
      return;
    }
    question = next;
  }
}

export function rowsOf(tree: Tree): Row[] {
  const rows: Row[] = [{ kind: "whole", id: tree.instance.processInstanceKey, level: 1 }];
  within(tree, rows, tree.instance.processInstanceKey, 2);
  return rows;
}

/** Nothing of a page will change: it is full, and all of it has ended. */
export const isStill = ({ after }: Question, { data }: Answer): boolean =>
  data !== undefined && data.items.length >= (after === undefined ? FIRST : THEN) && data.items.every(({ endDate, hasIncident }) => endDate !== null && !hasIncident);

export const isItem = (row: Row): row is Row & { kind: "whole" | "element" } => row.kind === "whole" || row.kind === "element";

/** Where a key leads to from a row; nothing: the key is none of the tree's. */
export function leadsTo(rows: readonly Row[], from: number, key: string): number | undefined {
  const seek = (at: number, step: 1 | -1): number => {
    for (let next = at; next >= 0 && next < rows.length; next += step) {
      const row = rows[next];
      if (row && isItem(row)) return next;
    }
    return from;
  };
  const row = rows[from];
  if (key === "ArrowDown") return seek(from + 1, 1);
  if (key === "ArrowUp") return seek(from - 1, -1);
  if (key === "Home") return 0;
  if (key === "End") return seek(rows.length - 1, -1);
  if (key === "ArrowRight" && row?.kind === "element" && row.open === true) return seek(from + 1, 1);
  if (key === "ArrowLeft" && row?.kind === "element" && row.open !== true) return rows.findLastIndex((each, at) => at < from && isItem(each) && each.level < row.level);
  return undefined;
}
