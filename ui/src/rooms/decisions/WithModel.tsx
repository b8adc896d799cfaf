// The model of a decision, read once it is there.
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { decisionXml } from "../../api/decisions";
import type { DecisionKey } from "../../api/keys";
import { kept } from "../../api/live";
import { NoModel } from "../../parts/Deleted";
import { Note } from "../../parts/Note";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";
import { type Model, modelOf } from "./model";

interface WithModelProps {
  of: DecisionKey;
  /** What stands on it stays while the model of another version is asked for: somebody may be writing there. */
  stays?: boolean;
  children: (model: Model) => ReactNode;
}

export function WithModel({ of, stays = false, children }: WithModelProps) {
  const xml = useQuery({ ...decisionXml(of), ...(stays ? kept : {}) });
  return (
    <Shown query={xml} rows={4} gone={<NoModel />}>
      {(source) => <Read xml={source}>{children}</Read>}
    </Shown>
  );
}

function Read({ xml, children }: { xml: string; children: (model: Model) => ReactNode }) {
  const read = useMemo(() => {
    try {
      return { model: modelOf(xml) };
    } catch (error) {
      return { broken: error instanceof Error ? error.message : String(error) };
    }
  }, [xml]);
  return read.model === undefined ? <Note tone="incident" title={text.decisions.unreadable}>{read.broken}</Note> : <>{children(read.model)}</>;
}
