// Ranges are those of the whole cluster, and a backup says when it was taken and by which version.
import { expect, it } from "vitest";
import type { Backup, BackupState } from "../../../api/management";
import { rangesOf, takenAt, versionsOf } from "./ranges";

const checkpoint = (checkpointId: number, partitionId: number) => ({
  checkpointId,
  partitionId,
  checkpointType: "MANUAL_BACKUP" as const,
  checkpointPosition: 1,
  checkpointTimestamp: "2026-11-28T12:00:00Z",
});
const range = (start: number, end: number, partitionId: number) => ({ partitionId, start: checkpoint(start, partitionId), end: checkpoint(end, partitionId) });

it("lists a range once, with the number of its partitions, the newest first", () => {
  const state: BackupState = { checkpointStates: [], backupStates: [], ranges: [range(1, 4, 1), range(1, 4, 2), range(7, 9, 1)] };
  expect(rangesOf(state).map(({ first, last, partitions }) => [first.checkpointId, last.checkpointId, partitions])).toEqual([
    [7, 9, 1],
    [1, 4, 2],
  ]);
});

it("knows time and version from the parts", () => {
  const part = { partitionId: 1, state: "COMPLETED", createdAt: "2026-11-28T12:00:00Z", brokerVersion: "0.1.0" };
  const backup: Backup = { backupId: 7, state: "COMPLETED", failureReason: null, details: [part, { ...part, partitionId: 2 }] };
  expect([takenAt(backup), versionsOf(backup)]).toEqual(["2026-11-28T12:00:00Z", "0.1.0"]);
  expect(takenAt({ ...backup, details: [] })).toBeUndefined();
});
