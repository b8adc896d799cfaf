// What operators see of a cluster and change in it: its brokers and partitions, exporters, backups, settings.
import { type Answer, type Body, get, patch, post, remove } from "./client";
import { done, live } from "./live";

const ROOT = "/skep/v1/management";
const EVERY = 5_000;
/** A store for backups is another machine: it is asked less often. */
const OF_STORE = 15_000;

export type Change = Answer<`${typeof ROOT}/cluster/changes`, "get">[number];
export type Step = Change["pending"][number];
export type Planned = Answer<`${typeof ROOT}/cluster`, "patch">;
export type Wanted = Body<`${typeof ROOT}/cluster`, "patch">;
export type Exporter = Answer<`${typeof ROOT}/exporters`, "get">[number];
export type Backup = Answer<`${typeof ROOT}/backups`, "get">[number];
export type BackupState = Answer<`${typeof ROOT}/backups/state`, "get">;
export type Settings = Answer<`${typeof ROOT}/configprops`, "get">;

/** A change goes on step by step: it is looked at every second while it does. */
export const changes = (isRunning: boolean) => live(["cluster", "changes"], ({ signal }) => get(`${ROOT}/cluster/changes`, {}, { signal }), isRunning ? 1_000 : EVERY);
export const exporters = () => live(["cluster", "exporters"], ({ signal }) => get(`${ROOT}/exporters`, {}, { signal }), EVERY);
export const backups = () => live(["cluster", "backups"], ({ signal }) => get(`${ROOT}/backups`, {}, { signal }), OF_STORE);
export const backupState = () => live(["cluster", "backups", "state"], ({ signal }) => get(`${ROOT}/backups/state`, {}, { signal }), OF_STORE);
export const settings = () => live(["cluster", "settings"], ({ signal }) => get(`${ROOT}/configprops`, {}, { signal }), 60_000);

/** What would be done; nothing is. */
export const planChange = (wanted: Wanted) => patch(`${ROOT}/cluster`, {}, wanted, { query: { dryRun: "true" } });
export const beginChange = (wanted: Wanted) => done(patch(`${ROOT}/cluster`, {}, wanted));
export const cancelChange = (id: number) => done(remove(`${ROOT}/cluster/changes/{changeId}`, { changeId: String(id) }));
export const rebalance = () => done(post(`${ROOT}/rebalance`, {}, {}));

export const enableExporter = (exporterId: string) => done(post(`${ROOT}/exporters/{exporterId}/enable`, { exporterId }, {}));
export const disableExporter = (exporterId: string) => done(post(`${ROOT}/exporters/{exporterId}/disable`, { exporterId }, {}));
export const pauseExporting = () => done(post(`${ROOT}/exporting/pause`, {}, {}));
export const resumeExporting = () => done(post(`${ROOT}/exporting/resume`, {}, {}));

/** Without an id the cluster numbers it, where a schedule takes backups. */
export const takeBackup = (backupId: number | undefined) => done(post(`${ROOT}/backups`, {}, backupId === undefined ? {} : { backupId }));
export const deleteBackup = (id: number) => done(remove(`${ROOT}/backups/{backupId}`, { backupId: String(id) }));
