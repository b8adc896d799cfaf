// bpmn-js as this interface uses it: a viewer with our colours, and what is known of its parts.
import BpmnViewer from "bpmn-js/lib/Viewer";
import MoveCanvasModule from "diagram-js/lib/navigation/movecanvas";
import ZoomScrollModule from "diagram-js/lib/navigation/zoomscroll";
import "bpmn-js/dist/assets/diagram-js.css";
import "bpmn-js/dist/assets/bpmn-js.css";

/** A shape or a flow of the drawing. */
export interface Item {
  id: string;
  type: string;
  x: number;
  y: number;
  width: number;
  height: number;
  waypoints?: { x: number; y: number }[];
  parent?: Item;
  source?: Item;
  target?: Item;
  incoming?: Item[];
  outgoing?: Item[];
  children?: Item[];
  businessObject: { id: string; name?: string; $type: string };
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Canvas {
  addMarker: (id: string, marker: string) => void;
  removeMarker: (id: string, marker: string) => void;
  getRootElement: () => Item;
  getContainer: () => HTMLElement;
  getLayer: (name: string, index: number) => SVGElement;
  resized: () => void;
  viewbox: ((box: Box) => void) & (() => Box & { inner: Box; outer: { width: number; height: number }; scale: number });
  zoom: ((to: number | "fit-viewport", center?: "auto" | { x: number; y: number }) => void) & (() => number);
  scrollToElement: (element: Item, padding: number) => void;
  scroll: (delta: { dx: number; dy: number }) => void;
}

export interface Overlays {
  add: (id: string, type: string, overlay: { position: Record<string, number>; html: HTMLElement; show?: { minZoom?: number }; scale?: { min: number; max: number } }) => string;
  remove: (filter: { type: string }) => void;
}

export interface Registry {
  get: (id: string) => Item | undefined;
  getAll: () => Item[];
  getGraphics: (id: string) => SVGElement | undefined;
}

interface Events {
  on: (event: string, listener: (event: { element: Item }) => void) => void;
}

export interface Parts {
  canvas: Canvas;
  overlays: Overlays;
  registry: Registry;
  events: Events;
}

export type Viewer = BpmnViewer;

interface Drawn {
  diagrams?: { plane?: { planeElement?: { label?: { bounds?: Box } }[] } }[];
}

/** Models give labels the room that Arial needs; ours is a little wider, and would break within words. */
function widenLabels({ definitions }: { definitions?: Drawn }) {
  for (const diagram of definitions?.diagrams ?? []) {
    for (const { label } of diagram.plane?.planeElement ?? []) {
      if (!label?.bounds) continue;
      const more = 8 + label.bounds.width * 0.2;
      label.bounds.x -= more / 2;
      label.bounds.width += more;
    }
  }
}

/** Colours are names of tokens, so that they follow the look without drawing again. */
export function makeViewer(container: HTMLElement): Viewer {
  const viewer = new BpmnViewer({
    container,
    // Keys are ours: arrows walk the flows.
    additionalModules: [MoveCanvasModule, ZoomScrollModule],
    bpmnRenderer: { defaultFillColor: "var(--surface)", defaultStrokeColor: "var(--diagram)", defaultLabelColor: "var(--ink)" },
    textRenderer: {
      defaultStyle: { fontFamily: "Inter Variable, system-ui, sans-serif", fontSize: 12, lineHeight: 1.25 },
      externalStyle: { fontSize: 11, lineHeight: 1.25 },
    },
  });
  viewer.on("import.parse.complete", widenLabels);
  // The place around it is the one stop of the Tab key.
  container.querySelector("svg")?.setAttribute("tabindex", "-1");
  return viewer;
}

export const partsOf = (viewer: Viewer): Parts => ({
  canvas: viewer.get<Canvas>("canvas"),
  overlays: viewer.get<Overlays>("overlays"),
  registry: viewer.get<Registry>("elementRegistry"),
  events: viewer.get<Events>("eventBus"),
});

/** Whether it is a step of the process: not a label, not a flow, not the paper. */
export const isStep = (item: Item): boolean =>
  item.waypoints === undefined && item.type !== "label" && !/:(Process|Collaboration|Lane|Participant|TextAnnotation|Data\w*|Group)$/.test(item.type);

const MARGIN = 32;
const LARGEST = 1.15;

/** Pixels that the logo and the buttons take in the corners at the right. */
const CORNER = { width: 136, height: 48 };
/** So much smaller a drawing may become to lie between the corners. */
const SMALLER = 0.75;

interface Size {
  width: number;
  height: number;
}

/** How large a drawing is shown: all of it, with a margin, not larger than is pleasant, and not below the logo. */
export function scaleOf(inner: Size, outer: Size): number {
  const scale = Math.min(LARGEST, outer.width / (inner.width + 2 * MARGIN), outer.height / (inner.height + 2 * MARGIN));
  const beside = (outer.width - inner.width * scale) / 2;
  const between = (outer.height - 2 * CORNER.height) / inner.height;
  return beside < CORNER.width && between < scale ? Math.max(between, SMALLER * scale) : scale;
}

/** Shows the whole drawing. */
export function fit({ canvas }: Parts) {
  canvas.resized();
  const { inner, outer } = canvas.viewbox();
  if (outer.width === 0 || outer.height === 0 || inner.width === 0) return;
  const scale = scaleOf(inner, outer);
  const [width, height] = [outer.width / scale, outer.height / scale];
  canvas.viewbox({ x: inner.x + inner.width / 2 - width / 2, y: inner.y + inner.height / 2 - height / 2, width, height });
}

/** The same where its place has another size than the drawing was fitted to: a large drawing is dear to measure, and its counts to place. */
export function refit(parts: Parts) {
  const { outer } = parts.canvas.viewbox();
  const place = parts.canvas.getContainer();
  if (place.clientWidth !== outer.width || place.clientHeight !== outer.height) fit(parts);
}

/** How far something lies outside of what is seen, with the margin. */
const away = (at: number, size: number, from: number, room: number): number =>
  at < from ? at - from - MARGIN : at + size > from + room ? at + size - from - room + MARGIN : 0;

/** Moves as little as needed to have a step in sight. */
export function reveal({ canvas, registry }: Parts, id: string) {
  const item = registry.get(id);
  if (!item || item.waypoints) return;
  const box = canvas.viewbox();
  const [dx, dy] = [away(item.x, item.width, box.x, box.width), away(item.y, item.height, box.y, box.height)];
  if (dx !== 0 || dy !== 0) canvas.scroll({ dx: -dx * box.scale, dy: -dy * box.scale });
}
