// Which instances: each part of the filter can be seen, changed and taken away on its own.
import { useRef } from "react";
import { type Definition, isDeleted } from "../../api/processes";
import { type Look } from "../../parts/State";
import { Views } from "../../parts/views/Views";
import { text } from "../../text";
import { useZone } from "../../text/zone";
import { AddFilter } from "./AddFilter";
import { AllChips, Chip } from "./Chips";
import { statesOf } from "./filter";
import { drawnOf } from "./first";
import { PickProcess } from "./PickProcess";
import { type ProcessSearch, STATES, type State, isFiltered, processSearch, viewIn, withoutFilters } from "./search";

const t = text.processes;
const looks: Record<State, Look> = { active: "active", incident: "incident", completed: "ended", terminated: "cancelled" };

interface FilterBarProps {
  search: ProcessSearch;
  change: (search: ProcessSearch) => void;
  versions: readonly Definition[];
}

export function FilterBar({ search, change, versions }: FilterBarProps) {
  useZone();
  const hash = search.hash;
  const bar = useRef<HTMLDivElement>(null);
  // What was pressed goes away with its condition: the focus goes where one adds another.
  const remove = (next: ProcessSearch) => {
    change(next);
    bar.current?.querySelector<HTMLElement>("[data-add]")?.focus();
  };
  return (
    <div className="filters" role="search" aria-label={t.add} ref={bar}>
      <PickProcess chosen={search.process} choose={(process, tenant = search.tenant) => change({ ...search, process, tenant, version: undefined, versus: undefined, element: undefined })} />
      {search.process === undefined ? null : (
        <select
          className="field"
          aria-label={t.version}
          value={search.version ?? ""}
          onChange={(event) => change({ ...search, version: event.target.value || undefined, versus: undefined, element: undefined })}
        >
          <option value="">{t.allVersions}</option>
          {versions.map((each) => (
            <option key={each.processDefinitionKey} value={String(each.version)}>
              {isDeleted(each) ? text.deleted.mark(t.versionOf(each.version, each.versionTag)) : t.versionOf(each.version, each.versionTag)}
            </option>
          ))}
        </select>
      )}
      <Versus search={search} change={change} versions={versions} />
      <States search={search} change={change} />
      <AllChips search={search} change={remove} />
      {hash === undefined ? null : (
        <Chip name={t.filters.error} shown={`#${hash}`} exactly label={t.filters.error} remove={() => remove({ ...search, hash: undefined })} />
      )}
      <AddFilter search={search} change={change} />
      {isFiltered(search) ? (
        <button type="button" className="button quiet" onClick={() => remove(withoutFilters(search))}>
          {t.clear}
        </button>
      ) : null}
      <Views room="processes" search={viewIn(search)} open={(saved) => change(processSearch({ ...saved, tenant: search.tenant }))} />
    </div>
  );
}

/** With which other version the one that is shown, or the newest, is compared. */
function Versus({ search, change, versions }: FilterBarProps) {
  if (search.process === undefined || versions.length < 2) return null;
  const version = search.version ?? String(drawnOf(versions, search)?.version);
  return (
    <select
      className="field"
      aria-label={t.versus}
      value={search.versus ?? ""}
      onChange={(event) => change({ ...search, version: event.target.value === "" ? search.version : version, versus: event.target.value || undefined, element: undefined })}
    >
      <option value="">{t.versusNone}</option>
      {versions
        .filter((each) => String(each.version) !== version)
        .map((each) => (
          <option key={each.processDefinitionKey} value={String(each.version)}>
            {t.versusOf(each.version, each.versionTag)}
          </option>
        ))}
    </select>
  );
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
