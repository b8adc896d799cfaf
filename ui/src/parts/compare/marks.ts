// What is different between two models, on the drawing of one of them: by colour, and by a sign.
import type { Parts } from "../diagram/viewer";
import type { Change } from "./diff";
import "./changes.css";

const OVERLAY = "skep-compared";
const signs = { added: "+", changed: "~", removed: "−" } as const;

/** Draws them; returns how they go away. */
export function drawChanges({ canvas, overlays, registry }: Pick<Parts, "canvas" | "overlays" | "registry">, changes: readonly Change[]): () => void {
  const marked: [string, string][] = [];
  for (const { id, kind } of changes) {
    const item = registry.get(id);
    if (!item || item === canvas.getRootElement()) continue;
    const name = `sk-${kind}`;
    canvas.addMarker(id, name);
    marked.push([id, name]);
    if (item.waypoints) continue;
    const html = document.createElement("span");
    html.className = `compare-mark ${kind}`;
    html.textContent = signs[kind];
    overlays.add(id, OVERLAY, { position: { top: -10, right: 10 }, html });
  }
  return () => {
    overlays.remove({ type: OVERLAY });
    for (const [id, name] of marked) if (registry.get(id)) canvas.removeMarker(id, name);
  };
}
