// The steps of a process as a list, with what the drawing says about each: for screen readers, keyboards and large models.
import type { ReactNode } from "react";
import { text } from "../../text";
import { compact } from "../../text/format";
import type { Mark } from "./marks";
import { type Item, type Parts, isStep } from "./viewer";

interface OutlineProps {
  parts: Parts;
  marks: ReadonlyMap<string, Mark>;
  selected: string | undefined;
  onSelect: (element: string | undefined) => void;
}

export function Outline({ parts, marks, selected, onSelect }: OutlineProps) {
  const level = (items: readonly Item[]): ReactNode => {
    const steps = items.filter((item) => isStep(item)).toSorted((a, b) => a.x - b.x || a.y - b.y);
    if (steps.length === 0) return null;
    return (
      <ul>
        {steps.map((item) => (
          <li key={item.id}>
            <button type="button" className="outline-step" aria-current={item.id === selected} onClick={() => onSelect(item.id === selected ? undefined : item.id)}>
              <span className="clip grow">{item.businessObject.name ?? item.id}</span>
              <Counts mark={marks.get(item.id)} />
            </button>
            {level(item.children ?? [])}
          </li>
        ))}
      </ul>
    );
  };
  const inside = (root: Item): Item[] =>
    (root.children ?? []).flatMap((item) => (/:(Participant|Lane)$/.test(item.type) ? inside(item) : [item]));
  return (
    <nav className="outline" aria-label={text.processes.outline}>
      {level(inside(parts.canvas.getRootElement()))}
    </nav>
  );
}

function Counts({ mark }: { mark: Mark | undefined }) {
  if (!mark) return null;
  const late = mark.active > 0 && (mark.late ?? 0) > 0;
  return (
    <>
      {mark.active > 0 ? <span className={`outline-${late ? "late" : "active"} figure`}>{compact(mark.active)}</span> : null}
      {late ? <span className="hidden">{text.processes.late}</span> : null}
      {mark.incidents > 0 ? <span className="outline-incident figure">{`! ${compact(mark.incidents)}`}</span> : null}
    </>
  );
}
