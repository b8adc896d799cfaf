// Conditions of the filter, each with a button that takes it away; alternatives stand in frames with "or" between them.
import { X } from "lucide-react";
import { text } from "../../text";
import { type Conditions, alternativesOf, always, unreadAlternatives, withAlternatives, withoutUnread } from "./alternatives";
import { type Kind, KINDS } from "./kinds";
import type { ProcessSearch } from "./search";
import { shownOf } from "./shown";

const t = text.processes;

interface ChipProps {
  name: string;
  /** As people read it. */
  shown: string;
  /** Written by people or machines, to the letter. */
  exactly: boolean;
  label: string;
  remove: () => void;
}

export function Chip({ name, shown, exactly, label, remove }: ChipProps) {
  return (
    <span className="chip">
      <span className="faint">{name}</span>
      <span className={`clip${exactly ? " mono" : ""}`} title={shown}>
        {shown}
      </span>
      <button type="button" aria-label={t.remove(label)} onClick={remove}>
        <X size={12} aria-hidden="true" />
      </button>
    </span>
  );
}

interface One {
  kind: Kind;
  value: string;
  without: Conditions;
}

function each(conditions: Conditions): One[] {
  return KINDS.flatMap((kind): One[] => {
    if (kind === "var") {
      const all = conditions.var ?? [];
      const rest = (value: string) => all.filter((other) => other !== value);
      return all.map((value) => ({ kind, value, without: { ...conditions, var: all.length > 1 ? rest(value) : undefined } }));
    }
    const value = conditions[kind];
    return value === undefined ? [] : [{ kind, value, without: { ...conditions, [kind]: undefined } }];
  });
}

interface ChipsProps {
  conditions: Conditions;
  change: (conditions: Conditions) => void;
  /** Said between them. */
  between?: string;
}

function Chips({ conditions, change, between }: ChipsProps) {
  return each(conditions).map(({ kind, value, without }, at) => {
    const shown = shownOf(kind, value);
    return (
      <span key={`${kind} ${value}`} className="joined">
        {at > 0 && between !== undefined ? <span className="faint">{between}</span> : null}
        <Chip name={t.filters[kind]} shown={shown} exactly={shown === value} label={`${t.filters[kind]} ${value}`} remove={() => change(without)} />
      </span>
    );
  });
}

interface AllProps {
  search: ProcessSearch;
  change: (search: ProcessSearch) => void;
}

export function AllChips({ search, change }: AllProps) {
  const alternatives = alternativesOf(search);
  return (
    <>
      <Chips conditions={always(search)} change={(next) => change({ ...search, ...next })} />
      {unreadAlternatives(search).map((each) => (
        <Chip key={each} name={t.or} shown={each} exactly label={each} remove={() => change(withoutUnread(search, each))} />
      ))}
      {alternatives.length === 0 ? null : (
        <div className="alternatives" role="group" aria-label={t.alternatives}>
          {alternatives.map((conditions, at) => (
            // oxlint-disable-next-line react/no-array-index-key -- two may say the same while one is changed
            <span key={at} className="joined">
              <span className="alternatives-or">{at === 0 ? t.either : t.or}</span>
              <span className="alternative">
                <Chips conditions={conditions} between={t.and} change={(next) => change(withAlternatives(search, alternatives.with(at, next)))} />
              </span>
            </span>
          ))}
        </div>
      )}
    </>
  );
}
