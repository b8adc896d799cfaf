// The edge between two parts of a screen: by mouse, by finger, by keys. Where it was last is kept in the browser.
import { type CSSProperties, type KeyboardEvent, type PointerEvent, type ReactNode, useState } from "react";
import "./splitter.css";

interface SplitterProps {
  /** Under which name the place is kept. */
  name: string;
  label: string;
  initial: number;
  min?: number;
  max?: number;
  above: ReactNode;
  children: ReactNode;
}

const STEP = 24;

export function Splitter({ name, label, initial, min = 120, max = 900, above, children }: SplitterProps) {
  const kept = `skep-split-${name}`;
  const [size, setSize] = useState(() => Number(localStorage.getItem(kept)) || initial);
  const set = (wanted: number) => {
    const next = Math.round(Math.min(max, Math.max(min, wanted)));
    localStorage.setItem(kept, String(next));
    setSize(next);
  };
  const drag = (down: PointerEvent<HTMLDivElement>) => {
    const edge = down.currentTarget;
    const [from, was] = [down.clientY, size];
    edge.setPointerCapture(down.pointerId);
    const move = (event: globalThis.PointerEvent) => set(was + event.clientY - from);
    const up = () => edge.removeEventListener("pointermove", move);
    edge.addEventListener("pointermove", move);
    edge.addEventListener("pointerup", up, { once: true });
    edge.addEventListener("pointercancel", up, { once: true });
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "ArrowUp") set(size - STEP);
    else if (event.key === "ArrowDown") set(size + STEP);
    else if (event.key === "Home") set(min);
    else if (event.key === "End") set(max);
    else return;
    event.preventDefault();
  };
  return (
    <div className="split" style={{ "--split": `${size}px` } as CSSProperties}>
      <div className="split-above">{above}</div>
      <div
        className="split-edge"
        role="separator"
        aria-orientation="horizontal"
        aria-label={label}
        aria-valuenow={size}
        aria-valuemin={min}
        aria-valuemax={max}
        tabIndex={0}
        onPointerDown={drag}
        onKeyDown={press}
        onDoubleClick={() => set(initial)}
      />
      <div className="split-below">{children}</div>
    </div>
  );
}
