// Variables that a token brings along, as a JSON object.
import { type FormEvent, useState } from "react";
import { CodeField } from "../../../parts/code/CodeField";
import { Dialog } from "../../../parts/Dialog";
import { compactJson, isJson, prettyJson } from "../../../parts/json";
import { text } from "../../../text";
import type { Change } from "./plan";

const t = text.change;
const NEW = '{\n  "name": "value"\n}';

export function Variables({ change, name, set, close }: { change: Change; name: string; set: (change: Change) => void; close: () => void }) {
  const [written, write] = useState(() => (change.variables === undefined ? NEW : prettyJson(change.variables)));
  const [local, setLocal] = useState(change.local ?? false);
  const bare = written.trim();
  const fits = bare === "" || (bare.startsWith("{") && isJson(bare));
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (!fits) return;
    const variables = bare === "" ? undefined : compactJson(bare);
    set({ ...change, variables: variables === "{}" ? undefined : variables, local });
    close();
  };
  return (
    <Dialog title={t.variablesTitle(name)} isOpen close={close} wide>
      <form onSubmit={save}>
        <label>
          <span className="label">{t.variablesValue}</span>
          <CodeField language="json" rows={[3, 16]} value={written} invalid={!fits} write={write} />
        </label>
        <p className="bad edit-hint" role={fits ? undefined : "alert"}>
          {fits ? " " : t.variablesBad}
        </p>
        <fieldset className="planned-scopes">
          <legend className="label">{t.variablesFor}</legend>
          {[false, true].map((each) => (
            <label key={String(each)} className="row">
              <input type="radio" name="scope" checked={local === each} onChange={() => setLocal(each)} />
              {each ? t.variablesLocal : t.variablesWhole}
            </label>
          ))}
        </fieldset>
        <div className="dialog-actions">
          <button type="button" className="button" onClick={close}>
            {text.words.cancel}
          </button>
          <button type="submit" className="button main" disabled={!fits}>
            {t.set}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
