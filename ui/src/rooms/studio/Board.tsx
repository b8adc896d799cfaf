// The drawing board with its panel of properties, and what the server found at each element.
import { useEffect, useRef, useState } from "react";
import { type Mark, addHatch, drawFlows, drawMarks } from "../../parts/diagram/marks";
import { Note } from "../../parts/Note";
import { text } from "../../text";
import type { Finding } from "./findings";
import { type Modeler, makeModeler } from "./modeler";

const t = text.studio;
const OVERLAY = "skep-finding";

interface BoardProps {
  xml: string;
  findings: readonly Finding[];
  /** Which finding is looked at. */
  shown: string | undefined;
  /** Of the instance that is watched. */
  marks: ReadonlyMap<string, Mark>;
  taken: ReadonlySet<string>;
  changed: (xml: string) => void;
  ready: (modeler: Modeler) => void;
}

export default function Board({ xml, findings, shown, marks, taken, changed, ready }: BoardProps) {
  const [place, panel] = [useRef<HTMLDivElement>(null), useRef<HTMLDivElement>(null)];
  const [modeler, setModeler] = useState<Modeler>();
  const [broken, setBroken] = useState<string>();
  const listener = useRef({ changed, ready });
  useEffect(() => {
    listener.current = { changed, ready };
  });
  useEffect(() => {
    if (!place.current || !panel.current) return;
    const made = makeModeler(place.current, panel.current);
    let gone = false;
    made.onChange(() => void made.save().then((saved) => void (gone || listener.current.changed(saved))));
    made.open(xml).then(
      () => {
        if (gone) return;
        addHatch(made);
        setModeler(made);
        listener.current.ready(made);
      },
      (error: unknown) => void (gone || setBroken(error instanceof Error ? error.message : String(error))),
    );
    return () => {
      gone = true;
      made.destroy();
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- what is drawn is the draft as it was opened; from then on the board has it
  }, []);
  useEffect(() => {
    if (!modeler) return;
    const marked = new Set(findings.flatMap(({ element }) => (element !== undefined && modeler.registry.get(element) ? [element] : [])));
    for (const id of marked) {
      modeler.canvas.addMarker(id, "sk-finding");
      const html = document.createElement("span");
      html.className = "finding-mark";
      html.textContent = "!";
      html.title = findings.filter((each) => each.element === id).map((each) => each.message).join("\n");
      modeler.overlays.add(id, OVERLAY, { position: { top: -10, left: -10 }, html });
    }
    return () => {
      modeler.overlays.remove({ type: OVERLAY });
      for (const id of marked) if (modeler.registry.get(id)) modeler.canvas.removeMarker(id, "sk-finding");
    };
  }, [modeler, findings]);
  useEffect(() => (modeler ? drawMarks(modeler, marks, true) : undefined), [modeler, marks]);
  useEffect(() => (modeler ? drawFlows(modeler, taken) : undefined), [modeler, taken]);
  useEffect(() => {
    if (modeler && shown !== undefined) modeler.select(shown);
  }, [modeler, shown]);
  if (broken !== undefined) return <Note tone="incident" title={t.unreadable}>{broken}</Note>;
  return (
    <div className={`board${taken.size > 0 ? " has-ways" : ""}`}>
      <div ref={place} className="board-canvas" aria-label={t.board} role="application" />
      <section ref={panel} className="board-panel" aria-label={t.properties} />
    </div>
  );
}
