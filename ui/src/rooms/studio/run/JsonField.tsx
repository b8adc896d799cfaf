// Variables that somebody writes: an object, as JSON text.
import { useId } from "react";
import { jsonError } from "../../../parts/json";
import { text } from "../../../text";

const t = text.studio.run;

export const wrongWith = (written: string): string | undefined => {
  const error = jsonError(written);
  return error === undefined ? (written.trim().startsWith("{") ? undefined : t.notObject) : text.commands.invalid(error);
};

export function JsonField({ written, write }: { written: string; write: (text: string) => void }) {
  const id = useId();
  const error = wrongWith(written);
  return (
    <div className="run-field">
      <label className="label" htmlFor={id}>
        {t.variables}
      </label>
      <textarea id={id} className="field mono" rows={Math.min(8, Math.max(2, written.split("\n").length))} spellCheck="false" value={written} aria-invalid={error !== undefined} onChange={(event) => write(event.target.value)} />
      {error === undefined ? null : (
        <p className="bad" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}
