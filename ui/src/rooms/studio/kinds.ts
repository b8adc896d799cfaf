// What can be drawn: processes, decisions and forms; how a file says which it is, what it is called, and with what each begins.
export type Kind = "bpmn" | "dmn" | "form";

export function kindOf(source: string): Kind {
  if (source.trimStart().startsWith("{")) return "form";
  return /<(?:[\w-]+:)?definitions\b[^>]*\/spec\/DMN\//.test(source) ? "dmn" : "bpmn";
}

/** An attribute of the first element of a name. */
function attribute(source: string, element: string, name: string): string {
  const tag = new RegExp(`<(?:[\\w-]+:)?${element}\\b[^>]*>`).exec(source)?.[0] ?? "";
  return new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? "";
}

/** The id of the process; of the first one where there are several. */
export const processOf = (xml: string): string => attribute(xml, "process", "id");

function idOfForm(schema: string): string {
  try {
    const read: unknown = JSON.parse(schema);
    return typeof read === "object" && read !== null && "id" in read ? String(read.id) : "";
  } catch {
    return "";
  }
}

/** What its author calls it; its id where it has no name. */
export function nameOf(source: string): string {
  const kind = kindOf(source);
  if (kind === "form") return idOfForm(source);
  const element = kind === "dmn" ? "definitions" : "process";
  return (attribute(source, element, "name") || attribute(source, element, "id")).replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/** A process to begin with: it starts, and nothing happens yet. */
const process = (id: string): string => `<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:bpmndi="http://www.omg.org/spec/BPMN/20100524/DI" xmlns:dc="http://www.omg.org/spec/DD/20100524/DC" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" xmlns:modeler="http://camunda.org/schema/modeler/1.0" id="definitions-${id}" targetNamespace="http://bpmn.io/schema/bpmn" modeler:executionPlatform="Camunda Cloud" modeler:executionPlatformVersion="8.8.0">
  <bpmn:process id="process-${id}" name="New process" isExecutable="true">
    <bpmn:startEvent id="start" name="Started" />
  </bpmn:process>
  <bpmndi:BPMNDiagram id="diagram">
    <bpmndi:BPMNPlane id="plane" bpmnElement="process-${id}">
      <bpmndi:BPMNShape id="start-shape" bpmnElement="start">
        <dc:Bounds x="180" y="160" width="36" height="36" />
        <bpmndi:BPMNLabel><dc:Bounds x="178" y="203" width="40" height="14" /></bpmndi:BPMNLabel>
      </bpmndi:BPMNShape>
    </bpmndi:BPMNPlane>
  </bpmndi:BPMNDiagram>
</bpmn:definitions>
`;

/** A table without rules. */
const decision = (id: string): string => `<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" xmlns:dmndi="https://www.omg.org/spec/DMN/20191111/DMNDI/" xmlns:dc="http://www.omg.org/spec/DMN/20180521/DC/" xmlns:modeler="http://camunda.org/schema/modeler/1.0" id="decisions-${id}" name="New decision" namespace="http://camunda.org/schema/1.0/dmn" modeler:executionPlatform="Camunda Cloud" modeler:executionPlatformVersion="8.8.0">
  <decision id="decision-${id}" name="New decision">
    <decisionTable id="table-${id}">
      <input id="input-${id}" label="Input">
        <inputExpression id="input-expression-${id}" typeRef="string"><text>input</text></inputExpression>
      </input>
      <output id="output-${id}" label="Output" name="output" typeRef="string" />
    </decisionTable>
  </decision>
  <dmndi:DMNDI>
    <dmndi:DMNDiagram>
      <dmndi:DMNShape dmnElementRef="decision-${id}"><dc:Bounds height="80" width="180" x="160" y="100" /></dmndi:DMNShape>
    </dmndi:DMNDiagram>
  </dmndi:DMNDI>
</definitions>
`;

const form = (id: string): string =>
  JSON.stringify({ type: "default", id: `form-${id}`, schemaVersion: 18, executionPlatform: "Camunda Cloud", executionPlatformVersion: "8.8.0", components: [] }, null, 2);

const begins = { bpmn: process, dmn: decision, form } as const;
export const blank = (kind: Kind, id: string): string => begins[kind](id);
