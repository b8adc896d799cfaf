// The exporters, their progress on each partition, and the controls to pause, disable and enable them.
import { useQuery } from "@tanstack/react-query";
import { Pause, Play } from "lucide-react";
import { useState } from "react";
import { type NodeStates, nodeStates } from "../../../api/cluster";
import { type Exporter, disableExporter, enableExporter, exporters, pauseExporting, resumeExporting } from "../../../api/management";
import { RIGHTS } from "../../../api/rights";
import { Ask } from "../../../parts/Ask";
import { MayButton } from "../../../parts/MayButton";
import { Note } from "../../../parts/Note";
import { Panel } from "../../../parts/Panel";
import { Shown } from "../../../parts/Shown";
import { useAct } from "../../../parts/act";
import { cluster as t } from "../../../text/cluster";
import { pausedIn } from "../state";
import { type Place, placesOf } from "./places";

const STORAGE = "secondary-storage";

type Asked = { what: "pause" } | { what: "enable" | "disable"; id: string };

export default function Exporters() {
  const found = useQuery(exporters());
  // Names and switches are of use without it.
  const states = useQuery(nodeStates()).data ?? {};
  const { paused, all } = pausedIn(states);
  const [asked, ask] = useState<Asked>();
  const close = () => ask(undefined);
  return (
    <Panel title={t.tabs.exporters} actions={<Phase paused={paused.length} all={all} pause={() => ask({ what: "pause" })} />}>
      {paused.length > 0 ? (
        <Note icon={<Pause size={20} strokeWidth={1.75} />} title={paused.length === all ? t.pausedNote : t.pausedSome(paused.join(", "))} small>
          {t.pausedText}
        </Note>
      ) : null}
      <Shown query={found} rows={3}>
        {(list) => (list.length === 0 ? <Note title={t.exporterNone}>{t.exporterNoneText}</Note> : <List exporters={list} states={states} ask={(what, id) => ask({ what, id })} />)}
      </Shown>
      {asked?.what === "pause" ? <Ask title={t.pauseTitle} hint={t.pauseText} go={t.pause} said={t.paused} command={pauseExporting} close={close} /> : null}
      {asked?.what === "disable" ? (
        <Ask title={t.disableTitle(asked.id)} hint={asked.id === STORAGE ? t.disableStorageText : t.disableText} go={t.disable} said={t.disabled(asked.id)} command={() => disableExporter(asked.id)} close={close} />
      ) : null}
      {asked?.what === "enable" ? (
        <Ask title={t.enableTitle(asked.id)} hint={asked.id === STORAGE ? t.enableStorageText : t.enableText} go={t.enable} said={t.enabled(asked.id)} command={() => enableExporter(asked.id)} close={close} />
      ) : null}
    </Panel>
  );
}

/** One button where all partitions are alike, both where they are not. */
function Phase({ paused, all, pause }: { paused: number; all: number; pause: () => void }) {
  const { busy, act } = useAct();
  return (
    <>
      {paused > 0 ? (
        <MayButton needs={RIGHTS.operate} className="button small" disabled={busy} onClick={() => void act(resumeExporting, t.resumed)}>
          <Play size={14} aria-hidden="true" />
          {t.resume}
        </MayButton>
      ) : null}
      {paused < all || all === 0 ? (
        <MayButton needs={RIGHTS.operate} className="button small" onClick={pause}>
          <Pause size={14} aria-hidden="true" />
          {t.pause}
        </MayButton>
      ) : null}
    </>
  );
}

interface ListProps {
  exporters: readonly Exporter[];
  states: NodeStates;
  ask: (what: "enable" | "disable", id: string) => void;
}

function List({ exporters: list, states, ask }: ListProps) {
  return (
    <ul className="exporters">
      {list.map(({ exporterId: id, status }) => {
        const places = placesOf(states, id);
        return (
          <li key={id} className="exporter">
            <div className="exporter-name">
              <b className="mono">{id}</b>
              <span className={`copy ${status === "ENABLED" ? "leader" : status === "DISABLED" ? "follower" : "inactive"}`}>{t.exporterStates[status]}</span>
              {id === STORAGE ? <p className="faint">{t.storage}</p> : null}
              {status === "CONFIG_NOT_FOUND" ? <p className="faint">{t.notConfigured}</p> : null}
            </div>
            <Places places={places} />
            <div className="row exporter-acts">
              {status === "DISABLED" || status === "UNKNOWN" ? (
                <MayButton needs={RIGHTS.operate} className="button small" aria-label={`${t.enable} ${id}`} onClick={() => ask("enable", id)}>
                  {t.enable}
                </MayButton>
              ) : null}
              {status === "ENABLED" || status === "UNKNOWN" ? (
                <MayButton needs={RIGHTS.operate} className="button small" aria-label={`${t.disable} ${id}`} onClick={() => ask("disable", id)}>
                  {t.disable}
                </MayButton>
              ) : null}
            </div>
          </li>
        );
      })}
    </ul>
  );
}

function Places({ places }: { places: readonly Place[] }) {
  return (
    <ul className="exporter-places">
      {places.map(({ partition, state, lag, failing }) => (
        <li key={partition}>
          <span>{t.partition(partition)}</span>
          <span className={state === "FAILING" ? "bad" : "muted"}>{t.exporterStates[state] ?? state}</span>
          <span className="number faint">{lag === undefined ? "" : t.behind(lag)}</span>
          {failing === undefined ? null : <span className="exporter-why bad">{t.failing(partition, failing.seconds, failing.why)}</span>}
        </li>
      ))}
    </ul>
  );
}
