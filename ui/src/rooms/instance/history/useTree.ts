// What is known of the history of an instance: pages are asked for when their place comes into view, and repeated while they are in it.
import { useQueries } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { AT_REST, AT_WORK, type Instance, within } from "../../../api/instances";
import { queries } from "../../../api/live";
import { type Answer, type Question, type Row, beginningOf, isStill, questionOf, rowsOf } from "./rows";

/** What is in view: pages whose rows are, and those that are to be asked for. */
export interface View {
  pages: ReadonlySet<string>;
  wanted: readonly Question[];
}

const NOTHING: ReadonlySet<string> = new Set();
const same = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean => one.size === other.size && [...one].every((id) => other.has(id));

function answerTo({ scope, after }: Question): Answer {
  const { data, error } = queries.getQueryState<Answer["data"], NonNullable<Answer["error"]>>(within(scope, after, AT_REST).queryKey) ?? {};
  return { ...(data === undefined ? {} : { data }), ...(error ? { error } : {}) };
}

/** The end of a scope that has no rows is seen where the page before it is. */
const isSeen = (question: Question, inView: ReadonlySet<string>): boolean =>
  inView.has(question.id) || (question.before !== undefined && inView.has(question.before) && answerTo(question).data?.items.length === 0);

/** What is known and out of sight stays as it is. */
function asking(question: Question, instance: Instance, seen: boolean) {
  const answer = answerTo(question);
  const still = isStill(question, answer);
  const options = within(question.scope, question.after, still || instance.state !== "ACTIVE" ? AT_REST : AT_WORK);
  return { ...options, staleTime: still ? AT_REST : 1_000, enabled: seen || answer.data === undefined };
}

export function useTree(instance: Instance, written: string | undefined) {
  const key = instance.processInstanceKey;
  const beginning = useMemo(() => beginningOf(written), [written]);
  const [asked, ask] = useState<readonly Question[]>(() => [questionOf(key, beginning?.scope === key ? beginning.after : undefined)]);
  const [inView, setInView] = useState(NOTHING);
  const [opened, setOpened] = useState<ReadonlyMap<string, boolean>>(() => new Map());
  const stamps = useQueries({
    queries: asked.map((question, at) => asking(question, instance, at === 0 || isSeen(question, inView))),
    combine: moments,
  });
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- the moments of the answers stand for the answers
  const rows = useMemo<Row[]>(() => rowsOf({ instance, opened, answer: answerTo, beginning }), [instance, opened, stamps, beginning]);
  const see = useCallback(({ pages, wanted }: View) => {
    setInView((before) => (same(before, pages) ? before : pages));
    if (wanted.length > 0) {
      ask((before) => {
        const known = new Set(before.map(({ id }) => id));
        const added = wanted.filter(({ id }) => !known.has(id));
        return added.length === 0 ? before : [...before, ...added];
      });
    }
  }, []);
  const open = useCallback((id: string, isOpen: boolean) => setOpened((before) => new Map(before).set(id, isOpen)), []);
  return { rows, see, open };
}

const moments = (results: readonly { dataUpdatedAt: number; errorUpdatedAt: number }[]): string => results.map(({ dataUpdatedAt, errorUpdatedAt }) => dataUpdatedAt + errorUpdatedAt).join(" ");
