// Changes of the cluster: the one in progress, a new one, and those that are over.
import { useQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { type Change, cancelChange, changes } from "../../../api/management";
import { RIGHTS } from "../../../api/rights";
import { topology } from "../../../api/topology";
import { Ask } from "../../../parts/Ask";
import { MayButton } from "../../../parts/MayButton";
import { Note } from "../../../parts/Note";
import { Panel } from "../../../parts/Panel";
import { Shown } from "../../../parts/Shown";
import { Time } from "../../../parts/Time";
import { cluster as t } from "../../../text/cluster";
import { Steps } from "./Steps";
import { WishForm } from "./WishForm";
import "./changes.css";

const isRunning = (change: Change): boolean => change.status === "IN_PROGRESS";

export default function Changes() {
  const [runs, setRuns] = useState(false);
  const found = useQuery(changes(runs));
  const cluster = useQuery(topology());
  const goesOn = found.data?.some(isRunning) ?? false;
  if (goesOn !== runs) setRuns(goesOn);
  return (
    <Shown query={found} rows={6}>
      {(all) => {
        const running = all.find(isRunning);
        return (
          <>
            {running === undefined ? (
              <Panel title={t.want}>
                <Shown query={cluster} rows={4}>
                  {(now) => <WishForm cluster={now} />}
                </Shown>
              </Panel>
            ) : (
              <Running change={running} />
            )}
            <History changes={all.filter((change) => !isRunning(change))} />
          </>
        );
      }}
    </Shown>
  );
}

function Running({ change: { id, startedAt, completed, pending } }: { change: Change }) {
  const [asks, ask] = useState(false);
  const all = completed.length + pending.length;
  return (
    <Panel
      title={t.running(id)}
      aside={<Time at={startedAt} />}
      actions={
        <MayButton needs={RIGHTS.operate} className="button small danger" onClick={() => ask(true)}>
          {t.cancel}
        </MayButton>
      }
    >
      <div className="change-progress">
        <progress value={completed.length} max={all} aria-label={t.running(id)} />
        <span className="figure" role="status">
          {t.progress(completed.length, all)}
        </span>
      </div>
      <Steps done={completed} pending={pending} rest="running" />
      {asks ? <Ask title={t.cancelTitle(id)} hint={t.cancelText} go={t.cancel} said={t.cancelled(id)} command={() => cancelChange(id)} close={() => ask(false)} /> : null}
    </Panel>
  );
}

function History({ changes: over }: { changes: readonly Change[] }) {
  return (
    <Panel title={t.history} aside={over.length === 0 ? undefined : t.historyAside}>
      {over.length === 0 ? (
        <Note title={t.historyNone} small>
          {t.historyNoneText}
        </Note>
      ) : (
        <ul className="change-history">
          {over.map(({ id, status, completedAt, completed, pending }) => (
            <li key={id}>
              <details>
                <summary>
                  <ChevronRight size={14} aria-hidden="true" />
                  <b>{t.change(id)}</b>
                  <span className={`copy ${status === "COMPLETED" ? "leader" : "inactive"}`}>{t.changeStates[status]}</span>
                  <span className="faint">{t.steps(completed.length + pending.length)}</span>
                  <span className="grow" />
                  <span className="faint">
                    <Time at={completedAt} />
                  </span>
                </summary>
                <Steps done={completed} pending={pending} rest="over" />
              </details>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
