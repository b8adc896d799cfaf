// The order of timers. The server does not sort elements that wait by it, so only a list that is here as a whole can be in order.
import type { WaitState } from "../../api/messages";
import type { Order } from "../../api/order";

type Timed = Pick<WaitState, "details">;

const dueOf = ({ details }: Timed): number => (details.waitStateType === "TIMER" ? (details.dueDate ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY);

/** The soonest or the latest first; what has no time comes last, and first. */
export const byDue = <Row extends Timed>(rows: readonly Row[], order: Order["order"]): Row[] => {
  const sign = order === "ASC" ? 1 : -1;
  return rows.toSorted((a, b) => sign * Math.sign(dueOf(a) - dueOf(b)) || 0);
};
