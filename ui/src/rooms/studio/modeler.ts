// bpmn-js as a modeller for Zeebe's dialect of BPMN, with its panel of properties.
import BpmnModeler from "bpmn-js/lib/Modeler";
import { BpmnPropertiesPanelModule, BpmnPropertiesProviderModule, ZeebePropertiesProviderModule } from "bpmn-js-properties-panel";
import ZeebeBehaviorsModule from "camunda-bpmn-js-behaviors/lib/camunda-cloud";
import zeebe from "zeebe-bpmn-moddle/resources/zeebe.json";
import { type Editor, trustStyles } from "./editor";
import type { Canvas, Overlays, Registry } from "../../parts/diagram/viewer";
import "bpmn-js/dist/assets/diagram-js.css";
import "bpmn-js/dist/assets/bpmn-js.css";
import "bpmn-js/dist/assets/bpmn-font/css/bpmn-embedded.css";
import "@bpmn-io/properties-panel/dist/assets/properties-panel.css";
import "./ink.css";

interface Selection {
  select: (element: unknown) => void;
}

interface History {
  undo: () => void;
  redo: () => void;
}

export interface Modeler extends Editor {
  canvas: Canvas;
  overlays: Overlays;
  registry: Registry;
}

export function makeModeler(container: HTMLElement, panel: HTMLElement): Modeler {
  trustStyles();
  const modeler = new BpmnModeler({
    container,
    propertiesPanel: { parent: panel },
    additionalModules: [BpmnPropertiesPanelModule, BpmnPropertiesProviderModule, ZeebePropertiesProviderModule, ZeebeBehaviorsModule],
    moddleExtensions: { zeebe },
    // Names of tokens: they follow the look, and are not written into models.
    bpmnRenderer: { defaultFillColor: "var(--surface)", defaultStrokeColor: "var(--diagram)", defaultLabelColor: "var(--ink)" },
    textRenderer: {
      defaultStyle: { fontFamily: "Inter Variable, system-ui, sans-serif", fontSize: 12, lineHeight: 1.25 },
      // Models give names outside of shapes the room that Arial of 11 needs; ours is wider.
      externalStyle: { fontSize: 10, lineHeight: 1.25 },
    },
  });
  const canvas = modeler.get<Canvas>("canvas");
  const registry = modeler.get<Registry>("elementRegistry");
  return {
    open: async (xml) => {
      await modeler.importXML(xml);
      canvas.zoom("fit-viewport", "auto");
      if (canvas.zoom() > 1) canvas.zoom(1, "auto");
    },
    save: async () => (await modeler.saveXML({ format: true })).xml ?? "",
    onChange: (listener) => modeler.on("commandStack.changed", listener),
    select: (id) => {
      const element = registry.get(id);
      if (!element) return;
      canvas.scrollToElement(element, 64);
      modeler.get<Selection>("selection").select(element);
    },
    undo: () => modeler.get<History>("commandStack").undo(),
    redo: () => modeler.get<History>("commandStack").redo(),
    canvas,
    overlays: modeler.get<Overlays>("overlays"),
    registry,
    destroy: () => modeler.destroy(),
  };
}
