// The backups that the store has, one more of them, and what can be restored.
import { useQuery } from "@tanstack/react-query";
import { CloudOff, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { type Backup, backupState, backups, deleteBackup } from "../../../api/management";
import type { Problem } from "../../../api/problem";
import { RIGHTS } from "../../../api/rights";
import { Ask } from "../../../parts/Ask";
import { MayButton, useLack } from "../../../parts/MayButton";
import { Note } from "../../../parts/Note";
import { Panel } from "../../../parts/Panel";
import { Shown } from "../../../parts/Shown";
import { Time } from "../../../parts/Time";
import { cluster as t } from "../../../text/cluster";
import { number } from "../../../text/format";
import { TakeForm } from "./TakeForm";
import { rangesOf, takenAt, versionsOf } from "./ranges";
import "./backups.css";

/** The server says so instead of listing none. */
const lacksStore = (problem: Problem | null): boolean => problem?.status === 400 && problem.detail.includes("no store for backups");

const TONES: Record<string, string> = { COMPLETED: "leader", IN_PROGRESS: "inactive", FAILED: "bad", INCOMPATIBLE: "bad" };

export default function Backups() {
  const found = useQuery(backups());
  const [asked, ask] = useState<{ what: "take" } | { what: "erase"; id: number }>();
  const lack = useLack(RIGHTS.operate);
  const close = () => ask(undefined);
  if (lacksStore(found.error)) {
    return (
      <Panel title={t.tabs.backups}>
        <Note icon={<CloudOff size={20} strokeWidth={1.75} />} title={t.noStore}>
          {t.noStoreText}
        </Note>
      </Panel>
    );
  }
  const newest = Math.max(0, ...(found.data ?? []).map(({ backupId }) => backupId));
  return (
    <>
      <Panel
        title={t.tabs.backups}
        aside={lack ?? ((found.data?.length ?? 0) >= 200 ? t.newest : undefined)}
        actions={
          <MayButton needs={RIGHTS.operate} className="button small main" disabled={found.data === undefined} onClick={() => ask({ what: "take" })}>
            <Plus size={14} aria-hidden="true" />
            {t.take}
          </MayButton>
        }
      >
        <Shown query={found} rows={5}>
          {(list) => (list.length === 0 ? <Note title={t.backupNone}>{t.backupNoneText}</Note> : <List backups={list} erase={(id) => ask({ what: "erase", id })} />)}
        </Shown>
      </Panel>
      {found.data === undefined ? null : <Restorable />}
      {asked?.what === "take" ? <TakeForm newest={newest} close={close} /> : null}
      {asked?.what === "erase" ? <Ask title={t.eraseTitle(asked.id)} hint={t.eraseText} go={t.erase} said={t.erased(asked.id)} command={() => deleteBackup(asked.id)} close={close} /> : null}
    </>
  );
}

function List({ backups: list, erase }: { backups: readonly Backup[]; erase: (id: number) => void }) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what is wider than the page is scrolled by keys as well
    <div className="cluster-scroll" tabIndex={0} role="region" aria-label={t.tabs.backups}>
      <table className="cluster-grid backups">
        <thead>
          <tr>
            <th scope="col">{t.backup}</th>
            <th scope="col">{t.state}</th>
            <th scope="col">{t.taken}</th>
            <th scope="col" className="number">{t.partitions}</th>
            <th scope="col">{t.version}</th>
            <th scope="col">
              <span className="hidden">{t.erase}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {list.map((backup) => (
            <tr key={backup.backupId}>
              <th scope="row" className="figure">{backup.backupId}</th>
              <td>
                <span className={`copy ${TONES[backup.state] ?? "inactive"}`}>{t.backupStates[backup.state] ?? backup.state}</span>
                {backup.failureReason ? <p className="backup-why">{backup.failureReason}</p> : null}
              </td>
              <td>
                <Time at={takenAt(backup)} />
              </td>
              <td className="number">{number(backup.details.length)}</td>
              <td className="figure">{versionsOf(backup)}</td>
              <td className="number">
                {backup.state === "IN_PROGRESS" ? null : (
                  <MayButton needs={RIGHTS.operate} className="button quiet icon small" aria-label={`${t.erase} ${backup.backupId}`} title={t.erase} onClick={() => erase(backup.backupId)}>
                    <Trash2 size={14} aria-hidden="true" />
                  </MayButton>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** As the server finds it in the store. */
function Restorable() {
  const found = useQuery(backupState());
  return (
    <Panel title={t.restorable}>
      <Shown query={found} rows={2} small>
        {(state) => {
          const ranges = rangesOf(state);
          const newest = state.backupStates[0];
          if (ranges.length === 0 && newest !== undefined) {
            return (
              <>
                <p className="backup-text muted">{t.onlyBackups}</p>
                <ul className="ranges">
                  <li>
                    <Moment name={t.newestBackup} of={newest} />
                  </li>
                </ul>
              </>
            );
          }
          if (ranges.length === 0) {
            return (
              <Note title={t.restoreNone} small>
                {t.restoreNoneText}
              </Note>
            );
          }
          return (
            <>
              <p className="backup-text muted">{t.everyMoment}</p>
              <ul className="ranges">
                {ranges.map(({ first, last, partitions }) => (
                  <li key={`${first.checkpointId} ${last.checkpointId}`}>
                    <Moment name={t.first} of={first} />
                    {first.checkpointId === last.checkpointId ? null : <Moment name={t.last} of={last} />}
                    <span className="faint">{`${t.partitions}: ${number(partitions)}`}</span>
                  </li>
                ))}
              </ul>
            </>
          );
        }}
      </Shown>
    </Panel>
  );
}

function Moment({ name, of: { checkpointId, checkpointType, checkpointTimestamp } }: { name: string; of: ReturnType<typeof rangesOf>[number]["first"] }) {
  return (
    <span className="range-end">
      <span className="faint">{name}</span>
      <b className="figure">{checkpointId}</b>
      <span className="muted">{t.kinds[checkpointType] ?? checkpointType}</span>
      <Time at={checkpointTimestamp} />
    </span>
  );
}
