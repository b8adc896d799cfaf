// A field of a form, with what is to be known of it or is wrong with it.
import { type HTMLInputTypeAttribute, useId } from "react";

interface FieldProps {
  label: string;
  value: string;
  set: (value: string) => void;
  hint?: string;
  /** What is wrong with it. */
  bad?: string | undefined;
  type?: HTMLInputTypeAttribute;
  mono?: boolean;
  readOnly?: boolean;
  autoFocus?: boolean;
  autoComplete?: string;
  /** Values that are offered. */
  list?: readonly string[];
}

export function Field({ label, value, set, hint, bad, type = "text", mono = false, readOnly = false, autoFocus = false, autoComplete = "off", list }: FieldProps) {
  const id = useId();
  const said = bad ?? hint;
  return (
    <div className="admin-field">
      <label htmlFor={id} className="label">
        {label}
      </label>
      <input
        id={id}
        className={`field${mono ? " mono" : ""}`}
        type={type}
        value={value}
        readOnly={readOnly}
        autoFocus={autoFocus}
        autoComplete={autoComplete}
        autoCapitalize="none"
        spellCheck="false"
        aria-invalid={bad !== undefined}
        aria-describedby={said === undefined ? undefined : `${id}-hint`}
        list={list === undefined ? undefined : `${id}-list`}
        onChange={(event) => set(event.target.value)}
      />
      {list === undefined ? null : (
        <datalist id={`${id}-list`}>
          {list.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </datalist>
      )}
      {said === undefined ? null : (
        <p id={`${id}-hint`} className={bad === undefined ? "faint" : "bad"}>
          {said}
        </p>
      )}
    </div>
  );
}
