// What is drawn over a model: how many stand where, what was taken, what is selected. Shape says it, colour comes on top.
import { compact } from "../../text/format";
import type { Item, Parts } from "./viewer";
import "./marks.css";

/** What is known of an element. */
export interface Mark {
  active: number;
  incidents: number;
  completed: number;
  canceled: number;
  /** Of those that are active: how many wait longer than usual. */
  late?: number;
}

type Drawable = Pick<Parts, "canvas" | "overlays" | "registry">;

const OVERLAY = "skep-counts";
const SVG = "http://www.w3.org/2000/svg";
const HATCH = "skep-hatch";

const icons = {
  active: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Z",
  late: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm-.8 2.500h1.600v3.200l2.300 1.400-.8 1.300-3.100-1.900Z",
  incident: "M8 1.500 15 14H1L8 1.500ZM7.250 6v4h1.500V6h-1.500Zm0 5v1.500h1.500V11h-1.500Z",
  completed: "M6.500 11.600 3 8.100l1.100-1.100 2.400 2.400L12 3.900 13.100 5l-6.600 6.600Z",
  canceled: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm0 1.500c1 0 2 .3 2.700.900L4.400 10.700A4.500 4.500 0 0 1 8 3.500Zm0 9c-1 0-2-.3-2.700-.900l6.300-6.300A4.500 4.500 0 0 1 8 12.500Z",
} as const;

function pill(kind: keyof typeof icons, count: number): HTMLElement {
  const made = document.createElement("span");
  made.className = `pill ${kind}`;
  const icon = document.createElementNS(SVG, "svg");
  icon.setAttribute("viewBox", "0 0 16 16");
  icon.setAttribute("width", "10");
  icon.setAttribute("height", "10");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", icons[kind]);
  path.setAttribute("fill", "currentColor");
  path.setAttribute("fill-rule", "evenodd");
  icon.append(path);
  made.append(icon, compact(count));
  return made;
}

function counts(mark: Mark, withEnded: boolean): HTMLElement | undefined {
  const row = document.createElement("div");
  row.className = "pills";
  const late = Math.min(mark.late ?? 0, mark.active);
  if (mark.active > late) row.append(pill("active", mark.active - late));
  if (late > 0) row.append(pill("late", late));
  if (mark.incidents > 0) row.append(pill("incident", mark.incidents));
  if (withEnded && mark.completed > 0) row.append(pill("completed", mark.completed));
  if (withEnded && mark.canceled > 0) row.append(pill("canceled", mark.canceled));
  return row.childElementCount > 0 ? row : undefined;
}

/** Whose names stand below them. */
const isEvent = (item: Item): boolean => item.type.endsWith("Event");

/** In the middle of an edge: the upper one of events; else the lower one, and of what may have its marks there, such as those of a
 * multi-instance, beneath them. */
const placeOf = (item: Item): Record<string, number> => ({
  left: item.width / 2,
  ...(isEvent(item) ? { top: 0 } : { bottom: item.type.endsWith("Gateway") ? 11 : 6 }),
});

const classes = (mark: Mark): string[] => {
  const found: string[] = [];
  if (mark.incidents > 0) found.push("sk-incident");
  else if (mark.active > 0 && (mark.late ?? 0) > 0) found.push("sk-late");
  else if (mark.active > 0) found.push("sk-active");
  else if (mark.completed > 0) found.push("sk-done");
  else if (mark.canceled > 0) found.push("sk-cancelled");
  return found;
};

/** Strokes for what cannot go on, also without colour. */
export function addHatch({ canvas }: Pick<Parts, "canvas">) {
  const svg = canvas.getContainer().querySelector("svg");
  const defs = document.createElementNS(SVG, "defs");
  const pattern = document.createElementNS(SVG, "pattern");
  for (const [name, value] of Object.entries({ id: HATCH, width: "8", height: "8", patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" })) {
    pattern.setAttribute(name, value);
  }
  const ground = document.createElementNS(SVG, "rect");
  ground.setAttribute("width", "8");
  ground.setAttribute("height", "8");
  ground.setAttribute("class", "hatch-ground");
  const stroke = document.createElementNS(SVG, "rect");
  stroke.setAttribute("width", "2");
  stroke.setAttribute("height", "8");
  stroke.setAttribute("class", "hatch-stroke");
  pattern.append(ground, stroke);
  defs.append(pattern);
  svg?.append(defs);
}

/** Draws what is known, and takes away what was drawn before; returns how. */
export function drawMarks({ canvas, overlays, registry }: Drawable, marks: ReadonlyMap<string, Mark>, withEnded: boolean): () => void {
  const marked: [string, string][] = [];
  for (const [id, mark] of marks) {
    const item = registry.get(id);
    if (!item || item.waypoints || item === canvas.getRootElement()) continue;
    for (const name of classes(mark)) {
      canvas.addMarker(id, name);
      marked.push([id, name]);
    }
    const html = counts(mark, withEnded);
    if (isEvent(item)) html?.classList.add("above");
    if (html) overlays.add(id, OVERLAY, { position: placeOf(item), html, show: { minZoom: 0.3 }, scale: { min: 0.85, max: 1.1 } });
  }
  return () => {
    overlays.remove({ type: OVERLAY });
    // On a drawing board it may have been taken away meanwhile.
    for (const [id, name] of marked) if (registry.get(id)) canvas.removeMarker(id, name);
  };
}

export function drawFlows({ canvas, registry }: Drawable, taken: ReadonlySet<string>): () => void {
  const marked = [...taken].filter((id) => registry.get(id));
  for (const id of marked) canvas.addMarker(id, "sk-taken");
  return () => {
    for (const id of marked) if (registry.get(id)) canvas.removeMarker(id, "sk-taken");
  };
}
