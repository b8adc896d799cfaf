// What a key is the key of: each kind is asked, and the first that knows it answers.
import { get } from "./client";
import { type BatchKey, type DefinitionKey, type InstanceKey, type TaskKey, asKey } from "./keys";
import { Problem } from "./problem";

export type Found =
  | { kind: "processInstance" | "elementInstance" | "incident" | "variable"; instance: InstanceKey; scope?: string }
  | { kind: "processDefinition"; id: string; version: number; key: DefinitionKey }
  | { kind: "userTask"; task: TaskKey }
  | { kind: "batch"; batch: BatchKey };

export async function lookup(key: string, signal: AbortSignal): Promise<Found | null> {
  const how = { signal };
  const asked: Promise<Found>[] = [
    get("/process-instances/{processInstanceKey}", { processInstanceKey: key }, how).then((found) => ({
      kind: "processInstance", instance: found.processInstanceKey,
    })),
    get("/element-instances/{elementInstanceKey}", { elementInstanceKey: key }, how).then((found) => ({
      kind: "elementInstance", instance: found.processInstanceKey, scope: found.elementInstanceKey,
    })),
    get("/incidents/{incidentKey}", { incidentKey: key }, how).then((found) => ({
      kind: "incident", instance: found.processInstanceKey, scope: found.elementInstanceKey,
    })),
    get("/user-tasks/{userTaskKey}", { userTaskKey: key }, how).then((found) => ({
      kind: "userTask", task: found.userTaskKey,
    })),
    get("/variables/{variableKey}", { variableKey: key }, how).then((found) => ({
      kind: "variable", instance: found.processInstanceKey, scope: found.scopeKey,
    })),
    get("/process-definitions/{processDefinitionKey}", { processDefinitionKey: key }, how).then((found) => ({
      kind: "processDefinition", id: found.processDefinitionId, version: found.version, key: found.processDefinitionKey,
    })),
    get("/batch-operations/{batchOperationKey}", { batchOperationKey: key }, how).then(() => ({ kind: "batch", batch: asKey(key) })),
  ];
  try {
    return await Promise.any(asked);
  } catch (error) {
    const other = (error as AggregateError).errors.find((each) => !(each instanceof Problem && each.isGone));
    if (other !== undefined) throw other;
    return null;
  }
}
