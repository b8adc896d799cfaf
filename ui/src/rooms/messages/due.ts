// The order of timers. The server sorts elements that wait by their keys alone, so only a list that is here as a whole can be in order.
import type { WaitState } from "../../api/messages";

type Timed = Pick<WaitState, "details">;

const dueOf = ({ details }: Timed): number => (details.waitStateType === "TIMER" ? (details.dueDate ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY);

/** The soonest first. */
export const byDue = <Row extends Timed>(rows: readonly Row[]): Row[] => rows.toSorted((a, b) => Math.sign(dueOf(a) - dueOf(b)) || 0);
