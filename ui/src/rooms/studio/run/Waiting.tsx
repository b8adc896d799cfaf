// What the watched instance waits for, and what a person can do about each in the place of workers and others.
import { Link } from "@tanstack/react-router";
import { CircleDot, Clock, TriangleAlert } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import type { Finding } from "../../../api/instances";
import { type Place as Standing, causeOf } from "../../../parts/causes";
import { failed } from "../../../parts/failed";
import { stringIn } from "../../../parts/fields";
import { useNow } from "../../../parts/now";
import { text } from "../../../text";
import { type Act, type Watched, actsFor, noteOf, run, takesVariables } from "./acts";
import { MoveClock } from "./Clock";
import { JsonField, wrongWith } from "./JsonField";

const t = text.studio.run;
const icons = { incident: TriangleAlert, waiting: Clock, active: CircleDot } as const;

interface PlaceProps {
  place: Standing;
  instance: Watched;
  select: (element: string) => void;
}

export function Place({ place, instance, select }: PlaceProps) {
  const element = place.id;
  return (
    <li className="run-place">
      <button type="button" className="words-button" title={element ?? undefined} disabled={!element} onClick={() => (element ? select(element) : undefined)}>
        <span className="clip">{place.name ?? element}</span>
      </button>
      <ul>
        {place.findings.map((finding) => (
          <One key={JSON.stringify([actsFor(finding), (finding.facts as Record<string, unknown>).elementId, finding.since])} finding={finding} instance={instance} />
        ))}
      </ul>
    </li>
  );
}

function One({ finding, instance }: { finding: Finding; instance: Watched }) {
  const now = useNow();
  const [act, choose] = useState<Act>();
  const said = causeOf(finding, now);
  const Icon = icons[said.tone];
  return (
    <li className={`run-cause ${said.tone}`}>
      <div className="run-said">
        <Icon size={16} aria-hidden="true" />
        <p className="grow">
          <b>{said.sentence}</b>
          {said.detail === undefined ? null : <span className="muted"> {said.detail}</span>}
        </p>
        <span className="run-acts">
          {actsFor(finding).map((each, at) => (
            <button key={each} type="button" className={`button small${at === 0 ? " first" : ""}`} aria-expanded={act === each} onClick={() => choose(act === each ? undefined : each)}>
              {t.acts[each]}
            </button>
          ))}
          {said.called === undefined ? null : (
            <Link className="button small" to="/processes/i/$key" params={{ key: said.called }}>
              {t.called}
            </Link>
          )}
        </span>
      </div>
      {act === undefined ? null : act === "move" ? (
        <MoveClock due={stringIn(finding.facts, "dueDate") ?? ""} close={() => choose(undefined)} />
      ) : (
        <Form key={act} act={act} finding={finding} instance={instance} close={() => choose(undefined)} />
      )}
    </li>
  );
}

function Form({ act, finding, instance, close }: { act: Exclude<Act, "move">; finding: Finding; instance: Watched; close: () => void }) {
  const [variables, write] = useState("{}");
  const [note, setNote] = useState(act === "fail" ? t.failMessage : "");
  const [busy, setBusy] = useState(false);
  const id = useId();
  const wanted = noteOf(act);
  const ready = !busy && (!takesVariables(act) || wrongWith(variables) === undefined) && (wanted === undefined || note.trim() !== "");
  const go = async (event: FormEvent) => {
    event.preventDefault();
    if (!ready) return;
    setBusy(true);
    try {
      await run(act, finding, instance, { variables, note: note.trim() });
      close();
    } catch (error) {
      failed(error);
      setBusy(false);
    }
  };
  return (
    <form className="run-form" onSubmit={(event) => void go(event)}>
      <p className="faint">{t.actHints[act]}</p>
      {wanted === undefined ? null : (
        <div className="run-field">
          <label className="label" htmlFor={id}>
            {t.notes[wanted]}
          </label>
          <input id={id} className="field" value={note} onChange={(event) => setNote(event.target.value)} />
        </div>
      )}
      {takesVariables(act) ? <JsonField written={variables} write={write} /> : null}
      <div className="row">
        <button type="submit" className="button small main" disabled={!ready}>
          {t.acts[act]}
        </button>
        <button type="button" className="button small quiet" onClick={close}>
          {text.words.cancel}
        </button>
      </div>
    </form>
  );
}
