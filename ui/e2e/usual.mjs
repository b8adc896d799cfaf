// A process with one task, for what is usual of it.
import { edge, model, shape } from "./diagram.mjs";

export const PACK = model("parcel", "Parcel", `
    <bpmn:startEvent id="placed" name="Placed"><bpmn:outgoing>a</bpmn:outgoing></bpmn:startEvent>
    <bpmn:sequenceFlow id="a" sourceRef="placed" targetRef="pack"/>
    <bpmn:serviceTask id="pack" name="Pack">
      <bpmn:extensionElements><zeebe:taskDefinition type="pack-parcel"/></bpmn:extensionElements>
      <bpmn:incoming>a</bpmn:incoming><bpmn:outgoing>b</bpmn:outgoing></bpmn:serviceTask>
    <bpmn:sequenceFlow id="b" sourceRef="pack" targetRef="sent"/>
    <bpmn:endEvent id="sent" name="Sent"><bpmn:incoming>b</bpmn:incoming></bpmn:endEvent>`, `
    ${shape("placed", 100, 102, 36, 36)}${shape("pack", 200, 80, 100, 80)}${shape("sent", 364, 102, 36, 36)}${edge("a", 136, 200)}${edge("b", 300, 364)}`);
