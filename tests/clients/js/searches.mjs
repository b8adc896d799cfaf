// Every search, get and statistics operation of REST 8.9 that is not about identity, and documents, over the client that checks
// each request and answer against its schemas.
import assert from 'node:assert/strict'
import { activateOne, deploy, refused } from './calls.mjs'
import { check, until } from './checks.mjs'

const NOW = { consistency: { waitUpToMs: 0 } } // a search sees what was acknowledged before it
const IDENTITY = /Authoriz|Authentication|Group|MappingRule|Role|Tenant(s|For|$)|ForTenant|User(s|sFor\w+)?$/
const OWN = ['getConfig', 'getAuthHeaders', 'getErrorMode', 'getBackpressureState', 'getWorkers']

/** The client, with a note of what was called. */
const noted = (client, called) =>
	new Proxy(client, {
		get: (target, name) => {
			const value = Reflect.get(target, name)
			if (typeof value !== 'function') return value
			return (...args) => {
				called.add(name)
				return value.apply(target, args)
			}
		},
	})

const only = ({ items }) => {
	assert.equal(items.length, 1)
	return items[0]
}
const count = async (what, search) => until(what, async () => (await search()).items.length > 0)

/** Instances with a user task, an incident, an awaited message, a decision and a call. */
const things = async (o) => {
	const review = await deploy(o, 'user-task')
	const paid = await deploy(o, 'message-catch')
	const decided = await deploy(o, 'business-rule-task', 'dish.dmn')
	const failing = await deploy(o, 'one-task')
	const instances = {
		review: await o.start(review.id, { assignee: 'anna', amount: 12.5 }),
		paid: await o.start(paid.id, { orderId: paid.id }),
		failing: await o.start(failing.id),
	}
	await o.result(decided.id, { decision: decided.name('dish'), month: 7 })
	const job = await activateOne(o, failing.name('one-task'))
	await o.fail(job.key, 0, 'no more paper')
	const created = await o.client.activateJobs({ type: review.name('user-task-created'), worker: 'check', timeout: 60_000, maxJobsToActivate: 1 })
	await o.client.completeJob({ jobKey: created.jobs[0].jobKey, variables: {}, result: { type: 'userTask' } })
	return { review, paid, decided, failing, instances, job }
}

const definitions = async (c, plain, { failing, decided }) => {
	const filter = { processDefinitionId: failing.id }
	const found = only(await c.searchProcessDefinitions({ filter, sort: [{ field: 'version', order: 'DESC' }] }, NOW))
	const { processDefinitionKey } = found
	assert.deepEqual(await c.getProcessDefinition({ processDefinitionKey }, NOW), found)
	assert.match(await c.getProcessDefinitionXml({ processDefinitionKey }, NOW), new RegExp(failing.id))
	await plain.getStartProcessForm({ processDefinitionKey }, NOW)
	const elements = await c.getProcessDefinitionStatistics({ processDefinitionKey, filter: {} }, NOW)
	assert.equal(elements.items.find((item) => item.elementId === 'task').incidents, 1)
	await c.getProcessDefinitionMessageSubscriptionStatistics({}, NOW)
	assert.ok((await c.getProcessDefinitionInstanceStatistics({}, NOW)).items.length > 0)
	await c.getProcessDefinitionInstanceVersionStatistics({ filter }, NOW)

	const decision = only(await c.searchDecisionDefinitions({ filter: { decisionDefinitionId: decided.name('dish') } }, NOW))
	const { decisionDefinitionKey, decisionRequirementsKey } = decision
	assert.deepEqual(await c.getDecisionDefinition({ decisionDefinitionKey }, NOW), decision)
	assert.match(await c.getDecisionDefinitionXml({ decisionDefinitionKey }, NOW), /dish/)
	const requirements = only(await c.searchDecisionRequirements({ filter: { decisionRequirementsKey } }, NOW))
	assert.deepEqual(await c.getDecisionRequirements({ decisionRequirementsKey }, NOW), requirements)
	assert.match(await c.getDecisionRequirementsXml({ decisionRequirementsKey }, NOW), /dish/)
	const evaluated = only(await c.searchDecisionInstances({ filter: { decisionDefinitionKey } }, NOW))
	const { decisionEvaluationInstanceKey } = evaluated
	assert.equal((await c.getDecisionInstance({ decisionEvaluationInstanceKey }, NOW)).state, 'EVALUATED')
}

const instances = async (c, plain, { failing, review, paid, instances }) => {
	const processInstanceKey = instances.failing
	const own = { processInstanceKey }
	const found = only(await c.searchProcessInstances({ filter: { processDefinitionId: failing.id, hasIncident: true } }, NOW))
	assert.deepEqual(await c.getProcessInstance(own, NOW), found)
	await c.getProcessInstanceCallHierarchy(own, NOW)
	const flows = await c.getProcessInstanceSequenceFlows(own, NOW)
	assert.deepEqual(flows.items.map((flow) => flow.elementId), ['start-to-task'])
	await c.getProcessInstanceStatistics(own, NOW)
	const element = only(await c.searchElementInstances({ filter: { ...own, elementId: 'task' } }, NOW))
	const { elementInstanceKey } = element
	assert.deepEqual(await c.getElementInstance({ elementInstanceKey }, NOW), element)

	const incident = only(await c.searchIncidents({ filter: own }, NOW))
	assert.equal(incident.errorMessage, 'no more paper')
	assert.deepEqual(await c.getIncident({ incidentKey: incident.incidentKey }, NOW), incident)
	assert.deepEqual(only(await c.searchProcessInstanceIncidents(own, NOW)), incident)
	assert.deepEqual(only(await c.searchElementInstanceIncidents({ elementInstanceKey }, NOW)), incident)
	assert.ok((await c.getProcessInstanceStatisticsByError({}, NOW)).items.length > 0)
	await c.getProcessInstanceStatisticsByDefinition({ filter: { errorHashCode: incident.errorHashCode ?? 0 } }, NOW)

	const [variable] = (await c.searchVariables({ filter: { processInstanceKey: instances.review, name: 'amount' } }, NOW)).items
	assert.deepEqual([variable.value, variable.isTruncated], ['12.5', false])
	assert.equal((await c.getVariable({ variableKey: variable.variableKey }, NOW)).value, '12.5')
	const waits = only(await c.searchMessageSubscriptions({ filter: { processInstanceKey: instances.paid } }, NOW))
	assert.equal(waits.correlationKey, paid.id)
	await c.publishMessage({ name: waits.messageName, correlationKey: paid.id, variables: {} })
	await count('the correlation', () => c.searchCorrelatedMessageSubscriptions({ filter: { processInstanceKey: instances.paid } }, NOW))
	const filter = { $or: [{ processDefinitionId: review.id }, { processDefinitionId: paid.id }] }
	const first = await c.searchProcessInstances({ filter, page: { limit: 1 } }, NOW)
	const second = await plain.searchProcessInstances({ filter, page: { limit: 1, after: first.page.endCursor } }, NOW)
	const keys = [first, second].map((page) => only(page).processInstanceKey)
	assert.deepEqual([first.page.totalItems, keys], [2, [instances.review, instances.paid]])
}

const work = async (c, plain, { failing, job, instances }) => {
	const found = only(await c.searchJobs({ filter: { jobKey: job.key } }, NOW))
	assert.deepEqual([found.retries, found.errorMessage], [0, 'no more paper'])
	const span = { from: new Date(Date.now() - 3_600_000).toISOString(), to: new Date(Date.now() + 60_000).toISOString() }
	assert.ok((await c.getGlobalJobStatistics(span, NOW)).failed.count > 0)
	const jobType = failing.name('one-task')
	await c.getJobTypeStatistics({ filter: { ...span, jobType } }, NOW)
	await c.getJobWorkerStatistics({ filter: { ...span, jobType } }, NOW)
	await c.getJobTimeSeriesStatistics({ filter: { ...span, jobType } }, NOW)
	await c.getJobErrorStatistics({ filter: { ...span, jobType } }, NOW)

	const task = only(await c.searchUserTasks({ filter: { processInstanceKey: instances.review, assignee: 'anna' } }, NOW))
	const { userTaskKey } = task
	assert.deepEqual(await c.getUserTask({ userTaskKey }, NOW), task)
	await plain.getUserTaskForm({ userTaskKey }, NOW)
	const named = (name) => ({ userTaskKey, filter: { name } })
	assert.equal(only(await c.searchUserTaskVariables(named('amount'), NOW)).value, '12.5')
	assert.equal(only(await c.searchUserTaskEffectiveVariables(named('amount'), NOW)).value, '12.5')
	await c.searchUserTaskAuditLogs({ userTaskKey }, NOW)
	const logged = await c.searchAuditLogs({}, NOW)
	const { auditLogKey } = logged.items[0]
	assert.equal((await c.getAuditLog({ auditLogKey }, NOW)).auditLogKey, auditLogKey)
}

const rest = async (c, plain, { failing }) => {
	const script = new File([JSON.stringify({ id: 'robot-' + failing.id, executionPlatform: 'Camunda Cloud', executionPlatformVersion: '8.7.0', script: '*** Tasks ***' })], 'robot.rpa')
	const deployed = await c.createDeployment({ resources: [script] })
	const { resourceKey } = deployed.resources[0]
	assert.equal((await c.getResource({ resourceKey })).resourceName, 'robot.rpa')
	assert.match(await c.getResourceContent({ resourceKey }), /Tasks/)
	const batch = await c.cancelProcessInstancesBatchOperation({ filter: { processDefinitionId: failing.id } })
	const { batchOperationKey } = batch
	await until('the batch has ended', async () => (await c.getBatchOperation({ batchOperationKey }, NOW)).endDate)
	assert.equal((await c.searchBatchOperations({ filter: { batchOperationKey } }, NOW)).items.length, 1)
	assert.equal((await c.searchBatchOperationItems({ filter: { batchOperationKey } }, NOW)).items.length, 1)
	const name = 'searched'
	await c.createGlobalClusterVariable({ name, value: { a: 1 } })
	await c.createTenantClusterVariable({ tenantId: '<default>', name, value: { a: 2 } })
	assert.equal((await c.getGlobalClusterVariable({ name }, NOW)).value, '{"a":1}')
	assert.equal((await c.getTenantClusterVariable({ tenantId: '<default>', name }, NOW)).value, '{"a":2}')
	assert.equal((await c.searchClusterVariables({ filter: { name } }, NOW)).items.length, 2)
	await c.deleteGlobalClusterVariable({ name })
	await c.deleteTenantClusterVariable({ tenantId: '<default>', name })
	const listener = { id: 'searched', type: 'none', eventTypes: ['completing'] }
	await c.createGlobalTaskListener(listener)
	assert.equal((await c.getGlobalTaskListener({ id: listener.id }, NOW)).type, 'none')
	assert.equal((await c.searchGlobalTaskListeners({ filter: { id: listener.id } }, NOW)).items.length, 1)
	await c.deleteGlobalTaskListener({ id: listener.id })
	const span = { startTime: new Date(Date.now() - 3_600_000).toISOString(), endTime: new Date(Date.now() + 600_000).toISOString() }
	assert.ok((await c.getUsageMetrics(span, NOW)).processInstances > 0)
	assert.equal((await c.getSystemConfiguration()).jobMetrics.enabled, true)
	await Promise.all([c.getTopology(), c.getLicense(), c.getStatus()])
}

const documents = async (plain, o) => {
	const file = new File(['some content'], 'note.txt', { type: 'text/plain' })
	const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
	const metadata = { fileName: 'Zettel.txt', expiresAt, customProperties: { pages: 1 } }
	const reference = await plain.createDocument({ file, metadata })
	assert.deepEqual([reference.metadata.fileName, reference.metadata.size], ['Zettel.txt', 12])
	assert.deepEqual(reference.metadata.customProperties, { pages: 1 })
	const { documentId, contentHash } = reference
	assert.equal(await plain.getDocument({ documentId, contentHash }), 'some content')
	await refused(o, 'FORBIDDEN', plain.createDocumentLink({ documentId, contentHash, timeToLive: 1000 }))
	await plain.deleteDocument({ documentId })
	await refused(o, 'NOT_FOUND', plain.deleteDocument({ documentId }))
	const both = await plain.createDocuments({ files: [file, new File(['x'], 'x.bin')] })
	assert.deepEqual([both.createdDocuments.length, both.failedDocuments.length], [2, 0])
	const binary = await plain.getDocument({ documentId: both.createdDocuments[1].documentId, contentHash: both.createdDocuments[1].contentHash })
	assert.equal(await binary.text(), 'x')
}

export async function searches(o, p) {
	const called = new Set()
	const [c, plain] = [noted(o.client, called), noted(p.client, called)]
	let made
	await check(`${o.label}: searches: what is searched for is there`, async () => {
		made = await things(o)
	})
	for (const [name, run] of Object.entries({ definitions, instances, work, rest })) {
		await check(`${o.label}: searches: ${name}`, () => run(c, plain, made))
	}
	await check(`${o.label}: searches: documents`, () => documents(plain, o))
	if (process.env.SKEP_TEST_ONLY) return
	await check(`${o.label}: searches: no operation is left out`, async () => {
		const names = Object.getOwnPropertyNames(Object.getPrototypeOf(o.client))
		const wanted = names.filter((name) => /^(get|search)[A-Z]|Document/.test(name) && !IDENTITY.test(name) && !OWN.includes(name))
		assert.ok(wanted.length > 60, `${wanted.length} operations`)
		assert.deepEqual(wanted.filter((name) => !called.has(name)), [])
	})
}
