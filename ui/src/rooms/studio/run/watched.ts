// What the board shows of the instance that is watched.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { flows, instance, instanceCounts } from "../../../api/instances";
import { type InstanceKey, asKey, looksLikeKey } from "../../../api/keys";
import type { Mark } from "../../../parts/diagram";

const NOTHING: ReadonlyMap<string, Mark> = new Map();
const NONE: ReadonlySet<string> = new Set();

export interface Watched {
  marks: ReadonlyMap<string, Mark>;
  taken: ReadonlySet<string>;
}

/** The key in an address, if it is one. */
export const keyOf = (run: string | undefined): InstanceKey | undefined => (run !== undefined && looksLikeKey(run) ? asKey<InstanceKey>(run) : undefined);

export function useWatched(key: InstanceKey | undefined): Watched {
  const wanted = key ?? asKey<InstanceKey>("0");
  const enabled = key !== undefined;
  const one = useQuery({ ...instance(wanted), enabled });
  const atWork = one.data === undefined || one.data.state === "ACTIVE";
  const count = useQuery({ ...instanceCounts(wanted, atWork), enabled: enabled && one.data !== undefined });
  const ways = useQuery({ ...flows(wanted, atWork), enabled: enabled && one.data !== undefined });
  const marks = useMemo(() => (enabled && count.data ? new Map(count.data.items.map((each) => [each.elementId, each])) : NOTHING), [enabled, count.data]);
  const taken = useMemo(() => (enabled && ways.data ? new Set(ways.data.items.map((each) => each.elementId)) : NONE), [enabled, ways.data]);
  return { marks, taken };
}
