// The end of a list at the side that does not hold all: how many there are.
import { text } from "../text";
import { number } from "../text/format";

/** Entries that are drawn. */
export const SIDE_MOST = 500;

export function SideCut({ total }: { total: number }) {
  return total > SIDE_MOST ? <li className="side-none faint">{text.words.cut(number(SIDE_MOST), number(total))}</li> : null;
}
