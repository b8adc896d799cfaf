// What can be restored: of all partitions together, the ranges that reach over all of them.
import type { Backup, BackupState } from "../../../api/management";

type Checkpoint = BackupState["ranges"][number]["start"];

export interface Range {
  first: Checkpoint;
  last: Checkpoint;
  partitions: number;
}

/** The server lists a range once for each partition. */
export function rangesOf({ ranges }: BackupState): Range[] {
  const found = new Map<string, Range>();
  for (const { start, end } of ranges) {
    const key = `${start.checkpointId} ${end.checkpointId}`;
    const known = found.get(key);
    if (known === undefined) found.set(key, { first: start, last: end, partitions: 1 });
    else known.partitions += 1;
  }
  return [...found.values()].toSorted((a, b) => b.last.checkpointId - a.last.checkpointId);
}

/** When a backup was taken, or begun. */
export const takenAt = ({ details }: Backup): string | undefined => details.find(({ createdAt }) => createdAt)?.createdAt ?? undefined;

/** The versions that have written it; usually one. */
export const versionsOf = ({ details }: Backup): string => [...new Set(details.map(({ brokerVersion }) => brokerVersion ?? "?"))].join(", ");
