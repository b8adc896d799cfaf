// Models of processes, and where their elements and flows stand in the drawing.
export const shape = (id, x, y, width, height) => `<bpmndi:BPMNShape id="${id}-s" bpmnElement="${id}"><dc:Bounds x="${x}" y="${y}" width="${width}" height="${height}"/></bpmndi:BPMNShape>`;
export const edge = (id, from, to) => `<bpmndi:BPMNEdge id="${id}-e" bpmnElement="${id}"><di:waypoint x="${from}" y="120"/><di:waypoint x="${to}" y="120"/></bpmndi:BPMNEdge>`;

/** A model of one process: its elements and flows, and the shapes and edges of these. */
export const model = (id, name, elements, drawing) => `<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:bpmndi="http://www.omg.org/spec/BPMN/20100524/DI"
  xmlns:dc="http://www.omg.org/spec/DD/20100524/DC" xmlns:di="http://www.omg.org/spec/DD/20100524/DI"
  xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="${id}-definitions" targetNamespace="t">
  <bpmn:process id="${id}" name="${name}" isExecutable="true">
    ${elements.trim()}
  </bpmn:process>
  <bpmndi:BPMNDiagram id="diagram"><bpmndi:BPMNPlane id="plane" bpmnElement="${id}">
    ${drawing.trim()}
  </bpmndi:BPMNPlane></bpmndi:BPMNDiagram>
</bpmn:definitions>`;
