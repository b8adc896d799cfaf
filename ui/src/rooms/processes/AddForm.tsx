// The fields of a new condition.
import { type FormEvent, useState } from "react";
import { text } from "../../text";
import { useZone, fromWall, ownZone } from "../../text/zone";
import type { AddFilterProps } from "./AddFilter";
import { type Place, added } from "./adding";
import { MOST_ALTERNATIVES, alternativesOf, always, isEmpty } from "./alternatives";
import { condition, written } from "./filter";
import { type Kind, KINDS } from "./kinds";
import type { ProcessSearch } from "./search";
import { wordsOf } from "./words";

const t = text.processes;

export default function Form({ search, change }: AddFilterProps) {
  const [kind, setKind] = useState<Kind>("var");
  const [value, setValue] = useState("");
  const [bad, setBad] = useState(false);
  const [place, setPlace] = useState<Place>("and");
  const zone = useZone();
  const isTime = kind === "from" || kind === "to";
  const apply = (event: FormEvent) => {
    event.preventDefault();
    if (value.trim() === "") return;
    if (kind !== "var") {
      // A link says the same to somebody in another zone.
      change(added(search, place, { [kind]: isTime ? fromWall(value) : value.trim() }));
      return;
    }
    const read = condition(value);
    setBad(read === undefined);
    if (read) change(added(search, place, { var: [written(read)] }));
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
      <Where search={search} place={place} choose={setPlace} />
      <button type="submit" className="button">
        {t.apply}
      </button>
    </form>
  );
}

/** Asked as soon as there is a condition to which another one can be an alternative. */
function Where({ search, place, choose }: { search: ProcessSearch; place: Place; choose: (place: Place) => void }) {
  const all = alternativesOf(search);
  if (all.length === 0 && isEmpty(always(search))) return null;
  return (
    <label>
      <span className="label">{t.where}</span>
      <select className="field" value={place} onChange={({ target: { value } }) => choose(value === "and" || value === "or" ? value : Number(value))}>
        <option value="and">{t.whereAnd}</option>
        {all.length < MOST_ALTERNATIVES ? <option value="or">{t.whereOr}</option> : null}
        {all.map((each, at) => (
          // oxlint-disable-next-line react/no-array-index-key -- the number is what is chosen
          <option key={at} value={at}>
            {t.whereWith(wordsOf(each).join(` ${t.and} `))}
          </option>
        ))}
      </select>
    </label>
  );
}
