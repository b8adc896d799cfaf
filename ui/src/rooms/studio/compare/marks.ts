// What a draft adds and changes, on its board: by colour, and by a sign.
import type { Parts } from "../../../parts/diagram/viewer";
import type { Change } from "./diff";

const OVERLAY = "skep-compared";
const signs = { added: "+", changed: "~" } as const;

/** Draws them; returns how they go away. */
export function drawChanges({ canvas, overlays, registry }: Pick<Parts, "canvas" | "overlays" | "registry">, changes: readonly Change[]): () => void {
  const marked: [string, string][] = [];
  for (const { id, kind } of changes) {
    const item = registry.get(id);
    if (kind === "removed" || !item || item === canvas.getRootElement()) continue;
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
