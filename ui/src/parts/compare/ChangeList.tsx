// What is added, changed and removed between two models, as a list that leads to the elements.
import { Minus, PencilLine, Plus } from "lucide-react";
import { text } from "../../text";
import { kindOf as typeOf } from "../steps";
import type { Change } from "./diff";
import "./changes.css";

const t = text.studio.compare;
const icons = { added: Plus, changed: PencilLine, removed: Minus } as const;

interface ChangeListProps {
  changes: readonly Change[];
  select: (element: string) => void;
  /** Where what was removed can be shown as well, in the drawing of before. */
  both?: boolean;
}

export function ChangeList({ changes, select, both = false }: ChangeListProps) {
  return (
    <ul>
      {changes.map((each) => {
        const Icon = icons[each.kind];
        return (
          <li key={`${each.kind} ${each.id}`} className={`compare-row ${each.kind}`}>
            <Icon size={14} aria-hidden="true" />
            <span className="compare-kind">{t.kinds[each.kind]}</span>
            {each.kind === "removed" && !both ? (
              <span className="clip" title={each.id}>
                {each.name}
              </span>
            ) : (
              <button type="button" className="words-button" title={each.id} onClick={() => select(each.id)}>
                <span className="clip">{each.name}</span>
              </button>
            )}
            <span className="faint clip">{typeOf(each.type)}</span>
            <span className="mono faint clip" title={each.parts.join(", ")}>
              {each.parts.join(", ")}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
