// How often each step was reached: honey in five steps, with the figure.
import { compact } from "../../text/format";
import type { Parts } from "./viewer";

const OVERLAY = "skep-heat";
const STEPS = 5;

/** 1 for the least to 5 for the most; by orders of magnitude, as the counts of a process are either alike or far apart. */
export const warmth = (count: number, most: number): number => (most <= 1 ? STEPS : Math.max(1, Math.ceil((STEPS * Math.log1p(count)) / Math.log1p(most))));

export function drawHeat({ canvas, overlays, registry }: Parts, heat: ReadonlyMap<string, number>): () => void {
  const marked: [string, string][] = [];
  const shown = [...heat].filter(([id, count]) => {
    const item = registry.get(id);
    return count > 0 && item && !item.waypoints && item !== canvas.getRootElement();
  });
  const most = Math.max(...shown.map(([, count]) => count), 1);
  for (const [id, count] of shown) {
    const item = registry.get(id);
    const name = `sk-heat-${warmth(count, most)}`;
    canvas.addMarker(id, name);
    marked.push([id, name]);
    const html = document.createElement("div");
    html.className = "pills";
    const pill = document.createElement("span");
    pill.className = "pill heat";
    pill.textContent = compact(count);
    html.append(pill);
    overlays.add(id, OVERLAY, { position: { ...(item?.type.endsWith("Event") ? { top: -12 } : { bottom: 11 }), left: (item?.width ?? 0) / 2 }, html, show: { minZoom: 0.3 }, scale: { min: 0.85, max: 1.1 } });
  }
  return () => {
    overlays.remove({ type: OVERLAY });
    for (const [id, name] of marked) canvas.removeMarker(id, name);
  };
}
