// Changes the retries and the timeout of a job. A refusal stays in the dialog, with its reason.
import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { type JobChange, type JobRow, changeJob } from "../../api/jobs";
import { rightsOn } from "../../api/rights";
import { announce } from "../../parts/announce";
import { Dialog } from "../../parts/Dialog";
import { MayButton, useLack } from "../../parts/MayButton";
import { useNow } from "../../parts/now";
import { reasonOf } from "../../parts/reason";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { changeOf, isHeld, wrongIn } from "./change";

const t = text.jobs;

export default function Change({ job, close }: { job: JobRow; close: () => void }) {
  const now = useNow();
  const needs = rightsOn(job.processDefinitionId).update;
  const lack = useLack(needs);
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
      refuse(reasonOf(error));
      setBusy(false);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (lack !== undefined) refuse(lack);
    else if (change !== undefined && !busy) void save(change);
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
          <MayButton needs={needs} type="submit" className="button main" disabled={busy || change === undefined}>
            {t.change}
          </MayButton>
        </div>
      </form>
    </Dialog>
  );
}
