// What changes something. Each ends with asking again for what is on the screen, with an answer that holds the change.
import { type Answer, patch, post, send } from "./client";
import type { BatchKey, IncidentKey, InstanceKey, JobKey, ScopeKey } from "./keys";
import { done } from "./live";
import { Problem } from "./problem";
import type { Definition } from "./processes";

export type Deployment = Answer<"/deployments", "post">;

export type Checked = Answer<"/skep/v1/deployments/check", "post">;

function formOf(files: readonly File[], tenant: string | undefined): FormData {
  const form = new FormData();
  if (tenant !== undefined) form.append("tenantId", tenant);
  for (const file of files) form.append("resources", file, file.name);
  return form;
}

/** What would come of a deployment. */
export const check = (files: readonly File[], tenant: string | undefined, signal?: AbortSignal): Promise<Checked> =>
  send("post", "/skep/v1/deployments/check", {}, formOf(files, tenant), { signal }).then(async (answer) => (await answer.json()) as Checked);

/** `tenant` is whose they become, where tenants are kept apart. */
export function deploy(files: readonly File[], tenant: string | undefined): Promise<Deployment> {
  const sent = send("post", "/deployments", {}, formOf(files, tenant)).then(async (answer) => (await answer.json()) as Deployment);
  return done(sent);
}

/** With variables as text: numbers go as long as they are. */
export async function start({ processDefinitionKey, tenantId }: Definition, variables: string): Promise<InstanceKey> {
  const body = `{"processDefinitionKey":"${processDefinitionKey}","tenantId":${JSON.stringify(tenantId)},"variables":${variables}}`;
  const answer = await done(send("post", "/process-instances", {}, body));
  return ((await answer.json()) as Answer<"/process-instances", "post">).processInstanceKey;
}

export const cancelInstance = (key: InstanceKey): Promise<void> =>
  done(post("/process-instances/{processInstanceKey}/cancellation", { processInstanceKey: key }, {}));

/** A job that failed gets another try before its incident is resolved, or the same incident would come at once. */
async function resolve(incident: IncidentKey, job: JobKey | null | undefined): Promise<void> {
  if (job) {
    await patch("/jobs/{jobKey}", { jobKey: job }, { changeset: { retries: 1 } }).catch((error: unknown) => {
      // The job has gone meanwhile: what is left is the incident.
      if (!(error instanceof Problem && error.isGone)) throw error;
    });
  }
  await post("/incidents/{incidentKey}/resolution", { incidentKey: incident }, {});
}

export const retry = (incident: IncidentKey, job: JobKey | null | undefined): Promise<void> => done(resolve(incident, job));

/** A variable of a scope, as the text that somebody wrote: numbers go as long as they are. */
export async function setVariable(scope: ScopeKey, name: string, value: string): Promise<void> {
  const body = `{"local":true,"variables":{${JSON.stringify(name)}:${value}}}`;
  await done(send("put", "/element-instances/{elementInstanceKey}/variables", { elementInstanceKey: scope }, body));
}

/** Several variables of an instance, as one object of JSON text. */
export const setVariables = (instance: InstanceKey, variables: string): Promise<Response> =>
  done(send("put", "/element-instances/{elementInstanceKey}/variables", { elementInstanceKey: instance }, `{"variables":${variables}}`));

export const suspendBatch = (key: BatchKey): Promise<void> =>
  done(post("/batch-operations/{batchOperationKey}/suspension", { batchOperationKey: key }, {}));
export const resumeBatch = (key: BatchKey): Promise<void> =>
  done(post("/batch-operations/{batchOperationKey}/resumption", { batchOperationKey: key }, {}));
export const cancelBatch = (key: BatchKey): Promise<void> =>
  done(post("/batch-operations/{batchOperationKey}/cancellation", { batchOperationKey: key }, {}));
