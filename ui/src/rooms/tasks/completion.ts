// What somebody writes on a task, kept as he goes, and sent when he says that it is done.
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect, useRef, useState } from "react";
import type { TaskKey } from "../../api/keys";
import { type Task, completeTask, valuesNow } from "../../api/tasks";
import { isKeptByServer } from "../../api/kept";
import { Problem } from "../../api/problem";
import { isJson } from "../../parts/json";
import { announce } from "../../parts/announce";
import { failed } from "../../parts/failed";
import { text } from "../../text";
import { type Draft, NOTHING } from "./draft";
import { toSend, tooLong } from "./fill";
import { type Kept, keepFiles } from "./files";
import type { Filled } from "./FormView";
import { Keeping, type Restored, type Where } from "./keeping";
import type { TaskSearch } from "./search";

const t = text.tasks;

export function useCompletion(task: Task, schema: string | undefined, next: TaskKey | undefined, restored: Restored) {
  const key = task.userTaskKey;
  const navigate = useNavigate();
  const [draft, setDraft] = useState<Draft>(restored.draft);
  const [where, setWhere] = useState<Where>({ kind: isKeptByServer() ? "sent" : "browser" });
  const [keeping] = useState(() => new Keeping(key, task.name ?? task.elementId, restored.revision, setWhere));
  useEffect(() => {
    if (restored.unsent) keeping.change(restored.draft);
    return () => keeping.flush();
  }, [keeping, restored]);
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState<string>();
  const fill = useRef<() => Filled>(undefined);
  const ready = useCallback((filled: () => Filled) => {
    fill.current = filled;
  }, []);
  const change = useCallback(
    (how: (draft: Draft) => Draft) => {
      setWrong(undefined);
      setDraft((before) => {
        const after = how(before);
        // A form speaks of changes also where it has only been drawn.
        if (JSON.stringify(after) === JSON.stringify(before)) return before;
        keeping.change(after);
        return after;
      });
    },
    [keeping],
  );
  const complete = async () => {
    if (busy || (schema !== undefined && fill.current === undefined)) return;
    const filled = fill.current?.();
    const long = filled && schema !== undefined ? tooLong(schema, filled) : [];
    const bad = Object.values(draft.variables).some((value) => !isJson(value));
    if (filled?.valid === false || bad || long.length > 0) {
      setWrong(long.length > 0 ? t.tooLong(long.join(", ")) : t.formBad);
      return;
    }
    setBusy(true);
    let kept: Kept | undefined;
    try {
      if (filled && schema !== undefined) kept = await keepFiles(filled, schema, { processDefinitionId: task.processDefinitionId, processInstanceKey: task.processInstanceKey });
      await completeTask(key, toSend(kept?.filled ?? filled, draft.variables, await valuesNow(key)));
      // One that the server keeps now goes after thirty days.
      keeping.end().catch(() => undefined);
      setDraft(NOTHING);
      announce("done", t.done(task.name ?? task.elementId));
      void navigate({ to: "/tasks", search: (search: TaskSearch) => ({ ...search, task: next, tab: undefined }) });
    } catch (error) {
      // An answer that did not come may be that of a command which was carried out.
      if (error instanceof Problem && error.status >= 400 && error.status < 500) await kept?.drop();
      failed(error);
      setBusy(false);
    }
  };
  const discard = () => keeping.end().catch(failed);
  return { draft, where, change, complete, discard, busy, wrong, ready };
}
