// The model of the chosen process, with how many of the instances that the filter finds stand where.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Filter } from "../../api/instances";
import { kept } from "../../api/live";
import { type Definition, counts } from "../../api/processes";
import { xml } from "../../api/xml";
import { Diagram, type Mark } from "../../parts/diagram";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";
import { countFilter } from "./filter";
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
  const count = useQuery({ ...counts(key, countFilter(filter ?? {})), ...kept, enabled: filter !== undefined });
  const items = count.data?.items;
  const marks = useMemo(() => (items && filter ? new Map(items.map((each) => [each.elementId, each])) : NOTHING), [items, filter]);
  const hot = search.heat !== undefined;
  const heat = useMemo(() => (hot && items && filter ? new Map(items.map((each) => [each.elementId, each.active + each.incidents + each.completed + each.canceled])) : undefined), [hot, items, filter]);
  return (
    <div className="drawing">
      <Shown query={model}>
        {(source) => (
          <Diagram
            xml={source}
            label={`${t.diagram}: ${definition.name ?? definition.processDefinitionId}`}
            marks={marks}
            heat={heat}
            withEnded={search.state !== undefined && /completed|terminated/.test(search.state)}
            selected={search.element}
            onSelect={(element) => change({ ...search, element: element === search.element ? undefined : element })}
          />
        )}
      </Shown>
      <Heat on={hot} toggle={() => change({ ...search, heat: hot ? undefined : "1" })} />
      {all ? <p className="drawing-note">{t.drawnVersion(definition.version)}</p> : null}
    </div>
  );
}
