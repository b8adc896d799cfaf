// The drawing board of decisions: their requirements and each of them, and what the server found in their cells.
import { useEffect, useRef, useState } from "react";
import { Note } from "../../parts/Note";
import { text } from "../../text";
import { type View, makeDmn } from "./dmn";
import { type BoardProps, useEditor } from "./editor";
import "../../parts/tabs.css";

const t = text.studio;
const MARK = "finding-cell";

export default function DmnBoard({ findings, shown, source, changed, ready }: BoardProps) {
  const place = useRef<HTMLDivElement>(null);
  const [views, setViews] = useState<readonly View[]>([]);
  const { editor, broken } = useEditor(() => (place.current ? makeDmn(place.current, setViews) : undefined), { source, changed, ready });
  useEffect(() => {
    const board = place.current;
    if (!board || findings.length === 0) return;
    // Tables are drawn anew as one writes in them.
    const mark = () => {
      for (const { element, message } of findings) {
        const cell = element === undefined ? null : board.querySelector(`[data-element-id="${CSS.escape(element)}"]`);
        if (!cell || cell.classList.contains(MARK)) continue;
        cell.classList.add(MARK);
        cell.setAttribute("title", message);
      }
    };
    mark();
    const watch = new MutationObserver(mark);
    watch.observe(board, { childList: true, subtree: true });
    return () => {
      watch.disconnect();
      for (const cell of board.querySelectorAll(`.${MARK}`)) {
        cell.classList.remove(MARK);
        cell.removeAttribute("title");
      }
    };
  }, [findings]);
  useEffect(() => {
    if (editor && shown !== undefined) editor.select(shown);
  }, [editor, shown]);
  if (broken !== undefined) return <Note tone="incident" title={t.unreadable}>{broken}</Note>;
  return (
    <div className="board one dmn">
      <nav className="tabs board-views" aria-label={t.views}>
        {views.map((each) => (
          <button key={each.id} type="button" className="tab" data-selected={each.active || undefined} aria-pressed={each.active} onClick={() => editor?.show(each.id)}>
            {each.whole ? t.requirements : each.name}
          </button>
        ))}
      </nav>
      <div ref={place} className="board-canvas" aria-label={t.board} role="application" />
    </div>
  );
}
