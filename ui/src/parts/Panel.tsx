// A part of a screen with a heading: a hairline above it, no box around it.
import type { ReactNode } from "react";
import "./panel.css";

interface PanelProps {
  title: string;
  /** Beside the title: a count for instance. */
  aside?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
}

export function Panel({ title, aside, actions, children, className = "" }: PanelProps) {
  return (
    <section className={`panel ${className}`} aria-label={title}>
      <header className="panel-head">
        <h2>{title}</h2>
        {aside === undefined ? null : <span className="panel-aside">{aside}</span>}
        <span className="grow" />
        {actions}
      </header>
      {children}
    </section>
  );
}
