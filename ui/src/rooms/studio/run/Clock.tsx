// The clock of the cluster is set to the time that a timer is due at, says so while it stands, and is let run again.
import { useQuery } from "@tanstack/react-query";
import { Pin } from "lucide-react";
import { type FormEvent, useState } from "react";
import { clock, pinClock, resetClock } from "../../../api/clock";
import { Problem } from "../../../api/problem";
import { announce } from "../../../parts/announce";
import { failed } from "../../../parts/failed";
import { Failure } from "../../../parts/Note";
import { text } from "../../../text";
import { exact } from "../../../text/format";
import { useZone } from "../../../text/zone";

const t = text.studio.run;

/** While it stands, everything waits that goes by time: no page of a run is without a word on it. */
export function Pinned() {
  const { data } = useQuery(clock());
  const [busy, setBusy] = useState(false);
  useZone();
  if (data?.moved === undefined) return null;
  const reset = async () => {
    setBusy(true);
    try {
      await resetClock();
      announce("done", t.clock.runs);
    } catch (error) {
      failed(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="run-clock" role="status">
      <Pin size={14} aria-hidden="true" />
      <p className="grow">
        <b>{t.clock.stands(exact(data.moved))}</b> <span>{t.clock.standsText}</span>
      </p>
      <button type="button" className="button small" disabled={busy} onClick={() => void reset()}>
        {t.clock.reset}
      </button>
    </div>
  );
}

/** Why the server refuses stays beside the button, with what would have to be changed. */
export function MoveClock({ due, close }: { due: string; close: () => void }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  useZone();
  const go = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      await pinClock(due);
      close();
    } catch (error) {
      if (error instanceof Problem) setProblem(error);
      else failed(error);
      setBusy(false);
    }
  };
  return (
    <form className="run-form" onSubmit={(event) => void go(event)}>
      <p className="faint">{t.actHints.move}</p>
      {problem === undefined ? null : <Failure problem={problem} small />}
      <div className="row">
        <button type="submit" className="button small main" disabled={busy}>
          {t.clock.move(exact(due))}
        </button>
        <button type="button" className="button small quiet" onClick={close}>
          {text.words.cancel}
        </button>
      </div>
    </form>
  );
}
