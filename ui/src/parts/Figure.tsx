// A number that stands for itself: its name, how much it is, and what that means.
import type { ReactNode } from "react";
import "./figures.css";

interface FigureProps {
  name: string;
  value: string | undefined;
  hint: string;
  tone?: "incident";
  children?: ReactNode;
}

export function Figure({ name, value, hint, tone, children }: FigureProps) {
  return (
    <div className={`figure-box${tone === undefined ? "" : ` ${tone}`}`}>
      <p className="figure-name">{children ?? name}</p>
      <p className="figure-value figure">{value ?? "–"}</p>
      <p className="figure-hint">{value === undefined ? " " : hint}</p>
    </div>
  );
}
