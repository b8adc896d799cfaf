// A process with one task, for what is usual of it.

export const PACK = `<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:bpmndi="http://www.omg.org/spec/BPMN/20100524/DI"
  xmlns:dc="http://www.omg.org/spec/DD/20100524/DC" xmlns:di="http://www.omg.org/spec/DD/20100524/DI"
  xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="d" targetNamespace="t">
  <bpmn:process id="parcel" name="Parcel" isExecutable="true">
    <bpmn:startEvent id="placed" name="Placed"><bpmn:outgoing>a</bpmn:outgoing></bpmn:startEvent>
    <bpmn:sequenceFlow id="a" sourceRef="placed" targetRef="pack"/>
    <bpmn:serviceTask id="pack" name="Pack">
      <bpmn:extensionElements><zeebe:taskDefinition type="pack-parcel"/></bpmn:extensionElements>
      <bpmn:incoming>a</bpmn:incoming><bpmn:outgoing>b</bpmn:outgoing></bpmn:serviceTask>
    <bpmn:sequenceFlow id="b" sourceRef="pack" targetRef="sent"/>
    <bpmn:endEvent id="sent" name="Sent"><bpmn:incoming>b</bpmn:incoming></bpmn:endEvent>
  </bpmn:process>
  <bpmndi:BPMNDiagram id="x"><bpmndi:BPMNPlane id="p" bpmnElement="parcel">
    <bpmndi:BPMNShape id="s1" bpmnElement="placed"><dc:Bounds x="100" y="102" width="36" height="36"/></bpmndi:BPMNShape>
    <bpmndi:BPMNShape id="s2" bpmnElement="pack"><dc:Bounds x="200" y="80" width="100" height="80"/></bpmndi:BPMNShape>
    <bpmndi:BPMNShape id="s3" bpmnElement="sent"><dc:Bounds x="364" y="102" width="36" height="36"/></bpmndi:BPMNShape>
    <bpmndi:BPMNEdge id="f1" bpmnElement="a"><di:waypoint x="136" y="120"/><di:waypoint x="200" y="120"/></bpmndi:BPMNEdge>
    <bpmndi:BPMNEdge id="f2" bpmnElement="b"><di:waypoint x="300" y="120"/><di:waypoint x="364" y="120"/></bpmndi:BPMNEdge>
  </bpmndi:BPMNPlane></bpmndi:BPMNDiagram>
</bpmn:definitions>`;
