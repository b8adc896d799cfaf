// A process that people do: two tasks, one with a form that has all that is difficult about forms.
import { edge, model, shape } from "./diagram.mjs";

export const damageModel = model("damage", "Damage report", `
    <bpmn:startEvent id="reported" name="Reported"><bpmn:outgoing>a</bpmn:outgoing></bpmn:startEvent>
    <bpmn:userTask id="assess" name="Assess the damage">
      <bpmn:extensionElements>
        <zeebe:userTask/>
        <zeebe:formDefinition formId="damage"/>
        <zeebe:assignmentDefinition candidateGroups="assessors" candidateUsers="anna, ben"/>
        <zeebe:taskSchedule dueDate="=if overdue = true then now() - duration(&quot;PT3H&quot;) else now() + duration(&quot;P2D&quot;)"/>
        <zeebe:priorityDefinition priority="70"/>
      </bpmn:extensionElements>
      <bpmn:incoming>a</bpmn:incoming><bpmn:outgoing>b</bpmn:outgoing>
    </bpmn:userTask>
    <bpmn:userTask id="pay" name="Pay the customer">
      <bpmn:extensionElements><zeebe:userTask/><zeebe:assignmentDefinition candidateGroups="payments"/></bpmn:extensionElements>
      <bpmn:incoming>b</bpmn:incoming><bpmn:outgoing>c</bpmn:outgoing>
    </bpmn:userTask>
    <bpmn:endEvent id="settled" name="Settled"><bpmn:incoming>c</bpmn:incoming></bpmn:endEvent>
    <bpmn:sequenceFlow id="a" sourceRef="reported" targetRef="assess"/>
    <bpmn:sequenceFlow id="b" sourceRef="assess" targetRef="pay"/>
    <bpmn:sequenceFlow id="c" sourceRef="pay" targetRef="settled"/>`, `
    ${shape("reported", 100, 102, 36, 36)}${shape("assess", 200, 80, 100, 80)}${shape("pay", 360, 80, 100, 80)}${shape("settled", 520, 102, 36, 36)}
    ${edge("a", 136, 200)}${edge("b", 300, 360)}${edge("c", 460, 520)}`);

const option = (value) => ({ value, label: value.charAt(0).toUpperCase() + value.slice(1) });

export const damageForm = JSON.stringify({
  id: "damage",
  type: "default",
  schemaVersion: 16,
  components: [
    { type: "text", text: "# Policy {{claim.policy}}\n\nReported by **{{claim.customer}}**." },
    { type: "textfield", key: "claim.customer", label: "Customer", validate: { required: true } },
    { type: "number", key: "claim.amount", label: "Amount", decimalDigits: 2, appearance: { suffixAdorner: "EUR" } },
    { type: "select", key: "cause", label: "Cause", values: ["water", "fire", "storm"].map(option) },
    { type: "radio", key: "urgency", label: "Urgency", values: ["low", "high"].map(option), defaultValue: "low" },
    { type: "datetime", subtype: "date", dateLabel: "Date of the damage", key: "happened" },
    { type: "checkbox", key: "covered", label: "Covered by the policy" },
    { type: "textarea", key: "note", label: "Note", conditional: { hide: "=cause = null" } },
  ],
});

/** Variables of a report; its policy has more digits than a number of JavaScript. */
export const damage = (n, policy) => `{"claim": {"policy": ${policy}, "customer": "Customer ${n}", "amount": ${100 * n}.50}, "overdue": ${n === 1}}`;
