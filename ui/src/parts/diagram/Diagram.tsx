// The drawing of a process with what happens on it. One tab stop; arrows walk the flows, and the outline says the same in words.
import { ListTree, Maximize, Minus, Plus } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { text } from "../../text";
import { number } from "../../text/format";
import type { Change } from "../compare/diff";
import { drawChanges } from "../compare/marks";
import { Note } from "../Note";
import { Skeleton } from "../Shown";
import { type Ghosts, drawGhosts } from "./ghosts";
import { useGlide } from "./glide";
import { drawHeat } from "./heat";
import { type Mark, addHatch, drawFlows, drawMarks } from "./marks";
import { Outline } from "./Outline";
import { type Parts, fit, isStep, makeViewer, partsOf, refit, reveal } from "./viewer";
import { step } from "./walk";
import "./diagram.css";

interface DiagramProps {
  xml: string;
  label: string;
  marks: ReadonlyMap<string, Mark>;
  taken?: ReadonlySet<string>;
  /** How often each step was reached: shown instead of what stands where. */
  heat?: ReadonlyMap<string, number>;
  /** Changes that are planned. */
  ghosts?: Ghosts;
  /** What is different from another model. */
  changes?: readonly Change[];
  /** Tokens that go on between two pictures are seen going. */
  glides?: boolean;
  /** Counts of what has ended are shown as well. */
  withEnded?: boolean;
  selected?: string;
  onSelect: (element: string | undefined) => void;
}

const NONE: ReadonlySet<string> = new Set();
const t = text.processes;

export default function Diagram({ xml, label, marks, taken = NONE, heat, ghosts, changes, glides = false, withEnded = false, selected, onSelect }: DiagramProps) {
  const place = useRef<HTMLDivElement>(null);
  const [drawn, setDrawn] = useState<{ xml: string; parts: Parts }>();
  const parts = drawn?.xml === xml ? drawn.parts : undefined;
  const [broken, setBroken] = useState<string>();
  const [outline, setOutline] = useState(false);
  const select = useRef(onSelect);
  useEffect(() => {
    select.current = onSelect;
  });

  useEffect(() => {
    if (!parts || !place.current) return;
    const observer = new ResizeObserver(() => refit(parts));
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [parts]);
  useEffect(() => (!parts ? undefined : heat ? drawHeat(parts, heat) : drawMarks(parts, marks, withEnded)), [parts, marks, withEnded, heat]);
  useEffect(() => (parts ? drawFlows(parts, taken) : undefined), [parts, taken]);
  useGlide(parts, marks, glides);
  useEffect(() => (parts && ghosts ? drawGhosts(parts, ghosts) : undefined), [parts, ghosts]);
  useEffect(() => (parts && changes ? drawChanges(parts, changes) : undefined), [parts, changes]);
  useEffect(() => {
    if (!parts || selected === undefined || !parts.registry.get(selected)) return;
    parts.canvas.addMarker(selected, "sk-selected");
    reveal(parts, selected);
    return () => parts.canvas.removeMarker(selected, "sk-selected");
  }, [parts, selected]);
  // The last one, so that what was drawn over it is taken away before the drawing is.
  useEffect(() => {
    if (!place.current) return;
    const viewer = makeViewer(place.current);
    let gone = false;
    setBroken(undefined);
    viewer.importXML(xml).then(
      () => {
        if (gone) return;
        const made = partsOf(viewer);
        addHatch(made);
        made.events.on("element.click", ({ element }) => select.current(isStep(element) ? element.id : undefined));
        fit(made);
        setDrawn({ xml, parts: made });
      },
      (error: unknown) => {
        if (!gone) setBroken(error instanceof Error ? error.message : String(error));
      },
    );
    return () => {
      gone = true;
      setDrawn(undefined);
      viewer.destroy();
    };
  }, [xml]);

  const pressed = (event: KeyboardEvent) => {
    if (!parts) return;
    if (event.key.startsWith("Arrow")) onSelect(step(parts.registry, selected, event.key));
    else if (event.key === "Escape" && selected !== undefined) onSelect(undefined);
    else if (event.key === "+" || event.key === "-") zoom(parts, event.key === "+" ? 1.25 : 0.8);
    else if (event.key === "0") fit(parts);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  if (broken !== undefined) {
    const missing = /no diagram|no process|not drawn/i.test(broken);
    return (
      <Note title={missing ? t.noDiagram : t.unreadable}>{missing ? t.noDiagramText : broken}</Note>
    );
  }
  const item = selected === undefined ? undefined : parts?.registry.get(selected);
  return (
    <div className={`diagram${taken.size > 0 ? " has-ways" : ""}`}>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex, jsx-a11y/no-noninteractive-element-interactions -- a drawing that is walked by keys is an application */}
      <div ref={place} className="diagram-place" role="application" tabIndex={0} aria-label={label} aria-roledescription={t.diagram} onKeyDown={pressed} />
      {parts === undefined ? <Skeleton rows={3} /> : null}
      <p className="hidden" aria-live="polite">
        {item && selected ? said(item.businessObject.name ?? selected, marks.get(selected)) : ""}
      </p>
      {parts ? (
        <>
          <div className="diagram-tools">
            <button type="button" className="button icon small" aria-label={t.outline} title={t.outline} aria-expanded={outline} onClick={() => setOutline(!outline)}>
              <ListTree size={14} aria-hidden="true" />
            </button>
            <button type="button" className="button icon small" aria-label={t.larger} title={t.larger} onClick={() => zoom(parts, 1.25)}>
              <Plus size={14} aria-hidden="true" />
            </button>
            <button type="button" className="button icon small" aria-label={t.smaller} title={t.smaller} onClick={() => zoom(parts, 0.8)}>
              <Minus size={14} aria-hidden="true" />
            </button>
            <button type="button" className="button icon small" aria-label={t.whole} title={t.whole} onClick={() => fit(parts)}>
              <Maximize size={14} aria-hidden="true" />
            </button>
          </div>
          {outline ? <Outline parts={parts} marks={marks} selected={selected} onSelect={onSelect} /> : null}
        </>
      ) : null}
    </div>
  );
}

const zoom = ({ canvas }: Parts, by: number) => canvas.zoom(Math.min(4, Math.max(0.1, canvas.zoom() * by)), "auto");

/** An element in words, for those who do not see it. */
function said(name: string, mark: Mark | undefined): string {
  if (!mark) return name;
  const parts = [
    [mark.active, text.words.state("ACTIVE")],
    [Math.min(mark.late ?? 0, mark.active), t.late],
    [mark.incidents, text.words.state("INCIDENT")],
    [mark.completed, text.words.state("COMPLETED")],
    [mark.canceled, text.words.state("TERMINATED")],
  ] as const;
  return [name, ...parts.filter(([count]) => count > 0).map(([count, word]) => `${number(count)} ${word}`)].join(", ");
}
