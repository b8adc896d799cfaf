// The fields of a new condition.
import { type FormEvent, useState } from "react";
import { text } from "../../text";
import { useZone, fromWall, ownZone } from "../../text/zone";
import type { AddFilterProps } from "./AddFilter";
import { condition, written } from "./filter";
import { type Kind, KINDS } from "./kinds";

const t = text.processes;

export default function Form({ search, change }: AddFilterProps) {
  const [kind, setKind] = useState<Kind>("var");
  const [value, setValue] = useState("");
  const [bad, setBad] = useState(false);
  const zone = useZone();
  const isTime = kind === "from" || kind === "to";
  const apply = (event: FormEvent) => {
    event.preventDefault();
    if (value.trim() === "") return;
    if (kind !== "var") {
      // A link says the same to somebody in another zone.
      change({ ...search, [kind]: isTime ? fromWall(value) : value.trim() });
      return;
    }
    const read = condition(value);
    setBad(read === undefined);
    if (read) change({ ...search, var: [...(search.var ?? []), written(read)] });
  };
  return (
    <form onSubmit={apply}>
      <label>
        <span className="label">{t.what}</span>
        <select className="field" value={kind} onChange={(event) => setKind(KINDS.find((each) => each === event.target.value) ?? "var")}>
          {KINDS.map((each) => (
            <option key={each} value={each}>
              {t.filters[each]}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span className="label">{t.filters[kind]}</span>
        <input
          className={`field${isTime ? "" : " mono"}`}
          type={isTime ? "datetime-local" : "text"}
          value={value}
          placeholder={t.hints[kind]}
          aria-invalid={bad}
          spellCheck="false"
          // The popover was opened to write here.
          ref={(input) => input?.focus()}
          onChange={(event) => setValue(event.target.value)}
        />
      </label>
      {kind === "var" ? <p className={bad ? "bad" : "faint"}>{bad ? t.varBad : t.varHelp}</p> : null}
      {isTime ? <p className="faint">{t.zoneHelp(zone || ownZone())}</p> : null}
      <button type="submit" className="button">
        {t.apply}
      </button>
    </form>
  );
}
