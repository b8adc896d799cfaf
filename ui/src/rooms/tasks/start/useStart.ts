// What somebody writes to start a process, and the start itself.
import { useCallback, useRef, useState } from "react";
import { start } from "../../../api/commands";
import type { InstanceKey } from "../../../api/keys";
import { Problem } from "../../../api/problem";
import type { Definition } from "../../../api/processes";
import { failed } from "../../../parts/failed";
import { isJson } from "../../../parts/json";
import { text } from "../../../text";
import { type Kept, keepFiles } from "../files";
import { objectOf, toSend, tooLong } from "../fill";
import type { Filled } from "../FormView";

const t = text.tasks;
const NONE: ReadonlyMap<string, string> = new Map();

export function useStart(definition: Definition, schema: string | undefined) {
  const [written, write] = useState<Record<string, string>>({});
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState<string>();
  const [made, setMade] = useState<{ name: string; key: InstanceKey }>();
  const fill = useRef<() => Filled>(undefined);
  const [drawn, draw] = useState(false);
  const ready = useCallback((filled: () => Filled) => {
    fill.current = filled;
    draw(true);
  }, []);
  const forget = useCallback(() => setWrong(undefined), []);
  const canBegin = schema === undefined || drawn;
  const begin = async () => {
    if (busy || !canBegin) return;
    const filled = fill.current?.();
    const long = filled && schema !== undefined ? tooLong(schema, filled) : [];
    if (filled?.valid === false || long.length > 0 || Object.values(written).some((value) => !isJson(value))) {
      setWrong(long.length > 0 ? t.tooLong(long.join(", ")) : t.formBad);
      return;
    }
    setBusy(true);
    let kept: Kept | undefined;
    try {
      if (filled && schema !== undefined) kept = await keepFiles(filled, schema, { processDefinitionId: definition.processDefinitionId });
      const key = await start(definition, objectOf(toSend(kept?.filled ?? filled, written, NONE)));
      setMade({ name: definition.name ?? definition.processDefinitionId, key });
    } catch (error) {
      if (error instanceof Problem && error.status >= 400 && error.status < 500) await kept?.drop();
      failed(error);
      setBusy(false);
    }
  };
  return { begin, canBegin, busy, wrong, ready, written, write, made, forget };
}
