// The work on a task: its form, its variables, and its end. What was written is never lost: it stays here, and in the browser,
// whatever becomes of the task meanwhile.
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, Suspense, lazy, useState } from "react";
import type { TaskKey } from "../../api/keys";
import { type Task, type TaskVariable, taskForm, taskVariables } from "../../api/tasks";
import { Note } from "../../parts/Note";
import { Shown, Skeleton } from "../../parts/Shown";
import { text } from "../../text";
import { NOTHING, isEmpty, keepDraft, withDraft } from "./draft";
import { roundedIn, valuesOf } from "./fill";
import { fileFields, shownSafely, withoutFiles } from "./files";
import { Documents } from "./Documents";
import { Meanwhile } from "./Meanwhile";
import { useCompletion } from "./completion";
import { Values } from "./Values";
import { useWho } from "./who";

const FormView = lazy(() => import("./FormView"));
const t = text.tasks;

export function Work({ task, next }: { task: Task; next: TaskKey | undefined }) {
  const form = useQuery(taskForm(task.userTaskKey, task.formKey));
  const variables = useQuery(taskVariables(task.userTaskKey));
  const [round, begin] = useState(0);
  const discard = () => {
    keepDraft(task.userTaskKey, NOTHING);
    begin(round + 1);
  };
  return (
    <Shown query={form} rows={4}>
      {(found) => (
        <Shown query={variables} rows={4}>
          {({ items }) => <Desk key={round} task={task} next={next} discard={discard} schema={found?.schema} variables={items} />}
        </Shown>
      )}
    </Shown>
  );
}

/** What a form is to see of the values. */
export const forForm = (schema: string | undefined, values: Record<string, unknown>): Record<string, unknown> =>
  schema === undefined ? values : (shownSafely(withoutFiles(values, fileFields(schema))) as Record<string, unknown>);

interface DeskProps {
  task: Task;
  next: TaskKey | undefined;
  /** Back to what the server has. */
  discard: () => void;
  schema: string | undefined;
  variables: readonly TaskVariable[];
}

function Desk({ task, next, discard, schema, variables }: DeskProps) {
  const who = useWho();
  const { draft, change, complete, busy, wrong, ready } = useCompletion(task, schema, next);
  const [first] = useState(() => new Map(variables.map((each) => [each.name, each.value])));
  const [start] = useState(() => {
    const values = forForm(schema, valuesOf(first));
    return { values, draft: Object.keys(draft.form).length > 0 ? withDraft(values, draft) : undefined };
  });
  const mine = task.state === "CREATED" && task.assignee !== null && task.assignee === who;
  const rounded = schema === undefined ? [] : roundedIn(schema, first);
  return (
    <div className="desk">
      <Meanwhile task={task} who={who} written={!isEmpty(draft)} discard={discard} />
      {rounded.length > 0 ? <p className="desk-warning">{t.rounded(rounded.join(", "))}</p> : null}
      {schema === undefined ? <NoForm task={task} /> : (
        <Suspense fallback={<Skeleton rows={4} />}>
          <FormView schema={schema} values={start.values} draft={start.draft} readOnly={!mine} ready={ready} touched={(touched) => change((draft) => ({ ...draft, form: touched }))} submit={() => void complete()} />
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
          <button type="button" className="button main" disabled={busy} onClick={() => void complete()}>
            {t.complete}
          </button>
          {isEmpty(draft) ? null : (
            <>
              <span className="faint">{t.draft}</span>
              <button type="button" className="button quiet small" onClick={discard}>
                {t.discard}
              </button>
            </>
          )}
        </footer>
      ) : null}
    </div>
  );
}

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
