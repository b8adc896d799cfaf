// Both models: where the tokens are now, and what their elements become.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { type Instance, instanceCounts } from "../../../api/instances";
import type { DefinitionKey } from "../../../api/keys";
import { definition } from "../../../api/processes";
import { xml } from "../../../api/xml";
import { Diagram, type Ghosts, type Mark } from "../../../parts/diagram";
import { Shown } from "../../../parts/Shown";
import { text } from "../../../text";
import type { Row } from "../../../parts/mapping";

const t = text.change;
const NOTHING: ReadonlyMap<string, Mark> = new Map();

interface DrawingsProps {
  instance: Instance;
  to: DefinitionKey;
  rows: readonly Row[];
  /** The source element whose pair is looked at. */
  shown: string | undefined;
  show: (source: string | undefined) => void;
}

export function Drawings({ instance, to, rows, shown, show }: DrawingsProps) {
  const [now, then] = [useQuery(xml(instance.processDefinitionKey)), useQuery(xml(to))];
  const target = useQuery(definition(to));
  const counts = useQuery(instanceCounts(instance.processInstanceKey, true));
  const marks = useMemo(() => (counts.data ? new Map(counts.data.items.map((each) => [each.elementId, each])) : NOTHING), [counts.data]);
  const ghosts = useMemo((): Ghosts => {
    const steps = new Map<string, { arrive: number; leave: number }>();
    for (const row of rows) {
      if (row.target === undefined || row.standing === 0) continue;
      steps.set(row.target, { arrive: (steps.get(row.target)?.arrive ?? 0) + row.standing, leave: 0 });
    }
    return { steps, moves: [] };
  }, [rows]);
  const [before, after] = [t.from(text.processes.versionOf(instance.processDefinitionVersion, instance.processDefinitionVersionTag)), `${t.to}: ${target.data ? text.processes.versionOf(target.data.version, target.data.versionTag) : ""}`];
  return (
    <div className="migrate-drawings">
      <div className="migrate-drawing">
        <p className="migrate-name">{before}</p>
        <Shown query={now}>{(source) => <Diagram xml={source} label={before} marks={marks} selected={shown} onSelect={show} />}</Shown>
      </div>
      <div className="migrate-drawing">
        <p className="migrate-name">{after}</p>
        <Shown query={then}>
          {(source) => (
            <Diagram
              xml={source}
              label={after}
              marks={NOTHING}
              ghosts={ghosts}
              selected={rows.find((row) => row.source.id === shown)?.target}
              onSelect={(element) => show(rows.find((row) => row.target === element)?.source.id)}
            />
          )}
        </Shown>
      </div>
    </div>
  );
}
