// Which jobs can be changed, and what of a job somebody wants to change.
import type { JobChange, JobRow } from "../../api/jobs";

export interface Written {
  retries: string;
  /** Empty: the time stays as it is. */
  seconds: string;
}

const MOST = 2_147_483_647;
const OVER: ReadonlySet<JobRow["state"]> = new Set(["COMPLETED", "CANCELED", "ERROR_THROWN"]);

export const isOpen = ({ state }: Pick<JobRow, "state">): boolean => !OVER.has(state);

/** A worker has it, and its time has not ended. */
export const isHeld = ({ state, deadline }: Pick<JobRow, "state" | "deadline">, now: number): boolean =>
  isOpen({ state }) && state !== "FAILED" && state !== "TIMED_OUT" && deadline !== null && Date.parse(deadline) > now;

const isCount = (written: string, most: number): boolean => /^\d{1,10}$/.test(written.trim()) && Number(written) >= 1 && Number(written) <= most;

/** The field that cannot be sent. */
export function wrongIn({ retries, seconds }: Written): keyof Written | undefined {
  if (!isCount(retries, MOST)) return "retries";
  return seconds.trim() === "" || isCount(seconds, MOST) ? undefined : "seconds";
}

/** What differs from the job; nothing: there is nothing to send. */
export function changeOf(job: Pick<JobRow, "retries">, { retries, seconds }: Written): JobChange | undefined {
  const change: JobChange = {
    ...(Number(retries) === job.retries ? {} : { retries: Number(retries) }),
    ...(seconds.trim() === "" ? {} : { timeout: Number(seconds) * 1_000 }),
  };
  return Object.keys(change).length === 0 ? undefined : change;
}
