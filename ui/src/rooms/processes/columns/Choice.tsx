// Variables that stand as columns, and one more of them.
import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { variableNames } from "../../../api/columns";
import { type DefinitionKey, asKey } from "../../../api/keys";
import { text } from "../../../text";
import type { ColumnsProps } from "./Columns";
import { MOST, isName } from "./names";

const t = text.processes;

export default function Choice({ names, of, change }: ColumnsProps) {
  const [writing, write] = useState("");
  const [bad, setBad] = useState(false);
  const known = useQuery({ ...variableNames(of?.processDefinitionKey ?? asKey<DefinitionKey>("0")), enabled: of !== undefined });
  const suggested = (known.data ?? []).filter((each) => !names.includes(each));
  const add = (event: FormEvent) => {
    event.preventDefault();
    const name = writing.trim();
    if (name === "") return;
    setBad(!isName(name));
    if (!isName(name)) return;
    change([...new Set([...names, name])]);
    write("");
  };
  return (
    <form onSubmit={add}>
      <p className="label">{t.columnsTitle}</p>
      {names.length === 0 ? null : (
        <ul className="columns">
          {names.map((name) => (
            <li key={name} className="chip">
              <span className="clip mono">{name}</span>
              <button type="button" aria-label={t.columnRemove(name)} onClick={() => change(names.filter((each) => each !== name))}>
                <X size={12} aria-hidden="true" />
              </button>
            </li>
          ))}
        </ul>
      )}
      {names.length >= MOST ? (
        <p className="faint">{t.columnsFull(MOST)}</p>
      ) : (
        <>
          <label>
            <span className="label">{t.columnName}</span>
            <input
              className="field mono"
              list="column-names"
              value={writing}
              spellCheck="false"
              aria-invalid={bad}
              // The popover was opened to write here.
              ref={(input) => input?.focus()}
              onChange={(event) => {
                write(event.target.value);
                setBad(false);
              }}
            />
          </label>
          <datalist id="column-names">
            {suggested.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </datalist>
          <p className={bad ? "bad" : "faint"}>{bad ? text.commands.nameBad : t.columnsHelp}</p>
          <button type="submit" className="button">
            {t.columnAdd}
          </button>
        </>
      )}
    </form>
  );
}
