// The work on a task: its form, its variables, and its end. What was written is never lost: it stays here, and in the browser or on the
// server, whatever becomes of the task meanwhile.
import { useQuery } from "@tanstack/react-query";
import { History } from "lucide-react";
import { type ReactNode, Suspense, lazy, useState } from "react";
import type { TaskKey } from "../../api/keys";
import { rightsOnTask } from "../../api/rights";
import { type Task, type TaskVariable, taskForm, taskVariables } from "../../api/tasks";
import type { Problem } from "../../api/problem";
import { MayButton, tellLack, useLack } from "../../parts/MayButton";
import { Note } from "../../parts/Note";
import { Shown, Skeleton } from "../../parts/Shown";
import { Time } from "../../parts/Time";
import { useWho } from "../../parts/who";
import { text } from "../../text";
import { isEmpty, withDraft } from "./draft";
import { roundedIn, valuesOf } from "./fill";
import { fileFields, shownSafely, withoutFiles } from "./files";
import { Documents } from "./Documents";
import { Meanwhile } from "./Meanwhile";
import { useCompletion } from "./completion";
import { type Restored, type Where, restore } from "./keeping";
import { Values } from "./Values";
import { useGroups } from "./who";

const FormView = lazy(() => import("./FormView"));
const t = text.tasks;

export function Work({ task, next }: { task: Task; next: TaskKey | undefined }) {
  const form = useQuery(taskForm(task.userTaskKey, task.formKey));
  const variables = useQuery(taskVariables(task.userTaskKey));
  const [round, begin] = useState(0);
  // Once for each time that the task is opened: the draft is written here from then on.
  const draft = useQuery<Restored, Problem>({ queryKey: ["kept", "drafts", task.userTaskKey, round], queryFn: () => restore(task.userTaskKey), staleTime: Infinity, gcTime: 0 });
  return (
    <Shown query={form} rows={4}>
      {(found) => (
        <Shown query={variables} rows={4}>
          {({ items }) => (
            <Shown query={draft} rows={4}>
              {(restored) => <Desk key={round} task={task} next={next} again={() => begin(round + 1)} schema={found?.schema} variables={items} restored={restored} />}
            </Shown>
          )}
        </Shown>
      )}
    </Shown>
  );
}

/** What a form is to see of the values. */
const forForm = (schema: string | undefined, values: Record<string, unknown>): Record<string, unknown> =>
  schema === undefined ? values : (shownSafely(withoutFiles(values, fileFields(schema))) as Record<string, unknown>);

interface DeskProps {
  task: Task;
  next: TaskKey | undefined;
  /** Back to what the task has. */
  again: () => void;
  schema: string | undefined;
  variables: readonly TaskVariable[];
  restored: Restored;
}

function Desk({ task, next, again, schema, variables, restored }: DeskProps) {
  const who = useWho();
  const { draft, where, change, complete, discard: drop, busy, wrong, ready } = useCompletion(task, schema, next, restored);
  const needs = rightsOnTask(task, who, useGroups()).complete;
  const lack = useLack(needs);
  const discard = () => void drop().then(again);
  const [first] = useState(() => new Map(variables.map((each) => [each.name, each.value])));
  const [start] = useState(() => {
    const values = forForm(schema, valuesOf(first));
    return { values, draft: Object.keys(draft.form).length > 0 ? withDraft(values, draft) : undefined };
  });
  const back = !isEmpty(restored.draft);
  const mine = task.state === "CREATED" && task.assignee !== null && task.assignee === who;
  const rounded = schema === undefined ? [] : roundedIn(schema, first);
  return (
    <div className="desk">
      <Meanwhile task={task} who={who} written={!isEmpty(draft)} discard={discard} />
      {mine && back && !isEmpty(draft) ? (
        <p className="desk-restored" role="status">
          <History size={14} aria-hidden="true" />
          <span className="grow">
            {t.restored}
            {restored.changed === undefined ? null : (
              <span className="faint">
                {`, ${t.restoredAt} `}
                <Time at={restored.changed} />
              </span>
            )}
          </span>
          <Discard discard={discard} />
        </p>
      ) : null}
      {rounded.length > 0 ? <p className="desk-warning">{t.rounded(rounded.join(", "))}</p> : null}
      {schema === undefined ? <NoForm task={task} /> : (
        <Suspense fallback={<Skeleton rows={4} />}>
          <FormView schema={schema} values={start.values} draft={start.draft} readOnly={!mine} ready={ready} touched={(touched) => change((draft) => ({ ...draft, form: touched }))} submit={() => (lack === undefined ? void complete() : tellLack(lack))} />
        </Suspense>
      )}
      <Documents variables={variables} />
      <Values variables={variables} written={draft.variables} readOnly={!mine} change={(written) => change((draft) => ({ ...draft, variables: written }))} open={schema === undefined} />
      {wrong === undefined ? null : (
        <p className="bad" role="alert">
          {wrong}
        </p>
      )}
      {mine ? (
        <footer className="desk-foot">
          <MayButton needs={needs} className="button main" disabled={busy} onClick={() => void complete()}>
            {t.complete}
          </MayButton>
          {isEmpty(draft) ? null : (
            <>
              <span className={where.kind === "alone" || where.kind === "large" ? "bad" : "faint"} role="status">
                {placeOf(where)}
              </span>
              {back ? null : <Discard discard={discard} />}
            </>
          )}
        </footer>
      ) : null}
    </div>
  );
}

const Discard = ({ discard }: { discard: () => void }) => (
  <button type="button" className="button quiet small" onClick={discard}>
    {t.discard}
  </button>
);

const placeOf = (where: Where): string =>
  where.kind === "alone" ? t.drafts.alone(where.why.isPassing ? text.words.failure.NO_ANSWER : where.why.detail) : t.drafts[where.kind];

function NoForm({ task }: { task: Task }): ReactNode {
  const elsewhere = task.externalFormReference;
  if (elsewhere === null) return <Note title={t.noForm} small>{task.completionDate === null ? t.noFormText : null}</Note>;
  return (
    <Note title={t.external} small>
      {/^https?:\/\//.test(elsewhere) ? (
        <a href={elsewhere} target="_blank" rel="noreferrer">
          {elsewhere}
        </a>
      ) : (
        <span className="mono">{elsewhere}</span>
      )}
    </Note>
  );
}
