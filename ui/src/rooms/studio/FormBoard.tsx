// The drawing board of forms: what there is to fill in, with the properties of each field.
import { useRef } from "react";
import { Note } from "../../parts/Note";
import { text } from "../../text";
import { type BoardProps, useEditor } from "./editor";
import { makeForm } from "./form";

const t = text.studio;

export default function FormBoard({ source, changed, ready }: BoardProps) {
  const place = useRef<HTMLDivElement>(null);
  const { broken } = useEditor(() => (place.current ? makeForm(place.current) : undefined), { source, changed, ready });
  if (broken !== undefined) return <Note tone="incident" title={t.unreadable}>{broken}</Note>;
  return (
    <div className="board one form">
      <div ref={place} className="board-canvas" aria-label={t.board} role="application" />
    </div>
  );
}
