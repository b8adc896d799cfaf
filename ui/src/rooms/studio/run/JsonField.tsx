// Variables that somebody writes: an object, as JSON text.
import { useId } from "react";
import { CodeField } from "../../../parts/code/CodeField";
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
      <CodeField language="json" id={id} rows={[2, 8]} value={written} invalid={error !== undefined} write={write} />
      {error === undefined ? null : (
        <p className="bad" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}
