// Decisions, signals, listeners and migration over every transport; over REST also what only it has: ad-hoc activities,
// decision instances, listeners for all processes, batch operations.
import assert from 'node:assert/strict'
import { activateOne, deploy, refused } from './calls.mjs'
import { check, until } from './checks.mjs'

const NOW = { consistency: { waitUpToMs: 0 } } // the checks poll by themselves

export const elements = {
	'a decision is evaluated with what led to it; one that fails says why': async (t) => {
		const f = await deploy(t, 'business-rule-task', 'dish.dmn')
		const dish = f.name('dish')
		const { why, ...stew } = await t.evaluate(dish, { month: 12, guests: 8 })
		const rules = ['season-winter', 'dish-stew']
		assert.deepEqual(stew, { output: '"stew"', failed: undefined, evaluated: ['season', dish], rules })
		assert.ok(!why, why)
		const failed = await t.evaluate(dish, { month: 13, guests: 8 })
		assert.equal(failed.failed, 'season')
		assert.match(failed.why, /no such month/)
		await refused(t, 'NOT_FOUND', t.evaluate('no-such-decision', {}))
		assert.equal((await t.result(f.id, { decision: dish, month: 7 })).dish, 'salad')
	},
	'a signal goes to all that wait for it': async (t) => {
		const f = await deploy(t, 'signal-events')
		const waiting = [1, 2].map((n) => t.result(f.id, { awaited: f.id, n }))
		let over = 0
		for (const result of waiting) result.then(() => over++, () => over++)
		// The API does not show who waits: broadcast until nobody does.
		await until('both have had the signal', async () => {
			await t.broadcast(f.id, { by: 'us' })
			return over === 2
		})
		for (const result of await Promise.all(waiting)) assert.equal(result.by, 'us')
	},
	'execution listeners come before and after their element': async (t) => {
		const f = await deploy(t, 'execution-listeners')
		const waiting = t.result(f.id)
		for (const [type, elementId] of [['begin', 'work'], ['work', 'work'], ['done', 'work'], ['end', f.id]]) {
			const job = await activateOne(t, f.name(`listener-${type}`))
			assert.equal(job.elementId, elementId)
			await t.complete(job.key, { [type]: true })
		}
		// What the first one sets is local to the element.
		assert.deepEqual({ ...(await waiting) }, { work: true, done: true, end: true })
	},
	'an instance is migrated and goes on in its new definition': async (t) => {
		const from = await deploy(t, 'one-task')
		const to = await deploy(t, 'two-tasks')
		const [target] = await t.deploy(to.paths)
		const instance = await t.start(from.id, { a: 1 })
		await refused(t, 'INVALID_ARGUMENT', t.migrate(instance, target.key, { task: 'nope' }))
		await refused(t, 'NOT_FOUND', t.migrate(instance, '1', { task: 'first' }))
		await t.migrate(instance, target.key, { task: 'first' })
		const job = await activateOne(t, from.name('one-task'))
		assert.deepEqual([job.processId, job.elementId, job.processInstanceKey], [to.id, 'first', instance])
		await t.complete(job.key)
		const next = await activateOne(t, to.name('two-tasks-second'))
		await t.complete(next.key)
		await refused(t, 'NOT_FOUND', t.migrate(instance, target.key, { task: 'first' }))
	},
}

/** The first page of a search, when it is as `ready` wants it. */
const found = (what, search, ready = (items) => items.length > 0) =>
	until(what, async () => {
		const { items } = await search()
		return ready(items) && items
	})

/** A job with what the adapter leaves out: kind, event of a listener. */
const fullJob = async (o, type) => {
	const { jobs } = await o.client.activateJobs({ type, worker: 'check', timeout: 60_000, maxJobsToActivate: 1, requestTimeout: 30_000 })
	assert.equal(jobs.length, 1, `jobs of type ${type}`)
	return jobs[0]
}

const adHoc = (o) => async () => {
	const f = await deploy(o, 'ad-hoc-sub-process')
	const waiting = o.result(f.id, { first: ['ask'] })
	const ask = await activateOne(o, f.name('ad-hoc-ask'))
	const filter = { processInstanceKey: ask.processInstanceKey, elementId: 'by-expression' }
	const [scope] = await found('the sub-process', () => o.client.searchElementInstances({ filter }, NOW))
	const adHocSubProcessInstanceKey = scope.elementInstanceKey
	const activate = (elementId) =>
		o.client.activateAdHocSubProcessActivities({ adHocSubProcessInstanceKey, elements: [{ elementId, variables: { word: 'bees' } }] })
	await refused(o, 'NOT_FOUND', activate('nope'))
	await activate('look')
	const look = await activateOne(o, f.name('ad-hoc-look'))
	assert.deepEqual([look.elementId, look.variables.word], ['look', 'bees'])
	await o.complete(ask.key, { known: true })
	await refused(o, 'NOT_FOUND', o.complete(look.key))

	const done = (job, result) =>
		o.client.completeJob({ jobKey: job.jobKey, variables: {}, result: { type: 'adHocSubProcess', ...result } })
	const agent = await fullJob(o, f.name('ad-hoc-agent'))
	assert.deepEqual([agent.kind, agent.elementId], ['AD_HOC_SUB_PROCESS', 'by-job'])
	await done(agent, { activateElements: [{ elementId: 'search', variables: { toolCall: { word: 'honey' } } }] })
	const search = await activateOne(o, f.name('ad-hoc-look'))
	assert.deepEqual([search.elementId, search.variables.word], ['search', 'honey'])
	await o.complete(search.key, { answer: 42 })
	await done(await fullJob(o, f.name('ad-hoc-agent')), { isCompletionConditionFulfilled: true })
	assert.deepEqual([...(await waiting).answers], [42])
}

const decisionInstances = (o) => async () => {
	const f = await deploy(o, 'business-rule-task', 'dish.dmn')
	const dish = f.name('dish')
	const { decisionEvaluationKey } = await o.client.evaluateDecision({ decisionDefinitionId: dish, variables: { month: 13 } })
	const search = (filter) => () => o.client.searchDecisionInstances({ filter }, NOW)
	const [failed] = await found('the failed evaluation', search({ decisionEvaluationKey }))
	assert.deepEqual([failed.decisionDefinitionId, failed.state, failed.processInstanceKey], ['season', 'FAILED', '-1'])
	assert.match(failed.evaluationFailure, /no such month/)
	await o.result(f.id, { decision: dish, month: 1, guests: 2 })
	const [one] = await found('the evaluation', search({ decisionDefinitionId: dish, state: 'EVALUATED' }))
	const { decisionEvaluationInstanceKey } = one
	const whole = await o.client.getDecisionInstance({ decisionEvaluationInstanceKey }, NOW)
	assert.deepEqual([whole.result, whole.evaluatedInputs.map((i) => i.inputValue)], ['"soup"', ['"winter"', '2']])
	assert.deepEqual(whole.matchedRules.map((r) => r.ruleId), ['dish-soup'])
}

const signalStart = (o) => async () => {
	const f = await deploy(o, 'signal-events')
	await o.broadcast('signal-events-start', { awaited: f.id })
	const search = () => o.client.searchProcessInstances({ filter: { processDefinitionId: f.id } }, NOW)
	const started = await found('the instance that the signal starts', search)
	assert.equal(started.length, 1)
	await until('it has had its signal', async () => {
		await o.broadcast(f.id, {})
		return (await search()).items[0].state === 'COMPLETED'
	})
}

const globalListener = (o) => async () => {
	const f = await deploy(o, 'user-task')
	const [id, type] = [f.id, `everywhere-${f.id}`]
	await o.client.createGlobalTaskListener({ id, type, eventTypes: ['creating'], retries: 5, afterNonGlobal: false, priority: 50 })
	try {
		const instance = await o.start(f.id, { assignee: 'anna' })
		const job = await fullJob(o, type)
		assert.deepEqual([job.kind, job.listenerEventType, job.retries], ['TASK_LISTENER', 'CREATING', 5])
		const result = { type: 'userTask', corrections: { candidateUsers: ['carl'] } }
		await o.client.completeJob({ jobKey: job.jobKey, variables: {}, result })
		const own = await fullJob(o, f.name('user-task-created'))
		assert.deepEqual([...own.userTask.candidateUsers], ['carl'])
		await o.cancel(instance)
	} finally {
		await o.client.deleteGlobalTaskListener({ id })
	}
}

const COUNT = 3

/** Waits for the end of a batch; everything in it must have gone well, or nothing. */
const batchEnds = async (o, created, type, failed = false) => {
	const { batchOperationKey, batchOperationType } = created
	assert.equal(batchOperationType, type)
	const filter = { batchOperationKey }
	await found(`the end of the batch ${type}`, () => o.client.searchBatchOperations({ filter }, NOW), ([batch]) => batch?.endDate)
	const batch = await o.client.getBatchOperation({ batchOperationKey }, NOW)
	const { state, operationsTotalCount, operationsCompletedCount, operationsFailedCount } = batch
	const counts = failed ? [0, COUNT] : [COUNT, 0]
	assert.deepEqual([state, operationsTotalCount, operationsCompletedCount, operationsFailedCount], ['COMPLETED', COUNT, ...counts])
	const { items } = await o.client.searchBatchOperationItems({ filter }, NOW)
	assert.deepEqual(items.map((i) => i.state), Array(COUNT).fill(failed ? 'FAILED' : 'COMPLETED'))
	if (failed) for (const item of items) assert.ok(item.errorMessage)
}

const instancesAre = (o, processDefinitionId, state, count = COUNT) =>
	found(
		`${count} instances that are ${state}`,
		() => o.client.searchProcessInstances({ filter: { processDefinitionId, state } }, NOW),
		(items) => items.length === count,
	)

const batches = (o) => async () => {
	const from = await deploy(o, 'one-task')
	const to = await deploy(o, 'two-tasks')
	const task = await deploy(o, 'user-task')
	const keyOf = async (f) => (await o.deploy(f.paths))[0].key
	const keys = []
	for (let n = 0; n < COUNT; n++) keys.push(await o.start(from.id, { n }))
	await instancesAre(o, from.id, 'ACTIVE')
	const migrate = async (f, targetElementId) =>
		o.client.migrateProcessInstancesBatchOperation({
			filter: { processDefinitionId: from.id },
			migrationPlan: {
				targetProcessDefinitionKey: await keyOf(f),
				mappingInstructions: [{ sourceElementId: 'task', targetElementId }],
			},
		})
	// A service task becomes no user task: each item fails.
	await batchEnds(o, await migrate(task, 'approve'), 'MIGRATE_PROCESS_INSTANCE', true)
	await batchEnds(o, await migrate(to, 'first'), 'MIGRATE_PROCESS_INSTANCE')
	await instancesAre(o, to.id, 'ACTIVE')

	const filter = { processDefinitionId: to.id }
	const moveInstructions = [{ sourceElementId: 'first', targetElementId: 'second' }]
	await batchEnds(o, await o.client.modifyProcessInstancesBatchOperation({ filter, moveInstructions }), 'MODIFY_PROCESS_INSTANCE')
	const jobs = []
	while (jobs.length < COUNT) jobs.push(await activateOne(o, to.name('two-tasks-second')))
	assert.deepEqual(jobs.map((j) => j.processInstanceKey).sort(), [...keys].sort())

	for (const { key } of jobs) {
		await o.fail(key, 0, 'no paper')
		await o.updateRetries(key, 1)
	}
	await found(
		'all incidents',
		() => o.client.searchProcessInstances({ filter: { ...filter, hasIncident: true } }, NOW),
		(items) => items.length === COUNT,
	)
	await batchEnds(o, await o.client.resolveIncidentsBatchOperation({ filter }), 'RESOLVE_INCIDENT')
	const again = []
	while (again.length < COUNT) again.push(await activateOne(o, to.name('two-tasks-second')))
	assert.deepEqual(again.map((j) => j.key).sort(), jobs.map((j) => j.key).sort())

	await batchEnds(o, await o.client.cancelProcessInstancesBatchOperation({ filter }), 'CANCEL_PROCESS_INSTANCE')
	for (const key of keys) await refused(o, 'NOT_FOUND', o.cancel(key))
	await instancesAre(o, to.id, 'TERMINATED')
	await batchEnds(o, await o.client.deleteProcessInstancesBatchOperation({ filter }), 'DELETE_PROCESS_INSTANCE')
	await instancesAre(o, to.id, 'TERMINATED', 0)
}

export async function restElements(o) {
	await check(`${o.label}: ad-hoc activities are activated by a client and by a job`, adHoc(o))
	await check(`${o.label}: decision instances are found, with what led to them`, decisionInstances(o))
	await check(`${o.label}: a signal starts an instance`, signalStart(o))
	await check(`${o.label}: a listener for the tasks of all processes comes before their own`, globalListener(o))
	await check(`${o.label}: batches migrate, modify, resolve, cancel and delete by filter`, batches(o))
}
