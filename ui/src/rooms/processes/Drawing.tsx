// The model of the chosen process, with how many of the instances that the filter finds stand where.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Filter } from "../../api/instances";
import type { DefinitionKey } from "../../api/keys";
import { kept } from "../../api/live";
import { type Definition, counts, isDeleted, startTimers } from "../../api/processes";
import { xml } from "../../api/xml";
import { NoModel } from "../../parts/Deleted";
import { Diagram, type Mark } from "../../parts/diagram";
import { Shown } from "../../parts/Shown";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { countFilter, withEnded } from "./filter";
import { Heat } from "./Heat";
import type { ProcessSearch } from "./search";

const t = text.processes;
const NOTHING: ReadonlyMap<string, Mark> = new Map();

interface DrawingProps {
  definition: Definition;
  search: ProcessSearch;
  filter: Filter | undefined;
  change: (search: ProcessSearch) => void;
  /** Instances of other versions are in the list as well. */
  all: boolean;
}

export function Drawing({ definition, search, filter, change, all }: DrawingProps) {
  const key = definition.processDefinitionKey;
  const model = useQuery(xml(key));
  const hot = search.heat !== undefined;
  const ended = withEnded(search);
  const count = useQuery({ ...counts(key, countFilter(filter ?? {}), ended || hot), ...kept, enabled: filter !== undefined });
  const items = count.data?.items;
  const marks = useMemo(() => (items && filter ? new Map(items.map((each) => [each.elementId, each])) : NOTHING), [items, filter]);
  const heat = useMemo(() => (hot && items && filter ? new Map(items.map((each) => [each.elementId, each.active + each.incidents + each.completed + each.canceled])) : undefined), [hot, items, filter]);
  return (
    <div className="drawing">
      <Shown query={model} gone={<NoModel />}>
        {(source) => (
          <Diagram
            xml={source}
            label={`${t.diagram}: ${definition.name ?? definition.processDefinitionId}`}
            marks={marks}
            heat={heat}
            withEnded={ended}
            selected={search.element}
            onSelect={(element) => change({ ...search, element: element === search.element ? undefined : element })}
          />
        )}
      </Shown>
      <Heat on={hot} toggle={() => change({ ...search, heat: hot ? undefined : "1" })} />
      <div className="drawing-notes">
        {isDeleted(definition) ? <p className="drawing-note">{text.deleted.drawn(definition.version)}</p> : <Starts of={key} />}
        {all ? <p className="drawing-note">{t.drawnVersion(definition.version)}</p> : null}
      </div>
    </div>
  );
}

/** When the process starts by itself: the first of its timers. */
function Starts({ of }: { of: DefinitionKey }) {
  const next = useQuery({ ...startTimers(of), ...kept }).data?.items[0];
  if (!next) return null;
  return (
    <p className="drawing-note">
      {t.startsItself} <Time at={next.dueDate} />
      {next.repetitions === 1 ? null : `, ${t.startsAgain(next.repetitions === null ? null : next.repetitions - 1)}`}
    </p>
  );
}
