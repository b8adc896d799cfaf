// Packages that come without types.
declare module "bpmn-js-properties-panel" {
  import type { ModuleDeclaration } from "bpmn-js/lib/BaseViewer";
  export const BpmnPropertiesPanelModule: ModuleDeclaration;
  export const BpmnPropertiesProviderModule: ModuleDeclaration;
  export const ZeebePropertiesProviderModule: ModuleDeclaration;
}
declare module "camunda-bpmn-js-behaviors/lib/camunda-cloud" {
  import type { ModuleDeclaration } from "bpmn-js/lib/BaseViewer";
  const module: ModuleDeclaration;
  export default module;
}
declare module "dmn-js/lib/Modeler" {
  interface View {
    id: string;
    name?: string;
    type: string;
    element: object;
  }
  interface Viewer {
    get: <T>(name: string) => T;
    on: (event: string, listener: () => void) => void;
  }
  export default class DmnModeler {
    constructor(options: { container: HTMLElement; drd?: { drdRenderer: Record<string, string> } });
    importXML: (xml: string) => Promise<{ warnings: string[] }>;
    saveXML: (options: { format: boolean }) => Promise<{ xml: string }>;
    getViews: () => View[];
    getActiveView: () => View | undefined;
    getActiveViewer: () => Viewer | undefined;
    open: (view: View) => Promise<unknown>;
    on: (event: string, listener: (event: { viewer: Viewer }) => void) => void;
    destroy: () => void;
  }
}
