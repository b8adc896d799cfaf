// Questions about decisions and what they came to, and a way to try one.
import { type Answer, type Body, command, get, post, send } from "./client";
import type { DecisionKey, RequirementsKey } from "./keys";
import { PAGE, useList } from "./list";
import { done, live, once } from "./live";
import { orderIn, withKey } from "./order";
import { here } from "./tenant";

export type Decision = Answer<"/decision-definitions/search", "post">["items"][number];
export type Evaluation = Answer<"/decision-instances/search", "post">["items"][number];
export type EvaluationDetail = Answer<"/decision-instances/{decisionEvaluationInstanceKey}", "get">;
export type Tried = Answer<"/decision-definitions/evaluation", "post">;
export type EvaluationFilter = NonNullable<Body<"/decision-instances/search", "post">["filter"]>;

/** The latest version of each decision. */
export const decisions = () =>
  live(["decisions", "latest"], (how) =>
    post("/decision-definitions/search", {}, { filter: { isLatestVersion: true, ...here() }, sort: [{ field: "name" }], page: { limit: 1000 } }, how), 15_000);

/** Versions besides the latest ones, the newest first: of those that were deleted as well. */
export const formerDecisions = () =>
  live(["decisions", "former"], (how) =>
    post("/decision-definitions/search", {}, { filter: { isLatestVersion: false, ...here() }, sort: [{ field: "decisionDefinitionKey", order: "DESC" }], page: { limit: 1000 } }, how), 15_000);

/** The version that is deployed; 0 where none is any more. What is above it was deleted: of versions below the API does not say it. */
export const deployedVersion = (id: string) =>
  live(["decisions", "deployed", id], async (how) => {
    const { items } = await post("/decision-definitions/search", {}, { filter: { decisionDefinitionId: id, isLatestVersion: true, ...here() }, page: { limit: 100 } }, how);
    return Math.max(0, ...items.map((each) => each.version));
  }, 15_000);

/** All versions of a decision, the newest first. */
export const decisionVersions = (id: string) =>
  live(["decisions", "versions", id], (how) =>
    post("/decision-definitions/search", {}, { filter: { decisionDefinitionId: id, ...here() }, sort: [{ field: "version", order: "DESC" }], page: { limit: 1000 } }, how), 15_000);

/** The decisions of one file, as they were deployed together. */
export const decisionsOf = (requirements: RequirementsKey) =>
  once(["decisions", "of", requirements], (how) =>
    post("/decision-definitions/search", {}, { filter: { decisionRequirementsKey: requirements }, page: { limit: 1000 } }, how));

export const decision = (key: DecisionKey) =>
  once(["decisions", "definition", key], (how) => get("/decision-definitions/{decisionDefinitionKey}", { decisionDefinitionKey: key }, how));

export const decisionXml = (key: DecisionKey) =>
  once(["decisions", "xml", key], async (how) => {
    const answer = await send("get", "/decision-definitions/{decisionDefinitionKey}/xml", { decisionDefinitionKey: key }, undefined, how);
    return answer.text();
  });

const SORTS = ["decisionDefinitionName", "processInstanceKey", "evaluationDate"] as const;
/** The newest first, unless the address says otherwise. */
export const evaluationOrder = (sort: string | undefined) => orderIn(sort, SORTS, { field: "evaluationDate", order: "DESC" });

/** What decisions came to. */
export const useEvaluations = (filter: EvaluationFilter, order: ReturnType<typeof evaluationOrder>, after?: string) =>
  useList(["decisions", "evaluations", filter, order], (how, from) =>
    post("/decision-instances/search", {}, {
      filter: { ...filter, ...here() },
      sort: withKey(order, "decisionEvaluationInstanceKey"),
      page: from === undefined ? { limit: PAGE } : { limit: PAGE, after: from },
    }, how), after);

export const evaluation = (id: string) =>
  once(["decisions", "one", id], (how) => get("/decision-instances/{decisionEvaluationInstanceKey}", { decisionEvaluationInstanceKey: id }, how));

/** All decisions that one evaluation asked, in the order in which they were. */
export const evaluatedWith = (key: string) =>
  once(["decisions", "with", key], (how) =>
    post("/decision-instances/search", {}, { filter: { decisionEvaluationKey: key }, sort: [{ field: "decisionEvaluationInstanceKey" }], page: { limit: 200 } }, how));

/** Evaluates with variables that are JSON text. */
export const tryDecision = ({ decisionDefinitionKey, tenantId }: Decision, variables: string): Promise<Tried> =>
  done(command("/decision-definitions/evaluation", {}, `{"decisionDefinitionKey":"${decisionDefinitionKey}","tenantId":${JSON.stringify(tenantId)},"variables":${variables}}`));
