// The drawing board of processes with its panel of properties, and what the server found at each element.
import { useEffect, useRef } from "react";
import { useGlide } from "../../parts/diagram/glide";
import { addHatch, drawFlows, drawMarks } from "../../parts/diagram/marks";
import { Note } from "../../parts/Note";
import { text } from "../../text";
import { drawChanges } from "../../parts/compare/marks";
import { type BoardProps, useEditor } from "./editor";
import { makeModeler } from "./modeler";

const t = text.studio;
const OVERLAY = "skep-finding";

export default function Board({ findings, shown, marks, taken, changes, ...drawn }: BoardProps) {
  const [place, panel] = [useRef<HTMLDivElement>(null), useRef<HTMLDivElement>(null)];
  const { editor, broken } = useEditor(() => (place.current && panel.current ? makeModeler(place.current, panel.current) : undefined), drawn);
  useEffect(() => (editor ? addHatch(editor) : undefined), [editor]);
  useEffect(() => {
    if (!editor) return;
    const marked = new Set(findings.flatMap(({ element }) => (element !== undefined && editor.registry.get(element) ? [element] : [])));
    for (const id of marked) {
      editor.canvas.addMarker(id, "sk-finding");
      const html = document.createElement("span");
      html.className = "finding-mark";
      html.textContent = "!";
      html.title = findings.filter((each) => each.element === id).map((each) => each.message).join("\n");
      editor.overlays.add(id, OVERLAY, { position: { top: -10, left: -10 }, html });
    }
    return () => {
      editor.overlays.remove({ type: OVERLAY });
      for (const id of marked) if (editor.registry.get(id)) editor.canvas.removeMarker(id, "sk-finding");
    };
  }, [editor, findings]);
  useEffect(() => (editor ? drawMarks(editor, marks, true) : undefined), [editor, marks]);
  useGlide(editor, marks, true);
  useEffect(() => (editor ? drawChanges(editor, changes) : undefined), [editor, changes]);
  useEffect(() => (editor ? drawFlows(editor, taken) : undefined), [editor, taken]);
  useEffect(() => {
    if (editor && shown !== undefined) editor.select(shown);
  }, [editor, shown]);
  if (broken !== undefined) return <Note tone="incident" title={t.unreadable}>{broken}</Note>;
  return (
    <div className={`board${taken.size > 0 ? " has-ways" : ""}`}>
      <div ref={place} className="board-canvas" aria-label={t.board} role="application" />
      <section ref={panel} className="board-panel" aria-label={t.properties} />
    </div>
  );
}
