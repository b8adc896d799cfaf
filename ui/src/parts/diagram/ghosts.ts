// Changes that are planned and not done: violet, dashed, with a sign; a move is an arc from where it leaves to where it arrives.
import type { Item, Parts } from "./viewer";

export interface Ghosts {
  /** Tokens that arrive and leave, by element. */
  steps: ReadonlyMap<string, { arrive: number; leave: number }>;
  moves: readonly { from: string; to: string }[];
}

const OVERLAY = "skep-ghosts";
const SVG = "http://www.w3.org/2000/svg";

function pill(sign: string, count: number): HTMLElement {
  const made = document.createElement("span");
  made.className = "pill ghost";
  made.textContent = `${sign}${count}`;
  return made;
}

const middle = (item: Item) => ({ x: item.x + item.width / 2, y: item.y });

/** Over the steps between, from the upper edge of one to that of the other. */
function arc(from: Item, to: Item): SVGElement {
  const [a, b] = [middle(from), middle(to)];
  const rise = Math.min(120, 28 + Math.abs(b.x - a.x) / 5);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", `M${a.x} ${a.y - 2} C${a.x} ${a.y - rise} ${b.x} ${b.y - rise} ${b.x} ${b.y - 8}`);
  path.setAttribute("class", "ghost-move");
  const head = document.createElementNS(SVG, "path");
  head.setAttribute("d", `M${b.x - 5} ${b.y - 10} L${b.x} ${b.y - 1} L${b.x + 5} ${b.y - 10}`);
  head.setAttribute("class", "ghost-head");
  const group = document.createElementNS(SVG, "g");
  group.append(path, head);
  return group;
}

/** Draws the plan; returns how it goes away. */
export function drawGhosts({ canvas, overlays, registry }: Parts, { steps, moves }: Ghosts): () => void {
  const marked: string[] = [];
  for (const [id, { arrive, leave }] of steps) {
    const item = registry.get(id);
    if (!item || item.waypoints || item === canvas.getRootElement()) continue;
    canvas.addMarker(id, arrive > 0 ? "sk-ghost" : "sk-leaving");
    marked.push(id);
    const html = document.createElement("div");
    html.className = "pills";
    if (leave > 0) html.append(pill("−", leave));
    if (arrive > 0) html.append(pill("+", arrive));
    overlays.add(id, OVERLAY, { position: { top: -12, left: item.width }, html, show: { minZoom: 0.3 }, scale: { min: 0.85, max: 1.1 } });
  }
  const layer = canvas.getLayer("skep-moves", 5);
  for (const { from, to } of moves) {
    const [source, target] = [registry.get(from), registry.get(to)];
    if (source && target) layer.append(arc(source, target));
  }
  return () => {
    overlays.remove({ type: OVERLAY });
    layer.replaceChildren();
    for (const id of marked) {
      canvas.removeMarker(id, "sk-ghost");
      canvas.removeMarker(id, "sk-leaving");
    }
  };
}
