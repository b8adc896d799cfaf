// The model of the instance, with where it is and which way it came.
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { type Instance, diagnosis, flows, instanceCounts } from "../../api/instances";
import { type Window, usePast } from "../../api/past";
import { xml } from "../../api/xml";
import { lateIn } from "../../parts/causes";
import { NoModel } from "../../parts/Deleted";
import { Diagram, type Ghosts, type Mark } from "../../parts/diagram";
import { useNow } from "../../parts/now";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";
import { Replay, ReplayButton, useAt } from "./Replay";
import { marksAt, momentsOf } from "./replay";
import { useScope } from "./scope";

const NOTHING: ReadonlyMap<string, Mark> = new Map();
const NONE: ReadonlySet<string> = new Set();

const NONE_LATE: ReadonlyMap<string, number> = new Map();

/** What waits longer than usual; the same map until that is something else, so that nothing is drawn again for nothing. */
function useLate({ processInstanceKey, state }: Instance): ReadonlyMap<string, number> {
  const now = useNow();
  const { data } = useQuery({ ...diagnosis(processInstanceKey), enabled: state === "ACTIVE" });
  const found = JSON.stringify(data && state === "ACTIVE" ? [...lateIn(data.items, now)] : []);
  return useMemo(() => (found === "[]" ? NONE_LATE : new Map(JSON.parse(found) as [string, number][])), [found]);
}

/** The same list until another window is in it. */
function useRead(windows: readonly Window[]): readonly Window[] {
  const [read, set] = useState(windows);
  const same = read.length === windows.length && read.every((each, at) => each === windows[at]);
  if (!same) set(windows);
  return same ? read : windows;
}

interface DrawingProps {
  instance: Instance;
  ghosts?: Ghosts;
  /** Instead of looking at what is chosen. */
  onChoose?: (element: string) => void;
}

export function Drawing({ instance, ghosts, onChoose }: DrawingProps) {
  const atWork = instance.state === "ACTIVE";
  const { element, chooseElement } = useScope();
  const model = useQuery(xml(instance.processDefinitionKey));
  const count = useQuery(instanceCounts(instance.processInstanceKey, atWork));
  const taken = useQuery(flows(instance.processInstanceKey, atWork));
  const [wanted] = useAt();
  const at = ghosts === undefined ? wanted : undefined;
  const past = usePast(instance, at);
  const read = useRead(past.windows);
  const moments = useMemo(() => momentsOf(read), [read]);
  const before = useMemo(() => (at !== undefined && read.length > 0 ? marksAt(read, at) : undefined), [at, read]);
  const late = useLate(instance);
  const marks = useMemo(() => (count.data ? new Map(count.data.items.map((each) => [each.elementId, { ...each, late: late.get(each.elementId) }])) : NOTHING), [count.data, late]);
  const ways = useMemo(() => (taken.data ? new Set(taken.data.items.map((each) => each.elementId)) : NONE), [taken.data]);
  return (
    <div className="drawing">
      <Shown query={model} gone={<NoModel />}>
        {(source) => (
          <Diagram
            xml={source}
            label={`${text.processes.diagram}: ${instance.processDefinitionName ?? instance.processDefinitionId}`}
            marks={before ?? marks}
            taken={before ? NONE : ways}
            ghosts={ghosts}
            glides={before !== undefined}
            withEnded={ghosts === undefined}
            selected={element}
            onSelect={(next) => (onChoose && next !== undefined ? onChoose(next) : chooseElement(next === element ? undefined : next))}
          />
        )}
      </Shown>
      {at === undefined ? ghosts === undefined ? <ReplayButton from={instance.startDate} /> : null : <Replay moments={moments} past={past} />}
    </div>
  );
}
