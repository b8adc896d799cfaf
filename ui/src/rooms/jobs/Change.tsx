// Changes the retries and the timeout of a job. A refusal stays in the dialog, with its reason.
import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { type JobChange, type JobRow, changeJob } from "../../api/jobs";
import { Problem } from "../../api/problem";
import { announce } from "../../parts/announce";
import { Dialog } from "../../parts/Dialog";
import { lackText } from "../../parts/lack";
import { useNow } from "../../parts/now";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { changeOf, isHeld, wrongIn } from "./change";

const t = text.jobs;

const reason = (error: unknown): string =>
  !(error instanceof Problem) ? String(error) : error.status === 0 ? text.words.failure.NO_ANSWER : error.lack ? lackText(error.lack) : error.detail;

export default function Change({ job, close }: { job: JobRow; close: () => void }) {
  const now = useNow();
  const [retries, setRetries] = useState(String(Math.max(1, job.retries)));
  const [seconds, setSeconds] = useState("");
  const [busy, setBusy] = useState(false);
  const [refused, refuse] = useState<string>();
  const held = isHeld(job, now);
  const wrong = wrongIn({ retries, seconds });
  const change = wrong === undefined ? changeOf(job, { retries, seconds }) : undefined;
  const save = async (wanted: JobChange) => {
    setBusy(true);
    refuse(undefined);
    try {
      await changeJob(job.jobKey, wanted);
      announce("done", t.changed(job.type));
      close();
    } catch (error) {
      refuse(reason(error));
      setBusy(false);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (change !== undefined && !busy) void save(change);
  };
  return (
    <Dialog title={t.changeTitle} isOpen close={close}>
      <form className="job-change" onSubmit={submit}>
        <p className="muted">
          <span className="mono">{job.type}</span> {t.changeOf(job.elementId ?? "")} <span className="mono">{job.jobKey}</span>
        </p>
        <label>
          <span className="label">{t.tries}</span>
          <input className="field figure" inputMode="numeric" autoFocus value={retries} aria-invalid={wrong === "retries"} onChange={(event) => setRetries(event.target.value)} />
        </label>
        {job.state === "FAILED" && job.retries === 0 ? (
          <p className="faint">
            {t.changeIncident}{" "}
            <Link to="/processes/i/$key" params={{ key: job.processInstanceKey }} search={{ scope: job.elementInstanceKey, tab: "incidents" }}>
              {t.changeIncidentOpen}
            </Link>
          </p>
        ) : null}
        <label>
          <span className="label">{t.seconds}</span>
          <input className="field figure" inputMode="numeric" disabled={!held} value={seconds} aria-invalid={wrong === "seconds"} aria-describedby="job-seconds" onChange={(event) => setSeconds(event.target.value)} />
        </label>
        <p className="faint" id="job-seconds">
          {held ? (
            <>
              {`${t.secondsHeld(job.worker || t.unnamed)} `}
              <Time at={job.deadline} />
            </>
          ) : (
            t.secondsFree
          )}
        </p>
        <p className="bad" role="alert">
          {wrong === undefined ? refused : wrong === "retries" ? t.badTries : t.badSeconds}
        </p>
        <div className="dialog-actions">
          <button type="button" className="button" onClick={close}>
            {text.words.cancel}
          </button>
          <button type="submit" className="button main" disabled={busy || change === undefined}>
            {t.change}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
