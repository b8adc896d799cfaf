// A variable is edited as text, and only when it was changed is it sent: no number loses a digit on the way.
import { type FormEvent, type ReactNode, useState } from "react";
import { retry, setVariable } from "../../api/commands";
import type { Incident } from "../../api/incidents";
import type { Variable } from "../../api/instances";
import type { ScopeKey } from "../../api/keys";
import { announce } from "../../parts/announce";
import { CodeField } from "../../parts/code/CodeField";
import { Dialog } from "../../parts/Dialog";
import { failed } from "../../parts/failed";
import { Json } from "../../parts/Json";
import { compactJson, jsonError, prettyJson } from "../../parts/json";
import { text } from "../../text";

const t = text.commands;

async function save(scope: ScopeKey, name: string, value: string, close: () => void, then: readonly Incident[] = []) {
  try {
    await setVariable(scope, name, compactJson(value));
    for (const { incidentKey, jobKey } of then) await retry(incidentKey, jobKey);
    announce("done", then.length > 0 ? t.savedAndRetried(name) : t.saved(name));
    close();
  } catch (error) {
    failed(error);
  }
}

interface EditProps {
  variable: Variable;
  value: string;
  /** Whether the instance has ended while one writes. */
  ended: boolean;
  /** Incidents that another value may mend. */
  incidents: readonly Incident[];
  close: () => void;
}

export function EditVariable({ variable, value, ended, incidents, close }: EditProps) {
  const [before] = useState(value);
  const [written, write] = useState(() => prettyJson(value));
  const error = jsonError(written);
  const same = error === undefined && compactJson(written) === compactJson(before);
  return (
    <Form title={t.editTitle(variable.name)} close={close} ready={error === undefined && !same} ended={ended} incidents={incidents} save={(then) => save(variable.scopeKey, variable.name, written, close, then)}>
      {value === before ? null : (
        <div className="edit-meanwhile" role="alert">
          <p>{t.changedMeanwhile}</p>
          <p className="label">{t.theirs}</p>
          <Json value={value} />
        </div>
      )}
      <Value written={written} write={write} error={error} hint={same ? t.unchanged : t.valueHint} focus />
    </Form>
  );
}

interface AddProps {
  incidents: readonly Incident[];
  ended: boolean;
  scope: ScopeKey;
  scopeName: string;
  taken: readonly string[];
  close: () => void;
}

export function AddVariable({ scope, scopeName, taken, ended, incidents, close }: AddProps) {
  const [name, setName] = useState("");
  const [written, write] = useState("");
  const error = written.trim() === "" ? undefined : jsonError(written);
  const wrong = name === "" ? undefined : taken.includes(name) ? t.nameTaken : /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? undefined : t.nameBad;
  const ready = name !== "" && wrong === undefined && written.trim() !== "" && error === undefined;
  return (
    <Form title={t.addTitle} close={close} ready={ready} ended={ended} incidents={incidents} save={(then) => save(scope, name, written, close, then)}>
      <p className="muted edit-scope">{t.addScope(scopeName)}</p>
      <label>
        <span className="label">{t.name}</span>
        {/* The dialog was opened to write here. */}
        <input className="field mono edit-wide" value={name} spellCheck="false" aria-invalid={wrong !== undefined} ref={(input) => void (name === "" && written === "" && input?.focus())} onChange={(event) => setName(event.target.value)} />
      </label>
      <p className="bad edit-hint">{wrong ?? " "}</p>
      <Value written={written} write={write} error={error} hint={t.valueHint} />
    </Form>
  );
}

interface FormProps {
  title: string;
  close: () => void;
  ready: boolean;
  ended: boolean;
  incidents: readonly Incident[];
  save: (then?: readonly Incident[]) => Promise<void>;
  children: ReactNode;
}

function Form({ title, close, ready: isReady, ended, incidents, save: send, children }: FormProps) {
  const [busy, setBusy] = useState(false);
  const ready = isReady && !ended;
  const run = async (then?: readonly Incident[]) => {
    if (!ready || busy) return;
    setBusy(true);
    await send(then);
    setBusy(false);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  return (
    <Dialog title={title} isOpen close={close} wide>
      <form onSubmit={submit}>
        {/* What was written stays, to be copied. */}
        {ended ? (
          <p className="edit-meanwhile" role="alert">
            {t.endedMeanwhile}. {t.endedText}
          </p>
        ) : null}
        {children}
        <div className="dialog-actions">
          <button type="button" className="button" onClick={close}>
            {text.words.cancel}
          </button>
          <button type="submit" className={incidents.length > 0 ? "button" : "button main"} disabled={!ready || busy}>
            {t.save}
          </button>
          {incidents.length > 0 ? (
            <button type="button" className="button main" disabled={!ready || busy} onClick={() => void run(incidents)}>
              {t.saveAndRetry(incidents.length)}
            </button>
          ) : null}
        </div>
      </form>
    </Dialog>
  );
}

interface ValueProps {
  written: string;
  write: (text: string) => void;
  error: string | undefined;
  hint: string;
  focus?: boolean;
}

function Value({ written, write, error, hint, focus = false }: ValueProps) {
  return (
    <>
      <label>
        <span className="label">{t.value}</span>
        <CodeField
          language="json"
          rows={[4, 18]}
          value={written}
          write={write}
          invalid={error !== undefined}
          ref={(area) => void (focus && document.activeElement?.closest('[role="dialog"]')?.contains(area) && document.activeElement?.tagName !== "TEXTAREA" && area?.focus())}
        />
      </label>
      <p className={`edit-hint ${error === undefined ? "faint" : "bad"}`} role={error === undefined ? undefined : "alert"}>
        {error === undefined ? hint : t.invalid(error)}
      </p>
    </>
  );
}
