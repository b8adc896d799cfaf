// Two versions of a process side by side: what is different between them, and where their instances stand.
import { useQuery } from "@tanstack/react-query";
import { GitCompare } from "lucide-react";
import { useMemo } from "react";
import { Button, Dialog, DialogTrigger, Popover } from "react-aria-components";
import { type Filter, howMany } from "../../api/instances";
import { kept } from "../../api/live";
import { type Definition, counts, isDeleted } from "../../api/processes";
import { xml } from "../../api/xml";
import { ChangeList } from "../../parts/compare/ChangeList";
import { type Change, changesBetween } from "../../parts/compare/diff";
import { treeOf } from "../../parts/compare/tree";
import { Deleted, NoModel } from "../../parts/Deleted";
import { Diagram, type Mark } from "../../parts/diagram";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";
import { atLeast } from "../../text/format";
import { countFilter, withEnded } from "./filter";
import type { ProcessSearch } from "./search";
import "../../parts/menu.css";
import "./versions.css";

const t = text.processes;
const NOTHING: ReadonlyMap<string, Mark> = new Map();

interface VersionsProps {
  one: Definition;
  other: Definition;
  search: ProcessSearch;
  filter: Filter | undefined;
  change: (search: ProcessSearch) => void;
}

export default function Versions({ one, other, search, filter, change }: VersionsProps) {
  const [before, after] = one.version < other.version ? [one, other] : [other, one];
  const [old, young] = [useQuery(xml(before.processDefinitionKey)).data, useQuery(xml(after.processDefinitionKey)).data];
  const changes = useMemo(() => {
    const [was, is] = old === undefined || young === undefined ? [] : [treeOf(old), treeOf(young)];
    return was && is ? changesBetween(was, is) : undefined;
  }, [old, young]);
  const select = (element: string | undefined) => change({ ...search, element: element === search.element ? undefined : element });
  return (
    <div className="versions">
      {[before, after].map((each) => (
        <Side
          key={each.processDefinitionKey}
          definition={each}
          filter={filter}
          changes={changes?.filter(({ kind }) => kind === "changed" || kind === (each === before ? "removed" : "added"))}
          withEnded={withEnded(search)}
          selected={search.element}
          select={select}
        />
      ))}
      {changes === undefined ? null : (
        <DialogTrigger>
          <Button className="button small versions-what" isDisabled={changes.length === 0}>
            <GitCompare size={14} aria-hidden="true" />
            {t.differences(changes.length)}
          </Button>
          <Popover className="floating" placement="bottom">
            <Dialog className="versions-changes" aria-label={t.differencesTitle(before.version, after.version)}>
              <h3>{t.differencesTitle(before.version, after.version)}</h3>
              <ChangeList changes={changes} select={(element) => change({ ...search, element })} both />
            </Dialog>
          </Popover>
        </DialogTrigger>
      )}
    </div>
  );
}

interface SideProps {
  definition: Definition;
  filter: Filter | undefined;
  changes: readonly Change[] | undefined;
  withEnded: boolean;
  selected: string | undefined;
  select: (element: string | undefined) => void;
}

function Side({ definition, filter, changes, withEnded: ended, selected, select }: SideProps) {
  const { processDefinitionKey: key, version, versionTag } = definition;
  const model = useQuery(xml(key));
  const count = useQuery({ ...counts(key, countFilter(filter ?? {}), ended), ...kept, enabled: filter !== undefined });
  const marks = useMemo(() => (count.data && filter ? new Map(count.data.items.map((each) => [each.elementId, each])) : NOTHING), [count.data, filter]);
  const name = t.versionOf(version, versionTag);
  return (
    <section className="versions-side" aria-label={name}>
      <header>
        <h2>{name}</h2>
        {isDeleted(definition) ? <Deleted /> : null}
        {filter === undefined ? null : <Figures filter={{ ...filter, processDefinitionVersion: version }} />}
      </header>
      <div className="drawing">
        <Shown query={model} gone={<NoModel />}>
          {(source) => <Diagram xml={source} label={`${t.diagram}: ${name}`} marks={marks} changes={changes} withEnded={ended} selected={selected} onSelect={select} />}
        </Shown>
      </div>
    </section>
  );
}

/** How many of those that the filter finds are of this version, and how many of them have incidents. */
function Figures({ filter }: { filter: Filter }) {
  const all = useQuery({ ...howMany(filter), ...kept }).data;
  const stuck = useQuery({ ...howMany({ ...filter, hasIncident: true }), ...kept }).data;
  if (!all) return null;
  return (
    <span className="muted figure">
      {t.comparedFound(atLeast(all.total, all.more), all.total === 1)}
      {stuck && stuck.total > 0 ? <span className="bad">{`, ${t.comparedIncidents(atLeast(stuck.total, stuck.more))}`}</span> : null}
    </span>
  );
}
