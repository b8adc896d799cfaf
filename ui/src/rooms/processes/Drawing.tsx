// The model of the chosen process, with how many of the instances that the filter finds stand where.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Filter } from "../../api/instances";
import { kept } from "../../api/live";
import { type Definition, type CountFilter, counts } from "../../api/processes";
import { xml } from "../../api/xml";
import { Diagram, type Mark } from "../../parts/diagram";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";
import type { ProcessSearch } from "./search";

const t = text.processes;
const NOTHING: ReadonlyMap<string, Mark> = new Map();

/** The filter without what the diagram itself says: its process, and the element that was chosen in it. */
function countFilter(filter: Filter): CountFilter {
  const { processDefinitionId: _id, processDefinitionVersion: _version, elementId: _element, elementInstanceState: _state, ...rest } = filter;
  return rest as CountFilter;
}

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
  return (
    <div className="drawing">
      <Shown query={model}>
        {(source) => (
          <Diagram
            xml={source}
            label={`${t.diagram}: ${definition.name ?? definition.processDefinitionId}`}
            marks={marks}
            withEnded={search.state !== undefined && /completed|terminated/.test(search.state)}
            selected={search.element}
            onSelect={(element) => change({ ...search, element: element === search.element ? undefined : element })}
          />
        )}
      </Shown>
      {all ? <p className="drawing-note">{t.drawnVersion(definition.version)}</p> : null}
    </div>
  );
}
