// What can be done with the rows that were chosen, or with all that the filter finds.
import { useQuery } from "@tanstack/react-query";
import type { Key } from "react-aria-components";
import { type Filter, type Sort, howMany } from "../../api/instances";
import { type InstanceKey, asKey } from "../../api/keys";
import type { Definition } from "../../api/processes";
import { Many } from "../../parts/Many";
import { text } from "../../text";
import { atLeast, number } from "../../text/format";
import { always } from "./alternatives";
import type { VariableSort } from "./columns/order";
import { filterOf, statesOf } from "./filter";
import { More } from "./More";
import type { ProcessSearch, State } from "./search";
import { eitherOf, wordsOf } from "./words";

const t = text.processes;
const AT_WORK = ["active", "incident"] as const;
const OVER = ["completed", "terminated"] as const;

interface BulkProps {
  search: ProcessSearch;
  filter: Filter;
  sort: Sort[];
  by: VariableSort | undefined;
  names: readonly string[];
  of: Definition | undefined;
  selected: ReadonlySet<Key>;
  clear: () => void;
}

/** The filter that is shown, of those states to which the command can do something. */
function scope(search: ProcessSearch, states: readonly State[]): Filter | undefined {
  const wanted = statesOf(search).filter((state) => states.includes(state));
  return filterOf({ ...search, state: wanted.join(",") || "none" });
}

/** The filter in words. */
function terms(search: ProcessSearch, states: readonly State[]): string[] {
  const wanted = statesOf(search).filter((state) => states.includes(state));
  const shown = wanted.map((state) => t.states[state]).join(", ");
  const process = search.process === undefined ? [] : [`${t.process} ${search.process}`];
  const tenant = search.tenant === undefined ? [] : [`${text.tenants.tenant} ${search.tenant}`];
  const version = search.version === undefined ? [] : [search.versus === undefined ? t.versionOf(Number(search.version)) : t.twoVersions(search.version, search.versus)];
  const others = [...wordsOf(always(search)), ...eitherOf(search)];
  const error = search.hash === undefined ? [] : [`${t.filters.error} #${search.hash}`];
  return [...tenant, ...process, ...version, `${t.state} ${shown}`, ...others, ...error];
}

export default function Bulk({ search, filter: shown, sort, by, names, of, selected, clear }: BulkProps) {
  // A process has one version now, and may have two in a moment.
  const only = of ? { processDefinitionId: of.processDefinitionId, processDefinitionVersion: of.version } : {};
  if (selected.size > 0) {
    const keys = [...selected].map((key) => asKey<InstanceKey>(String(key)));
    const filter: Filter = { processInstanceKey: { $in: keys }, state: "ACTIVE" };
    const words = [text.commands.selected(selected.size)];
    return (
      <>
        <span className="muted">{text.commands.selected(selected.size)}</span>
        <button type="button" className="button small quiet" onClick={clear}>
          {text.commands.clear}
        </button>
        <Many command="retry" filter={{ ...filter, hasIncident: true }} terms={words} label={text.commands.retryMany} />
        <Many command="cancel" filter={filter} terms={words} label={text.commands.cancelMany} />
        <More filters={{ work: { ...filter, ...only }, over: { ...filter, state: { $in: ["COMPLETED", "TERMINATED"] } }, all: { processInstanceKey: { $in: keys } } }} terms={{ work: words, over: words }} of={of} sort={sort} by={by} names={names} />
      </>
    );
  }
  const work = scope(search, AT_WORK);
  return (
    <>
      <All command="retry" search={search} states={["incident"]} label={text.commands.retryEvery} />
      <All command="cancel" search={search} states={AT_WORK} label={text.commands.cancelEvery} />
      <More filters={{ work: work && { ...work, ...only }, over: scope(search, OVER), all: shown }} terms={{ work: terms(search, AT_WORK), over: terms(search, OVER) }} of={of} sort={sort} by={by} names={names} />
    </>
  );
}

interface AllProps {
  command: "cancel" | "retry";
  search: ProcessSearch;
  states: readonly State[];
  label: (count: string) => string;
}

function All({ command, search, states, label }: AllProps) {
  const filter = scope(search, states);
  const count = useQuery({ ...howMany(filter ?? {}), enabled: filter !== undefined }).data;
  if (filter === undefined || !count || count.total === 0) return null;
  const total = count.more ? atLeast(count.total, true) : number(count.total);
  return <Many command={command} filter={filter} terms={terms(search, states)} label={label(total)} />;
}
