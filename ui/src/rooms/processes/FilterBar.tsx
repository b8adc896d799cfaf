// Which instances: each part of the filter can be seen, changed and taken away on its own.
import { X } from "lucide-react";
import type { Definition } from "../../api/processes";
import { type Look } from "../../parts/State";
import { text } from "../../text";
import { AddFilter } from "./AddFilter";
import { statesOf } from "./filter";
import { type Kind, KINDS } from "./kinds";
import { PickProcess } from "./PickProcess";
import { type ProcessSearch, STATES, type State } from "./search";

const t = text.processes;
const looks: Record<State, Look> = { active: "active", incident: "incident", completed: "ended", terminated: "cancelled" };

interface FilterBarProps {
  search: ProcessSearch;
  change: (search: ProcessSearch) => void;
  versions: readonly Definition[];
}

export function FilterBar({ search, change, versions }: FilterBarProps) {
  const chips = chipsOf(search);
  const hash = search.hash;
  const some = Object.entries(search).some(([name, value]) => name !== "sort" && name !== "heat" && value !== undefined);
  return (
    <div className="filters" role="search" aria-label={t.add}>
      <PickProcess chosen={search.process} choose={(process) => change({ ...search, process, version: undefined, element: undefined })} />
      {search.process === undefined ? null : (
        <select
          className="field"
          aria-label={t.version}
          value={search.version ?? ""}
          onChange={(event) => change({ ...search, version: event.target.value || undefined, element: undefined })}
        >
          <option value="">{t.allVersions}</option>
          {versions.map((each) => (
            <option key={each.processDefinitionKey} value={String(each.version)}>
              {t.versionOf(each.version, each.versionTag)}
            </option>
          ))}
        </select>
      )}
      <States search={search} change={change} />
      {chips.map(({ kind, value, without }) => (
        <span key={`${kind} ${value}`} className="chip">
          <span className="faint">{t.filters[kind]}</span>
          <span className="clip mono" title={value}>
            {value}
          </span>
          <button type="button" aria-label={t.remove(`${t.filters[kind]} ${value}`)} onClick={() => change(without)}>
            <X size={12} aria-hidden="true" />
          </button>
        </span>
      ))}
      {hash === undefined ? null : (
        <span className="chip">
          <span className="faint">{t.filters.error}</span>
          <span className="mono">{`#${hash}`}</span>
          <button type="button" aria-label={t.remove(t.filters.error)} onClick={() => change({ ...search, hash: undefined })}>
            <X size={12} aria-hidden="true" />
          </button>
        </span>
      )}
      <AddFilter search={search} change={change} />
      {some ? (
        <button type="button" className="button quiet" onClick={() => change({ sort: search.sort, heat: search.heat })}>
          {t.clear}
        </button>
      ) : null}
    </div>
  );
}

interface Chip {
  kind: Kind;
  value: string;
  without: ProcessSearch;
}

function chipsOf(search: ProcessSearch): Chip[] {
  return KINDS.flatMap((kind): Chip[] => {
    if (kind === "var") {
      const all = search.var ?? [];
      return all.map((value) => ({ kind, value, without: { ...search, var: all.filter((each) => each !== value) } }));
    }
    const value = search[kind];
    return value === undefined ? [] : [{ kind, value, without: { ...search, [kind]: undefined } }];
  });
}

function States({ search, change }: Pick<FilterBarProps, "search" | "change">) {
  const chosen = statesOf(search);
  const toggle = (state: State) => {
    const next = STATES.filter((each) => (each === state ? !chosen.includes(each) : chosen.includes(each)));
    change({ ...search, state: next.length === STATES.length ? undefined : next.join(",") || "none" });
  };
  return (
    <div className="toggles" role="group" aria-label={t.state}>
      {STATES.map((state) => (
        <button key={state} type="button" className={`toggle ${looks[state]}`} aria-pressed={chosen.includes(state)} onClick={() => toggle(state)}>
          {t.states[state]}
        </button>
      ))}
    </div>
  );
}
