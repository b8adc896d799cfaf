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
