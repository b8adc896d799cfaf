// Below rows that are not all: how many there are.
import { text } from "../text";
import { atLeast, number } from "../text/format";
import "./entries.css";

export interface Page {
  totalItems: number;
  hasMoreTotalItems: boolean;
}

interface CutProps {
  shown: number;
  page: Page;
}

export function Cut({ shown, page: { totalItems, hasMoreTotalItems } }: CutProps) {
  if (totalItems <= shown && !hasMoreTotalItems) return null;
  return <p className="faint entries-more">{text.words.cut(number(shown), atLeast(totalItems, hasMoreTotalItems))}</p>;
}
