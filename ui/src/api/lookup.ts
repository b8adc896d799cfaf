// What a key is the key of: each kind is asked, and the first that knows it answers.
import { get, post } from "./client";
import { type BatchKey, type FormKey, type InstanceKey, type TaskKey, asKey } from "./keys";
import { Problem } from "./problem";
import { isDeleted } from "./processes";

export type Found =
  | { kind: "processInstance" | "elementInstance" | "incident" | "variable"; instance: InstanceKey; scope?: string }
  | { kind: "processDefinition"; id: string; version: number; isDeleted: boolean }
  | { kind: "job"; instance: InstanceKey; scope: string }
  /** Of a start event where no instance waits. */
  | { kind: "message" | "messageSubscription"; instance: InstanceKey | null; scope: string | null }
  | { kind: "decisionDefinition"; id: string; version: number }
  | { kind: "decisionEvaluation"; evaluation: string }
  | { kind: "form"; form: FormKey }
  | { kind: "userTask"; task: TaskKey }
  | { kind: "batch"; batch: BatchKey };

/** What a search finds is taken as an answer by key is: none of it means that the key is of something else. */
async function first<Item>(found: Promise<{ items: Item[] }>): Promise<Item> {
  const [item] = (await found).items;
  if (item === undefined) throw new Problem(404, "NOT_FOUND", "");
  return item;
}

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
      kind: "processDefinition", id: found.processDefinitionId, version: found.version, isDeleted: isDeleted(found),
    })),
    get("/decision-definitions/{decisionDefinitionKey}", { decisionDefinitionKey: key }, how).then((found) => ({
      kind: "decisionDefinition", id: found.decisionDefinitionId, version: found.version,
    })),
    get("/forms/{formKey}", { formKey: key }, how).then((found) => ({ kind: "form", form: found.formKey })),
    // These the API does not give by their keys.
    first(post("/jobs/search", {}, { filter: { jobKey: key }, page: { limit: 1 } }, how)).then((found) => ({
      kind: "job", instance: found.processInstanceKey, scope: found.elementInstanceKey,
    })),
    first(post("/message-subscriptions/search", {}, { filter: { messageSubscriptionKey: key }, page: { limit: 1 } }, how)).then((found) => ({
      kind: "messageSubscription", instance: found.processInstanceKey, scope: found.elementInstanceKey,
    })),
    first(post("/decision-instances/search", {}, { filter: { decisionEvaluationKey: key }, sort: [{ field: "decisionEvaluationInstanceKey", order: "DESC" }], page: { limit: 1 } }, how)).then((found) => ({
      kind: "decisionEvaluation", evaluation: found.decisionEvaluationInstanceKey,
    })),
    first(post("/correlated-message-subscriptions/search", {}, { filter: { messageKey: key }, page: { limit: 1 } }, how)).then((found) => ({
      kind: "message", instance: found.processInstanceKey, scope: found.elementInstanceKey,
    })),
    first(post("/decision-definitions/search", {}, { filter: { decisionRequirementsKey: key }, page: { limit: 1 } }, how)).then((found) => ({
      kind: "decisionDefinition", id: found.decisionDefinitionId, version: found.version,
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
