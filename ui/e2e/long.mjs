// A process whose instances have a long history: a task that is done for each of a count, and then a job that nobody takes.
import { edge, shape } from "./diagram.mjs";

export const longModel = `<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:bpmndi="http://www.omg.org/spec/BPMN/20100524/DI"
  xmlns:dc="http://www.omg.org/spec/DD/20100524/DC" xmlns:di="http://www.omg.org/spec/DD/20100524/DI" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="long-definitions" targetNamespace="t">
  <bpmn:process id="long" name="Long" isExecutable="true">
    <bpmn:startEvent id="s"><bpmn:outgoing>x</bpmn:outgoing></bpmn:startEvent>
    <bpmn:task id="step" name="Step"><bpmn:incoming>x</bpmn:incoming><bpmn:outgoing>y</bpmn:outgoing>
      <bpmn:multiInstanceLoopCharacteristics isSequential="true"><bpmn:extensionElements><zeebe:loopCharacteristics inputCollection="=for i in 1..count return i"/></bpmn:extensionElements></bpmn:multiInstanceLoopCharacteristics>
    </bpmn:task>
    <bpmn:serviceTask id="last" name="Last"><bpmn:extensionElements><zeebe:taskDefinition type="last"/></bpmn:extensionElements><bpmn:incoming>y</bpmn:incoming></bpmn:serviceTask>
    <bpmn:sequenceFlow id="x" sourceRef="s" targetRef="step"/><bpmn:sequenceFlow id="y" sourceRef="step" targetRef="last"/>
  </bpmn:process>
  <bpmndi:BPMNDiagram id="diagram"><bpmndi:BPMNPlane id="plane" bpmnElement="long">
    ${shape("s", 100, 102, 36, 36)}${shape("step", 190, 80, 100, 80)}${shape("last", 350, 80, 100, 80)}${edge("x", 136, 190)}${edge("y", 290, 350)}
  </bpmndi:BPMNPlane></bpmndi:BPMNDiagram>
</bpmn:definitions>`;

/** Many short branches at once, each of ten elements: a long history within seconds. Ends at the same job. */
export const broadModel = `<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:bpmndi="http://www.omg.org/spec/BPMN/20100524/DI"
  xmlns:dc="http://www.omg.org/spec/DD/20100524/DC" xmlns:di="http://www.omg.org/spec/DD/20100524/DI" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="broad-definitions" targetNamespace="t">
  <bpmn:process id="broad" name="Broad" isExecutable="true">
    <bpmn:startEvent id="s"><bpmn:outgoing>x</bpmn:outgoing></bpmn:startEvent>
    <bpmn:subProcess id="branch" name="Branch"><bpmn:incoming>x</bpmn:incoming><bpmn:outgoing>y</bpmn:outgoing>
      <bpmn:multiInstanceLoopCharacteristics><bpmn:extensionElements><zeebe:loopCharacteristics inputCollection="=for i in 1..count return i"/></bpmn:extensionElements></bpmn:multiInstanceLoopCharacteristics>
      <bpmn:startEvent id="b0"/>${[1, 2, 3, 4, 5, 6, 7, 8].map((n) => `<bpmn:task id="b${n}"/><bpmn:sequenceFlow id="f${n}" sourceRef="b${n - 1}" targetRef="b${n}"/>`).join("")}
    </bpmn:subProcess>
    <bpmn:serviceTask id="last" name="Last"><bpmn:extensionElements><zeebe:taskDefinition type="last"/></bpmn:extensionElements><bpmn:incoming>y</bpmn:incoming></bpmn:serviceTask>
    <bpmn:sequenceFlow id="x" sourceRef="s" targetRef="branch"/><bpmn:sequenceFlow id="y" sourceRef="branch" targetRef="last"/>
  </bpmn:process>
  <bpmndi:BPMNDiagram id="diagram"><bpmndi:BPMNPlane id="plane" bpmnElement="broad">
    ${shape("s", 100, 102, 36, 36)}${shape("branch", 190, 80, 100, 80)}${shape("last", 350, 80, 100, 80)}${edge("x", 136, 190)}${edge("y", 290, 350)}
  </bpmndi:BPMNPlane></bpmndi:BPMNDiagram>
</bpmn:definitions>`;
