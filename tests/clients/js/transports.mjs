// The clients of @camunda8/sdk and @camunda8/orchestration-cluster-api behind one set of calls, so that the same checks run over each of them.
// Each adapter only renames: no retries, no corrections, no catching.
import { readFileSync } from 'node:fs'
import createCamundaClient from '@camunda8/orchestration-cluster-api'
import { Camunda8 } from '@camunda8/sdk'

const camunda = new Camunda8({
	CAMUNDA_AUTH_STRATEGY: 'NONE',
	CAMUNDA_LOG_LEVEL: 'none',
	ZEEBE_REST_ADDRESS: process.env.SKEP_REST,
	ZEEBE_GRPC_ADDRESS: `grpc://${process.env.SKEP_GRPC}`,
	zeebeGrpcSettings: {
		ZEEBE_CLIENT_LOG_LEVEL: 'NONE',
		ZEEBE_GRPC_CLIENT_RETRY: false, // a failure must be seen, not repeated
		ZEEBE_GRPC_WORKER_POLL_INTERVAL_MS: 50,
	},
})

const GRPC_CODES = {
	3: 'INVALID_ARGUMENT',
	4: 'DEADLINE_EXCEEDED',
	5: 'NOT_FOUND',
	6: 'ALREADY_EXISTS',
	9: 'INVALID_STATE',
}

const job = (j, key = j.jobKey) => ({
	key: String(key),
	type: j.type,
	retries: j.retries,
	variables: { ...j.variables },
	headers: { ...j.customHeaders },
	elementId: j.elementId,
	elementInstanceKey: String(j.elementInstanceKey),
	processInstanceKey: String(j.processInstanceKey),
	processId: j.processDefinitionId ?? j.bpmnProcessId,
	worker: j.worker,
	tenantId: j.tenantId,
	deadline: Number(j.deadline),
})

/** The steps of a decision, as a REST client returns them. */
const evaluation = (answer) => ({
	output: answer.output,
	failed: answer.failedDecisionDefinitionId ?? undefined,
	why: answer.failureMessage,
	evaluated: answer.evaluatedDecisions.map((d) => d.decisionDefinitionId),
	rules: answer.evaluatedDecisions.flatMap((d) => d.matchedRules.map((r) => r.ruleId)),
})

const mapping = (mappings) =>
	Object.entries(mappings).map(([sourceElementId, targetElementId]) => ({ sourceElementId, targetElementId }))

/** CamundaRestClient: REST with got. */
export function rest() {
	const client = camunda.getCamundaRestClient()
	return {
		label: 'REST',
		client,
		topology: () => client.getTopology(),
		async deploy(paths) {
			const answer = await client.deployResourcesFromFiles(paths)
			return answer.processes.map((p) => ({
				id: p.processDefinitionId,
				version: p.processDefinitionVersion,
				key: String(p.processDefinitionKey),
				tenantId: p.tenantId,
			}))
		},
		deleteResource: (resourceKey) => client.deleteResource({ resourceKey }),
		async start(processDefinitionId, variables = {}, more = {}) {
			const { startAt, version, ...rest } = more
			const request = { processDefinitionId, variables, ...rest }
			if (startAt) request.startInstructions = [{ elementId: startAt }]
			if (version) request.processDefinitionVersion = version
			return String((await client.createProcessInstance(request)).processInstanceKey)
		},
		async result(processDefinitionId, variables = {}, { fetchVariables, requestTimeout = 30_000 } = {}) {
			const request = { processDefinitionId, variables, fetchVariables, requestTimeout }
			return { ...(await client.createProcessInstanceWithResult(request)).variables }
		},
		cancel: (processInstanceKey) => client.cancelProcessInstance({ processInstanceKey }),
		modify: (processInstanceKey, instructions) => client.modifyProcessInstance({ processInstanceKey, ...instructions }),
		setVariables: (elementInstanceKey, variables, local = false) =>
			client.updateElementInstanceVariables({ elementInstanceKey, variables, local }),
		async activate(type, { count = 1, timeout = 60_000, wait = 30_000, fetch } = {}) {
			const request = { type, worker: 'check', timeout, maxJobsToActivate: count, requestTimeout: wait }
			if (fetch) request.fetchVariable = fetch
			return (await client.activateJobs(request)).map((j) => job(j))
		},
		complete: (jobKey, variables = {}) => client.completeJob({ jobKey, variables }),
		fail: (jobKey, retries, errorMessage, retryBackOff = 0, variables = {}) =>
			client.failJob({ jobKey, retries, errorMessage, retryBackOff, variables }),
		throwError: (jobKey, errorCode, errorMessage, variables = {}) =>
			client.errorJob({ jobKey, errorCode, errorMessage, variables }),
		updateRetries: (jobKey, retries) => client.updateJob({ jobKey, retries }),
		updateTimeout: (jobKey, timeout) => client.updateJob({ jobKey, timeout }),
		resolveIncident: (key) => client.resolveIncident(key),
		publish: async (name, correlationKey, variables = {}, { timeToLive = 600_000, messageId } = {}) =>
			String((await client.publishMessage({ name, correlationKey, variables, timeToLive, messageId })).messageKey),
		async evaluate(decisionDefinitionId, variables) {
			return evaluation(await client.evaluateDecision({ decisionDefinitionId, variables }))
		},
		broadcast: (signalName, variables) => client.broadcastSignal({ signalName, variables }),
		migrate: (processInstanceKey, targetProcessDefinitionKey, mappings) =>
			client.migrateProcessInstance({ processInstanceKey, targetProcessDefinitionKey, mappingInstructions: mapping(mappings) }),
		worker(type, handler, options = {}) {
			const worker = client.createJobWorker({
				type,
				worker: 'check-worker',
				timeout: 60_000,
				maxJobsToActivate: 32,
				pollIntervalMs: 50,
				...options,
				jobHandler: (j) => handler(job(j), actions(j)),
			})
			return () => worker.stop()
		},
		code: (error) => error.title ?? error.message,
		detail: (error) => error.detail ?? error.message,
	}
}

/** ZeebeGrpcClient: gRPC; its workers poll. */
export function grpc() {
	const client = camunda.getZeebeGrpcApiClient()
	return {
		label: 'gRPC',
		client,
		topology: () => client.topology(),
		async deploy(paths) {
			const resources = paths.map((path) => (path.endsWith('.dmn') ? { decisionFilename: path } : { processFilename: path }))
			const answer =
				paths.length === 1 ? await client.deployResource(resources[0]) : await client.deployResources(resources)
			return answer.deployments
				.filter((d) => d.process)
				.map(({ process: p }) => ({
					id: p.bpmnProcessId,
					version: p.version,
					key: String(p.processDefinitionKey),
					tenantId: p.tenantId,
				}))
		},
		deleteResource: (resourceKey) => client.deleteResource({ resourceKey }),
		async start(bpmnProcessId, variables = {}, { startAt, version } = {}) {
			const request = { bpmnProcessId, variables }
			if (startAt) request.startInstructions = [{ elementId: startAt }]
			if (version) request.version = version
			return String((await client.createProcessInstance(request)).processInstanceKey)
		},
		result: async (bpmnProcessId, variables = {}, { fetchVariables, requestTimeout = 30_000 } = {}) =>
			(await client.createProcessInstanceWithResult({ bpmnProcessId, variables, fetchVariables, requestTimeout }))
				.variables,
		cancel: (key) => client.cancelProcessInstance(key),
		modify: (processInstanceKey, instructions) => client.modifyProcessInstance({ processInstanceKey, ...instructions }),
		setVariables: (elementInstanceKey, variables, local = false) =>
			client.setVariables({ elementInstanceKey, variables, local }),
		async activate(type, { count = 1, timeout = 60_000, wait = 30_000, fetch } = {}) {
			const request = { type, worker: 'check', timeout, maxJobsToActivate: count, requestTimeout: wait }
			if (fetch) request.fetchVariable = fetch
			return (await client.activateJobs(request)).map((j) => job(j, j.key))
		},
		complete: (jobKey, variables = {}) => client.completeJob({ jobKey, variables }),
		fail: (jobKey, retries, errorMessage, retryBackOff = 0, variables = {}) =>
			client.failJob({ jobKey, retries, errorMessage, retryBackOff, variables }),
		throwError: (jobKey, errorCode, errorMessage, variables = {}) =>
			client.throwError({ jobKey, errorCode, errorMessage, variables }),
		updateRetries: (jobKey, retries) => client.updateJobRetries({ jobKey, retries }),
		updateTimeout: (jobKey, timeout) => client.updateJobTimeout({ jobKey, timeout }),
		resolveIncident: (incidentKey) => client.resolveIncident({ incidentKey }),
		publish: async (name, correlationKey, variables = {}, { timeToLive = 600_000, messageId } = {}) =>
			String((await client.publishMessage({ name, correlationKey, variables, timeToLive, messageId })).key),
		async evaluate(decisionId, variables) {
			const answer = await client.evaluateDecision({ decisionId, variables })
			return {
				output: answer.decisionOutput,
				failed: answer.failedDecisionId || undefined,
				why: answer.failureMessage,
				evaluated: answer.evaluatedDecisions.map((d) => d.decisionId),
				rules: answer.evaluatedDecisions.flatMap((d) => d.matchedRules.map((r) => r.ruleId)),
			}
		},
		broadcast: (signalName, variables) => client.broadcastSignal({ signalName, variables }),
		migrate: (processInstanceKey, targetProcessDefinitionKey, mappings) =>
			client.migrateProcessInstance({
				processInstanceKey,
				migrationPlan: { targetProcessDefinitionKey, mappingInstructions: mapping(mappings) },
			}),
		worker(type, handler, options = {}) {
			const worker = client.createWorker({
				taskType: type,
				timeout: 60_000,
				maxJobsToActivate: 32,
				...options,
				taskHandler: (j) => handler(job(j, j.key), actions(j)),
			})
			return () => worker.close()
		},
		code: (error) => GRPC_CODES[error.code] ?? error.message,
		detail: (error) => error.details ?? error.message,
	}
}

/** The same client with its streaming worker (StreamActivatedJobs, and a rare poll beside it). */
export function grpcStream() {
	const transport = grpc()
	return {
		...transport,
		label: 'gRPC stream',
		async worker(type, handler, options = {}) {
			const worker = await transport.client.streamJobs({
				type,
				worker: 'check-worker',
				timeout: 60_000,
				tenantIds: ['<default>'],
				...options,
				taskHandler: (j) => handler(job(j, j.key), actions(j)),
			})
			return () => worker.close()
		},
	}
}

/** The client that @camunda8/sdk has for the REST API of 8.8: OrchestrationClusterApiClient. */
export function sdkOrchestration() {
	return orchestration('orchestration API of the SDK', camunda.getOrchestrationClusterApiClientLoose())
}

/** @camunda8/orchestration-cluster-api, for the REST API of 8.9, checking every request and answer against its schemas. */
export const strictOrchestration = () => orchestrationWith('orchestration API, strict', 'req:strict,res:strict')

/**
 * The same client without checks: its schemas know no file and no answer without a body, and drop the cursor of a page, which
 * is none of their first alternative.
 */
export const plainOrchestration = () => orchestrationWith('orchestration API', 'req:none,res:none')

function orchestrationWith(label, validation) {
	const client = createCamundaClient({
		config: {
			CAMUNDA_REST_ADDRESS: process.env.SKEP_REST,
			CAMUNDA_AUTH_STRATEGY: 'NONE',
			CAMUNDA_SDK_LOG_LEVEL: 'error',
			CAMUNDA_SDK_VALIDATION: validation,
			CAMUNDA_SDK_HTTP_RETRY_MAX_ATTEMPTS: 1, // a failure must be seen, not repeated
		},
	})
	return orchestration(label, client)
}

function orchestration(label, client) {
	return {
		label,
		client,
		topology: () => client.getTopology(),
		async deploy(paths) {
			const files = paths.map((path) => new File([readFileSync(path)], path.split('/').pop()))
			const answer = await client.createDeployment({ resources: files })
			return answer.processes.map((p) => ({
				id: p.processDefinitionId,
				version: p.processDefinitionVersion,
				key: String(p.processDefinitionKey),
				tenantId: p.tenantId,
			}))
		},
		deleteResource: (resourceKey) => client.deleteResource({ resourceKey }),
		async start(processDefinitionId, variables = {}, { startAt, version } = {}) {
			const request = { processDefinitionId, variables }
			if (startAt) request.startInstructions = [{ elementId: startAt }]
			if (version) request.processDefinitionVersion = version
			return String((await client.createProcessInstance(request)).processInstanceKey)
		},
		async result(processDefinitionId, variables = {}, { fetchVariables, requestTimeout = 30_000 } = {}) {
			const request = { processDefinitionId, variables, awaitCompletion: true, requestTimeout }
			if (fetchVariables) request.fetchVariables = fetchVariables
			return (await client.createProcessInstance(request)).variables
		},
		cancel: (processInstanceKey) => client.cancelProcessInstance({ processInstanceKey }),
		modify: (processInstanceKey, instructions) => client.modifyProcessInstance({ processInstanceKey, ...instructions }),
		setVariables: (elementInstanceKey, variables, local = false) =>
			client.createElementInstanceVariables({ elementInstanceKey, variables, local }),
		async activate(type, { count = 1, timeout = 60_000, wait = 30_000, fetch } = {}) {
			const request = { type, worker: 'check', timeout, maxJobsToActivate: count, requestTimeout: wait }
			if (fetch) request.fetchVariable = fetch
			return (await client.activateJobs(request)).jobs.map((j) => job(j))
		},
		complete: (jobKey, variables = {}) => client.completeJob({ jobKey, variables }),
		fail: (jobKey, retries, errorMessage, retryBackOff = 0, variables = {}) =>
			client.failJob({ jobKey, retries, errorMessage, retryBackOff, variables }),
		throwError: (jobKey, errorCode, errorMessage, variables = {}) =>
			client.throwJobError({ jobKey, errorCode, errorMessage, variables }),
		updateRetries: (jobKey, retries) => client.updateJob({ jobKey, changeset: { retries } }),
		updateTimeout: (jobKey, timeout) => client.updateJob({ jobKey, changeset: { timeout } }),
		resolveIncident: (incidentKey) => client.resolveIncident({ incidentKey }),
		publish: async (name, correlationKey, variables = {}, { timeToLive = 600_000, messageId } = {}) => {
			const request = { name, correlationKey, variables, timeToLive }
			if (messageId) request.messageId = messageId
			return String((await client.publishMessage(request)).messageKey)
		},
		async evaluate(decisionDefinitionId, variables) {
			return evaluation(await client.evaluateDecision({ decisionDefinitionId, variables }))
		},
		broadcast: (signalName, variables) => client.broadcastSignal({ signalName, variables }),
		migrate: (processInstanceKey, targetProcessDefinitionKey, mappings) =>
			client.migrateProcessInstance({ processInstanceKey, targetProcessDefinitionKey, mappingInstructions: mapping(mappings) }),
		worker(type, handler, options = {}) {
			const worker = client.createJobWorker({
				jobType: type,
				workerName: 'check-worker',
				jobTimeoutMs: 60_000,
				maxParallelJobs: 32,
				pollIntervalMs: 50,
				...options,
				jobHandler: (j) => handler(job(j), actions(j)),
			})
			return () => worker.stop()
		},
		code: (error) => error.title ?? error.message,
		detail: (error) => error.detail ?? error.message,
	}
}

const actions = (j) => ({
	complete: (variables = {}) => j.complete(variables),
	fail: (failure) => j.fail(failure),
	error: (errorCode, errorMessage, variables = {}) => j.error({ errorCode, errorMessage, variables }),
})
