// A process that people start by a form with files, and look at the files in its task.
import { edge, model, shape } from "./diagram.mjs";

export const intakeModel = model("intake", "New claim", `
    <bpmn:startEvent id="came" name="Claim came in">
      <bpmn:extensionElements><zeebe:formDefinition formId="intake"/></bpmn:extensionElements>
      <bpmn:outgoing>a</bpmn:outgoing>
    </bpmn:startEvent>
    <bpmn:userTask id="look" name="Look at the photos">
      <bpmn:extensionElements><zeebe:userTask/><zeebe:formDefinition formId="look"/></bpmn:extensionElements>
      <bpmn:incoming>a</bpmn:incoming><bpmn:outgoing>b</bpmn:outgoing>
    </bpmn:userTask>
    <bpmn:endEvent id="seen" name="Seen"><bpmn:incoming>b</bpmn:incoming></bpmn:endEvent>
    <bpmn:sequenceFlow id="a" sourceRef="came" targetRef="look"/>
    <bpmn:sequenceFlow id="b" sourceRef="look" targetRef="seen"/>`, `
    ${shape("came", 100, 102, 36, 36)}${shape("look", 200, 80, 100, 80)}${shape("seen", 360, 102, 36, 36)}
    ${edge("a", 136, 200)}${edge("b", 300, 360)}`);

export const intakeForm = JSON.stringify({
  id: "intake",
  type: "default",
  schemaVersion: 16,
  components: [
    { type: "text", text: "# A new claim" },
    { type: "textfield", key: "customer", label: "Customer", validate: { required: true } },
    { type: "number", key: "amount", label: "Amount", decimalDigits: 2 },
    { type: "filepicker", key: "photos", label: "Photos", multiple: true },
    { type: "filepicker", key: "bill", label: "Bill" },
  ],
});

export const lookForm = JSON.stringify({
  id: "look",
  type: "default",
  schemaVersion: 16,
  components: [
    { type: "text", text: "Reported by **{{customer}}**." },
    { type: "documentPreview", label: "Photos of the damage", dataSource: "=photos" },
    { type: "filepicker", key: "bill", label: "Another bill" },
    { type: "filepicker", key: "report", label: "Report" },
    { type: "textarea", key: "note", label: "Note" },
  ],
});

/** A picture of one honey-coloured point. */
export const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP4usPyPwAHhgLhE4kFCQAAAABJRU5ErkJggg==";
