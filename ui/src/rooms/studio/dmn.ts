// dmn-js as an editor of decisions: their requirements, and each decision as a table or an expression.
import DmnModeler from "dmn-js/lib/Modeler";
import { type Editor, trustStyles } from "./editor";
import "dmn-js/dist/assets/diagram-js.css";
import "dmn-js/dist/assets/dmn-js-shared.css";
import "dmn-js/dist/assets/dmn-js-drd.css";
import "dmn-js/dist/assets/dmn-js-decision-table.css";
import "dmn-js/dist/assets/dmn-js-decision-table-controls.css";
import "dmn-js/dist/assets/dmn-js-literal-expression.css";
import "dmn-js/dist/assets/dmn-js-boxed-expression.css";
import "dmn-js/dist/assets/dmn-js-boxed-expression-controls.css";
import "dmn-js/dist/assets/dmn-font/css/dmn-embedded.css";
import "./ink.css";

interface History {
  undo: () => void;
  redo: () => void;
}

interface Canvas {
  zoom: ((to: "fit-viewport" | number, center: "auto") => void) & (() => number);
}

export interface View {
  id: string;
  name: string;
  /** All of the requirements, instead of one decision. */
  whole: boolean;
  active: boolean;
}

export interface DmnEditor extends Editor {
  show: (id: string) => void;
}

/** Whether something below it has the id; references to other trees are not followed. */
function holds(element: unknown, id: string): boolean {
  if (typeof element !== "object" || element === null) return false;
  if ("id" in element && element.id === id) return true;
  return Object.entries(element).some(([name, value]) => !name.startsWith("$") && (Array.isArray(value) ? value.some((each) => holds(each, id)) : holds(value, id)));
}

export function makeDmn(container: HTMLElement, tell: (views: View[]) => void): DmnEditor {
  trustStyles();
  const modeler = new DmnModeler({
    container,
    drd: { drdRenderer: { defaultFillColor: "var(--surface)", defaultStrokeColor: "var(--diagram)", defaultLabelColor: "var(--ink)" } },
  });
  const listeners: (() => void)[] = [];
  modeler.on("viewer.created", ({ viewer }) => viewer.on("commandStack.changed", () => listeners.forEach((listener) => listener())));
  modeler.on("views.changed", () => tell(modeler.getViews().map(({ id, name, type }) => ({ id, name: name ?? id, whole: type === "drd", active: modeler.getActiveView()?.id === id }))));
  const history = () => modeler.getActiveViewer()?.get<History>("commandStack");
  const fit = () => {
    if (modeler.getActiveView()?.type !== "drd") return;
    const canvas = modeler.getActiveViewer()?.get<Canvas>("canvas");
    canvas?.zoom("fit-viewport", "auto");
    if (canvas && canvas.zoom() > 1) canvas.zoom(1, "auto");
  };
  const show = async (id: string) => {
    const view = modeler.getViews().find((each) => each.id === id);
    if (!view) return;
    await modeler.open(view);
    fit();
  };
  return {
    open: async (xml) => {
      await modeler.importXML(xml);
      // One decision alone is what one came for; several are seen together.
      const decisions = modeler.getViews().filter((each) => each.type !== "drd");
      const [only] = decisions;
      if (only && decisions.length === 1) await modeler.open(only);
      fit();
    },
    save: async () => (await modeler.saveXML({ format: true })).xml,
    onChange: (listener) => void listeners.push(listener),
    select: (id) => {
      const cell = () => container.querySelector<HTMLElement>(`[data-element-id="${CSS.escape(id)}"]`);
      const reveal = () => cell()?.scrollIntoView({ block: "center", inline: "center" });
      if (cell()) {
        reveal();
        return;
      }
      const view = modeler.getViews().find((each) => each.type !== "drd" && holds(each.element, id));
      if (view) void show(view.id).then(reveal);
    },
    undo: () => history()?.undo(),
    redo: () => history()?.redo(),
    destroy: () => modeler.destroy(),
    show: (id) => void show(id),
  };
}
