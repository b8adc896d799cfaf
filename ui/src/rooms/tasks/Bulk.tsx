// One command for the tasks that were chosen. There is no batch operation for tasks: they are done one after the other, and what was
// refused is told.
import { useState } from "react";
import { RIGHTS } from "../../api/rights";
import { type Act, type Task, manyTasks } from "../../api/tasks";
import { announce } from "../../parts/announce";
import { Dialog } from "../../parts/Dialog";
import { MayButton } from "../../parts/MayButton";
import { reasonOf } from "../../parts/reason";
import { useWho } from "../../parts/who";
import { text } from "../../text";
import { number } from "../../text/format";
import { AskWho } from "./who";

const t = text.tasks;
/** From here on a person types how many they are. */
const TYPED = 100;
const ACTS: readonly Act[] = ["claim", "unclaim", "complete"];

export function Bulk({ tasks, clear }: { tasks: readonly Task[]; clear: () => void }) {
  const who = useWho();
  const [asked, ask] = useState<Act>();
  return (
    <>
      <b className="grow">{t.selected(tasks.length)}</b>
      {ACTS.map((act) => (
        <MayButton key={act} needs={RIGHTS.tasks[act]} className="button small" onClick={() => ask(act)}>
          {t.many[act]}
        </MayButton>
      ))}
      {asked === "claim" && who === "" ? <AskWho close={() => ask(undefined)} then={() => setTimeout(() => ask("claim"))} /> : null}
      {asked !== undefined && (asked !== "claim" || who !== "") ? <Sure act={asked} tasks={tasks} close={() => ask(undefined)} clear={clear} /> : null}
    </>
  );
}

function Sure({ act, tasks, close, clear }: { act: Act; tasks: readonly Task[]; close: () => void; clear: () => void }) {
  const who = useWho();
  const [typed, type] = useState("");
  const [busy, setBusy] = useState(false);
  const ready = tasks.length <= TYPED || typed.replaceAll(/\D/g, "") === String(tasks.length);
  const go = async () => {
    setBusy(true);
    const refused = await manyTasks(tasks.map((each) => each.userTaskKey), act, who);
    const why = refused[0]?.error;
    announce(
      refused.length === 0 ? "done" : "failed",
      t.manyDone(tasks.length - refused.length, tasks.length),
      refused.length === 0 ? undefined : t.manyRefused(refused.length, reasonOf(why)),
    );
    close();
    clear();
  };
  return (
    <Dialog title={t.manyTitle[act](t.found(number(tasks.length), tasks.length === 1))} isOpen close={close}>
      <p className="muted">{t.manyText[act]}</p>
      {tasks.length > TYPED ? (
        <label>
          <span className="label">{text.commands.typeNumber(number(tasks.length))}</span>
          <input className="field figure" inputMode="numeric" value={typed} autoComplete="off" onChange={(event) => type(event.target.value)} />
        </label>
      ) : null}
      <div className="dialog-actions">
        <button type="button" className="button" onClick={close}>
          {text.words.cancel}
        </button>
        <button type="button" className="button main" disabled={!ready || busy} onClick={() => void go()}>
          {t.many[act]}
        </button>
      </div>
    </Dialog>
  );
}
