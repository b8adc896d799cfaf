// A process of 500 elements: branches behind one gateway, each with two tasks and an end.
import { edge, model, shape } from "./diagram.mjs";

export const BRANCHES = 166;

export function wideModel() {
  const [elements, shapes] = [[], []];
  for (let n = 0; n < BRANCHES; n++) {
    const y = 80 + n * 100;
    elements.push(`<bpmn:sequenceFlow id="f${n}" sourceRef="split" targetRef="a${n}"><bpmn:conditionExpression>=branch = ${n}</bpmn:conditionExpression></bpmn:sequenceFlow>`);
    for (const [id, from, next] of [["a", "f", "g"], ["b", "g", "h"]]) {
      elements.push(`<bpmn:serviceTask id="${id}${n}" name="Step ${id} ${n}"><bpmn:extensionElements><zeebe:taskDefinition type="step"/></bpmn:extensionElements><bpmn:incoming>${from}${n}</bpmn:incoming><bpmn:outgoing>${next}${n}</bpmn:outgoing></bpmn:serviceTask>`);
    }
    elements.push(`<bpmn:endEvent id="e${n}"><bpmn:incoming>h${n}</bpmn:incoming></bpmn:endEvent><bpmn:sequenceFlow id="g${n}" sourceRef="a${n}" targetRef="b${n}"/><bpmn:sequenceFlow id="h${n}" sourceRef="b${n}" targetRef="e${n}"/>`);
    shapes.push(shape(`a${n}`, 400, y, 100, 80), shape(`b${n}`, 560, y, 100, 80), shape(`e${n}`, 720, y + 22, 36, 36));
    const at = (id, x, to) => `<bpmndi:BPMNEdge id="d${id}" bpmnElement="${id}"><di:waypoint x="${x}" y="${y + 40}"/><di:waypoint x="${to}" y="${y + 40}"/></bpmndi:BPMNEdge>`;
    shapes.push(at(`f${n}`, 320, 400), at(`g${n}`, 500, 560), at(`h${n}`, 660, 720));
  }
  return model("wide", "Wide", `
    <bpmn:startEvent id="s"><bpmn:outgoing>x</bpmn:outgoing></bpmn:startEvent>
    <bpmn:sequenceFlow id="x" sourceRef="s" targetRef="split"/>
    <bpmn:exclusiveGateway id="split"><bpmn:incoming>x</bpmn:incoming></bpmn:exclusiveGateway>
    ${elements.join("\n    ")}`, `
    ${shape("s", 100, 102, 36, 36)}${shape("split", 270, 95, 50, 50)}${edge("x", 136, 270)}
    ${shapes.join("\n    ")}`);
}
