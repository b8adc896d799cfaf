// Drafts are kept in this browser, under names that nobody else uses; a server keeps only what is deployed.

export interface Draft {
  id: string;
  name: string;
  xml: string;
  /** Milliseconds. */
  saved: number;
}

const PREFIX = "skep-draft-";

function read(key: string): Draft | undefined {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? "null");
    if (typeof kept === "object" && kept !== null && "xml" in kept && typeof kept.xml === "string") {
      const { name, saved } = kept as Partial<Draft>;
      return { id: key.slice(PREFIX.length), name: String(name ?? ""), xml: kept.xml, saved: Number(saved ?? 0) };
    }
  } catch {
    // Somebody else wrote there.
  }
  return undefined;
}

/** The newest first. */
export const drafts = (): Draft[] =>
  Object.keys(localStorage)
    .filter((key) => key.startsWith(PREFIX))
    .flatMap((key) => read(key) ?? [])
    .toSorted((a, b) => b.saved - a.saved);

export const draft = (id: string): Draft | undefined => read(PREFIX + id);

/** False where the browser has no room or keeps nothing. */
export function keep(id: string, xml: string): boolean {
  try {
    localStorage.setItem(PREFIX + id, JSON.stringify({ name: nameOf(xml), xml, saved: Date.now() }));
    return true;
  } catch {
    return false;
  }
}

export const drop = (id: string): void => localStorage.removeItem(PREFIX + id);

export const newId = (): string => crypto.getRandomValues(new Uint32Array(2)).join("").slice(0, 12);

/** An attribute of the first process of a file. */
function attribute(xml: string, name: string): string {
  const process = /<(?:\w+:)?process\b[^>]*>/.exec(xml)?.[0] ?? "";
  return new RegExp(`\\s${name}="([^"]*)"`).exec(process)?.[1] ?? "";
}

/** The id of the process; of the first one where there are several. */
export const processOf = (xml: string): string => attribute(xml, "id");

/** What its author calls the process; its id where it has no name. */
export function nameOf(xml: string): string {
  return (attribute(xml, "name") || processOf(xml)).replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/** A process to begin with: it starts, and nothing happens yet. */
export const blank = (id: string): string => `<?xml version="1.0" encoding="UTF-8"?>
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
