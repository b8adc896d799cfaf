// The variables that a task sees. What is changed here goes with its completion, as the text that was written.
import { Pencil, Plus, Undo2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import type { TaskVariable } from "../../api/tasks";
import { CodeField } from "../../parts/code/CodeField";
import { Dialog } from "../../parts/Dialog";
import { Json } from "../../parts/Json";
import { jsonError, prettyJson } from "../../parts/json";
import { text } from "../../text";

const t = text.tasks;
const c = text.commands;

interface ValuesProps {
  variables: readonly TaskVariable[];
  /** Names with the text that somebody wrote. */
  written: Record<string, string>;
  readOnly: boolean;
  change: (written: Record<string, string>) => void;
  /** Shown at once, and not when asked for. */
  open: boolean;
}

export function Values({ variables, written, readOnly, change, open }: ValuesProps) {
  const [editing, edit] = useState<string | null>();
  const known = new Map(variables.map((each) => [each.name, each.value]));
  const names = [...new Set([...known.keys(), ...Object.keys(written)])].toSorted();
  const undo = (name: string) => change(Object.fromEntries(Object.entries(written).filter(([each]) => each !== name)));
  const pen = (name: string) => (
    <button type="button" className="button quiet icon small" aria-label={c.editTitle(name)} title={c.edit} onClick={() => edit(name)}>
      <Pencil size={14} aria-hidden="true" />
    </button>
  );
  return (
    <details className="values" open={open || Object.keys(written).length > 0}>
      <summary>
        {t.variables}
        <span className="tab-count figure">{names.length}</span>
      </summary>
      {names.length === 0 ? <p className="faint desk-hint">{t.variablesNone}</p> : null}
      <dl>
        {names.map((name) => (
          <div key={name} className="value">
            <dt className="mono clip" title={name}>
              {name}
            </dt>
            <dd>
              <Json value={written[name] ?? known.get(name) ?? "null"} />
              {written[name] === undefined ? null : <span className="value-mark">{known.has(name) ? t.changed : t.fresh}</span>}
            </dd>
            {readOnly ? null : (
              <dd className="row">
                {written[name] === undefined ? null : (
                  <button type="button" className="button quiet icon small" aria-label={`${t.undo}: ${name}`} title={t.undo} onClick={() => undo(name)}>
                    <Undo2 size={14} aria-hidden="true" />
                  </button>
                )}
                {pen(name)}
              </dd>
            )}
          </div>
        ))}
      </dl>
      {readOnly ? null : (
        <button type="button" className="button small" onClick={() => edit(null)}>
          <Plus size={14} aria-hidden="true" />
          {c.add}
        </button>
      )}
      {editing === undefined ? null : (
        <Edit name={editing} value={editing === null ? "" : prettyJson(written[editing] ?? known.get(editing) ?? "null")} taken={names} close={() => edit(undefined)} save={(name, value) => change({ ...written, [name]: value })} />
      )}
    </details>
  );
}

interface EditProps {
  /** null: a new one. */
  name: string | null;
  value: string;
  taken: readonly string[];
  close: () => void;
  save: (name: string, value: string) => void;
}

function Edit({ name: given, value, taken, close, save }: EditProps) {
  const [name, setName] = useState(given ?? "");
  const [writing, write] = useState(value);
  const error = writing.trim() === "" ? undefined : jsonError(writing);
  const badName = given !== null || name === "" ? undefined : taken.includes(name) ? c.nameTaken : /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? undefined : c.nameBad;
  const ready = name !== "" && badName === undefined && writing.trim() !== "" && error === undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!ready) return;
    if (writing !== value) save(name, writing);
    close();
  };
  return (
    <Dialog title={given === null ? c.addTitle : c.editTitle(given)} isOpen close={close} wide>
      <form onSubmit={submit} className="value-form">
        {given === null ? (
          <label>
            <span className="label">{t.name}</span>
            <input className="field mono task-wide" autoFocus value={name} spellCheck="false" aria-invalid={badName !== undefined} onChange={(event) => setName(event.target.value)} />
          </label>
        ) : null}
        {badName === undefined ? null : <p className="bad">{badName}</p>}
        <label>
          <span className="label">{c.value}</span>
          <CodeField language="json" autoFocus={given !== null} rows={[4, 18]} value={writing} invalid={error !== undefined} write={write} />
        </label>
        <p className={error === undefined ? "faint" : "bad"} role={error === undefined ? undefined : "alert"}>
          {error === undefined ? c.valueHint : c.invalid(error)}
        </p>
        <div className="dialog-actions">
          <button type="button" className="button" onClick={close}>
            {text.words.cancel}
          </button>
          <button type="submit" className="button main" disabled={!ready}>
            {c.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
