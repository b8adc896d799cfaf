// Where the instances that a filter finds stand, of one version of a process.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Filter } from "../../../api/instances";
import { type Definition, counts } from "../../../api/processes";
import { xml } from "../../../api/xml";
import { stepsOf } from "../../../parts/steps";
import { countFilter } from "../filter";

export function useStanding(of: Definition, filter: Filter) {
  const model = useQuery(xml(of.processDefinitionKey));
  const count = useQuery(counts(of.processDefinitionKey, countFilter(filter), false));
  const steps = useMemo(() => stepsOf(model.data ?? "", of.processDefinitionId), [model.data, of.processDefinitionId]);
  const standing = useMemo(() => {
    const found = new Map(count.data?.items.map((each) => [each.elementId, each.active + each.incidents]));
    return (element: string) => found.get(element) ?? 0;
  }, [count.data]);
  return { steps, standing, known: count.data !== undefined };
}
