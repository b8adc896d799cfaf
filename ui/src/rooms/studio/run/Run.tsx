// Run and watch: an instance of what was deployed, its tokens on the board, and below it what it waits for and its data.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { RotateCcw, X } from "lucide-react";
import { useState } from "react";
import { type Instance, diagnosis, instance, variables } from "../../../api/instances";
import type { InstanceKey } from "../../../api/keys";
import { placesOf } from "../../../parts/causes";
import { Json } from "../../../parts/Json";
import { Note } from "../../../parts/Note";
import { Shown } from "../../../parts/Shown";
import { State } from "../../../parts/State";
import { text } from "../../../text";
import { Pinned } from "./Clock";
import { Start } from "./Start";
import { Place } from "./Waiting";
import "./run.css";

const t = text.studio.run;

interface RunProps {
  /** None before one is started. */
  watched: InstanceKey | undefined;
  process: string;
  watch: (key: InstanceKey | undefined) => void;
  close: () => void;
  select: (element: string) => void;
}

export function Run({ watched, process, watch, close, select }: RunProps) {
  const [written, write] = useState("{}");
  return (
    <section className="run" aria-label={t.title}>
      <Pinned />
      {watched === undefined ? (
        <>
          <header className="run-head">
            <h2>{t.title}</h2>
            <span className="faint clip grow">{t.hint}</span>
            <Close close={close} />
          </header>
          <div className="run-body">
            <Start process={process} variables={written} write={write} started={watch} />
          </div>
        </>
      ) : (
        <Watching key={watched} watched={watched} again={() => watch(undefined)} close={close} select={select} />
      )}
    </section>
  );
}

const Close = ({ close }: { close: () => void }) => (
  <button type="button" className="button quiet icon small" aria-label={t.close} title={t.close} onClick={close}>
    <X size={14} aria-hidden="true" />
  </button>
);

function Watching({ watched, again, close, select }: { watched: InstanceKey; again: () => void; close: () => void; select: (element: string) => void }) {
  const one = useQuery(instance(watched));
  const found = one.data;
  return (
    <>
      <header className="run-head">
        <h2>{t.title}</h2>
        {found ? <State name={found.hasIncident ? "INCIDENT" : found.state} /> : null}
        {found ? <span className="muted clip">{t.version(found.processDefinitionName ?? found.processDefinitionId, found.processDefinitionVersion)}</span> : null}
        <Link className="mono clip" to="/processes/i/$key" params={{ key: watched }} title={t.instance}>
          {watched}
        </Link>
        <span className="grow" />
        <button type="button" className="button small" onClick={again}>
          <RotateCcw size={14} aria-hidden="true" />
          {t.another}
        </button>
        <Close close={close} />
      </header>
      <div className="run-body">
        {one.error?.isGone ? <Note title={t.gone} small>{watched}</Note> : <Shown query={one} small>{(data) => <Parts instance={data} select={select} />}</Shown>}
      </div>
    </>
  );
}

function Parts({ instance: found, select }: { instance: Instance; select: (element: string) => void }) {
  const atWork = found.state === "ACTIVE";
  const places = useQuery({ ...diagnosis(found.processInstanceKey), enabled: atWork });
  const data = useQuery(variables(found.processInstanceKey, atWork));
  return (
    <div className="run-parts">
      <section aria-label={t.waits} aria-live="polite">
        {!atWork ? (
          <p className="muted">{t.over(text.words.state(found.state))}</p>
        ) : (
          <Shown query={places} rows={1} small>
            {({ items }) =>
              items.length === 0 ? (
                <p className="muted">{t.nothing}</p>
              ) : (
                <ul>
                  {placesOf(items).map((place) => (
                    <Place key={`${place.key} ${place.id}`} place={place} instance={found} select={select} />
                  ))}
                </ul>
              )
            }
          </Shown>
        )}
      </section>
      <section className="run-data" aria-label={t.data}>
        <h3>{t.data}</h3>
        <Shown query={data} rows={1} small>
          {({ items }) =>
            items.length === 0 ? (
              <p className="faint">{t.dataNone}</p>
            ) : (
              <dl>
                {items.map((each) => (
                  <div key={each.variableKey} className="run-variable">
                    <dt className="mono clip" title={each.name}>
                      {each.name}
                    </dt>
                    <dd>
                      <Json value={each.value} />
                    </dd>
                  </div>
                ))}
              </dl>
            )
          }
        </Shown>
      </section>
    </div>
  );
}
