// Processes whose instances have a long history: something that is done for each of a count, and then a job that nobody takes.
import { edge, model, shape } from "./diagram.mjs";

/** `kind` is that of the element which is done again and again, and `within` what it has in it. */
const again = (id, name, { kind, step, isSequential, within = "" }) => model(id, name, `
    <bpmn:startEvent id="s"><bpmn:outgoing>x</bpmn:outgoing></bpmn:startEvent>
    <bpmn:${kind} id="${step}" name="${step}"><bpmn:incoming>x</bpmn:incoming><bpmn:outgoing>y</bpmn:outgoing>
      <bpmn:multiInstanceLoopCharacteristics isSequential="${isSequential}"><bpmn:extensionElements><zeebe:loopCharacteristics inputCollection="=for i in 1..count return i"/></bpmn:extensionElements></bpmn:multiInstanceLoopCharacteristics>
      ${within}
    </bpmn:${kind}>
    <bpmn:serviceTask id="last" name="Last"><bpmn:extensionElements><zeebe:taskDefinition type="last"/></bpmn:extensionElements><bpmn:incoming>y</bpmn:incoming></bpmn:serviceTask>
    <bpmn:sequenceFlow id="x" sourceRef="s" targetRef="${step}"/><bpmn:sequenceFlow id="y" sourceRef="${step}" targetRef="last"/>`, `
    ${shape("s", 100, 102, 36, 36)}${shape(step, 190, 80, 100, 80)}${shape("last", 350, 80, 100, 80)}${edge("x", 136, 190)}${edge("y", 290, 350)}`);

const eight = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `<bpmn:task id="b${n}"/><bpmn:sequenceFlow id="f${n}" sourceRef="b${n - 1}" targetRef="b${n}"/>`).join("");

export const longModel = again("long", "Long", { kind: "task", step: "step", isSequential: true });

/** Many short branches at once, each of ten elements: a long history within seconds. */
export const broadModel = again("broad", "Broad", { kind: "subProcess", step: "branch", isSequential: false, within: `<bpmn:startEvent id="b0"/>${eight}` });
