// @camunda8/sdk and @camunda8/orchestration-cluster-api (npm), unchanged, against a running skep: REST clients, and the
// gRPC client with polling and with streaming workers. The same checks run over each.
import assert from 'node:assert/strict'
import { activateOne, deploy, refused } from './calls.mjs'
import { check, finish, fixture, invalidFixtures, until, validFixtures } from './checks.mjs'
import { elements, restElements } from './elements.mjs'
import { searches } from './searches.mjs'
import { grpc, grpcStream, plainOrchestration, rest, sdkOrchestration, strictOrchestration } from './transports.mjs'

/** Runs `inside` while workers with these handlers, by job type, are open. */
const withWorkers = async (t, handlers, inside, options) => {
	const stops = await Promise.all(Object.entries(handlers).map(([type, handler]) => t.worker(type, handler, options)))
	try {
		return await inside()
	} finally {
		await Promise.all(stops.map((stop) => stop()))
	}
}

/**
 * Resolves the first incident with a key above this one. Commands do not answer with the key of an incident, and this
 * suite does without the query API. But a partition numbers its records in order: an incident's key is a little above
 * those of its job and its instance.
 */
const resolveIncidentAfter = async (t, key) => {
	for (let incident = BigInt(key) + 1n; incident < BigInt(key) + 100n; incident++) {
		try {
			await t.resolveIncident(String(incident))
		} catch (error) {
			assert.equal(t.code(error), 'NOT_FOUND', t.detail(error))
			continue
		}
		await refused(t, 'NOT_FOUND', t.resolveIncident(String(incident)))
		return
	}
	assert.fail(`no incident after ${key}`)
}

// What works alike over every transport, workers aside.
const commands = {
	'deployment numbers versions by content and refuses unknown ids': async (t) => {
		const f = fixture('one-task')
		const [first] = await t.deploy(f.paths)
		assert.deepEqual([first.id, first.version, first.tenantId], [f.id, 1, '<default>'])
		assert.deepEqual(await t.deploy(f.paths), [first], 'the same content again')
		await t.start(f.id, {}, { version: 1 })
		await refused(t, 'NOT_FOUND', t.start(f.id, {}, { version: 7 }))
		await refused(t, 'NOT_FOUND', t.start('no-such-process'))
		await t.deleteResource(first.key)
		await refused(t, 'NOT_FOUND', t.start(f.id))
		// An instance runs: the definition goes when that has ended.
		await refused(t, 'INVALID_STATE', t.deleteResource(first.key))
	},
	'every valid fixture deploys, forty at a time': async (t) => {
		const files = validFixtures()
		const ids = []
		// A deployment over REST has 50 parts at most.
		for (let at = 0; at < files.length; at += 40) {
			ids.push(...(await t.deploy(files.slice(at, at + 40))).map((p) => p.id))
		}
		assert.equal(ids.length, files.length + 1, 'two-processes.bpmn has two that are executable')
		assert.ok(ids.includes('two-processes-b') && !ids.includes('two-processes-drawn'))
	},
	'every invalid fixture is refused with file and element named': async (t) => {
		const wrong = []
		for (const { path, name, element } of invalidFixtures()) {
			try {
				await t.deploy([path])
				wrong.push(`${name}: deployed`)
			} catch (error) {
				if (t.code(error) !== 'INVALID_ARGUMENT') wrong.push(`${name}: ${t.code(error)} ${t.detail(error)}`)
				for (const part of [name, element].filter(Boolean)) {
					if (!t.detail(error).includes(part)) wrong.push(`${name}: does not name ${part}: ${t.detail(error)}`)
				}
			}
		}
		assert.ok(wrong.length === 0, `${wrong.length} findings, the first:\n${wrong.slice(0, 10).join('\n')}`)
		await refused(t, 'NOT_FOUND', t.start('invalid'))
	},
	'an awaited instance answers with the variables asked for': async (t) => {
		const f = await deploy(t, 'empty')
		const given = { a: 1, list: [1, { c: null }], text: 'Grüße, 世界', real: 0.5 }
		assert.deepEqual(JSON.parse(JSON.stringify(await t.result(f.id, given))), given)
		assert.deepEqual(await t.result(f.id, given, { fetchVariables: ['a'] }), { a: 1 })
	},
	'an instance that does not end in time is DEADLINE_EXCEEDED and goes on': async (t) => {
		const f = await deploy(t, 'one-task')
		await refused(t, 'DEADLINE_EXCEEDED', t.result(f.id, {}, { requestTimeout: 200 }))
		await activateOne(t, f.name('one-task'))
	},
	'an instance starts at a given element': async (t) => {
		const f = await deploy(t, 'two-tasks')
		await t.start(f.id, {}, { startAt: 'second' })
		assert.equal((await activateOne(t, f.name('two-tasks-second'))).elementId, 'second')
		assert.deepEqual(await t.activate(f.name('two-tasks-first'), { wait: -1 }), [])
	},
	'an activated job carries all of its facts': async (t) => {
		const f = await deploy(t, 'job-headers-and-expressions')
		const kind = f.id
		const instance = await t.start(f.id, { kind, attempts: 7, extra: 'unfetched' })
		const before = Date.now()
		const job = await activateOne(t, `job-${kind}`, { fetch: ['kind', 'attempts'] })
		const { key, elementInstanceKey, deadline, ...facts } = job
		assert.ok(Number(key) > 0 && Number(elementInstanceKey) > 0 && deadline >= before + 59_000)
		assert.deepEqual(facts, {
			type: `job-${kind}`,
			retries: 7,
			variables: { kind, attempts: 7 },
			headers: { currency: 'EUR', channel: 'web & app' },
			elementId: 'task',
			processInstanceKey: instance,
			processId: f.id,
			worker: 'check',
			tenantId: '<default>',
		})
	},
	'long polling waits for a job, and not for ever': async (t) => {
		const f = await deploy(t, 'one-task')
		const waiting = activateOne(t, f.name('one-task'))
		const instance = await t.start(f.id)
		assert.equal((await waiting).processInstanceKey, instance)
		const started = performance.now()
		assert.deepEqual(await t.activate(f.name('one-task'), { wait: 300 }), [])
		assert.ok(performance.now() - started >= 290)
	},
	'a job is completed, failed, thrown, found no more': async (t) => {
		const f = await deploy(t, 'error-boundary')
		const type = f.name('error-boundary')
		const waiting = t.result(f.id)
		const first = await activateOne(t, type)
		const failed = performance.now()
		await t.fail(first.key, 1, 'busy', 300, { hint: 'later' })
		const second = await activateOne(t, type)
		assert.ok(performance.now() - failed >= 300, 'the back-off')
		assert.deepEqual([second.key, second.retries, second.variables], [first.key, 1, { hint: 'later' }])
		await t.throwError(second.key, 'CARD_DECLINED', 'no money', { reason: 'poor' })
		assert.equal((await waiting).outcome, 'declined')
		for (const key of [second.key, '123']) {
			await refused(t, 'NOT_FOUND', t.complete(key))
			await refused(t, 'NOT_FOUND', t.fail(key, 1, 'x'))
			await refused(t, 'NOT_FOUND', t.throwError(key, 'X', 'x'))
			await refused(t, 'NOT_FOUND', t.updateTimeout(key, 1000))
		}
	},
	'a job is offered again after its timeout, which can be changed': async (t) => {
		const f = await deploy(t, 'one-task')
		const waiting = t.result(f.id)
		const first = await activateOne(t, f.name('one-task'), { timeout: 200 })
		const second = await activateOne(t, f.name('one-task'), { timeout: 3_600_000 })
		assert.equal(first.key, second.key)
		await t.updateTimeout(second.key, 100)
		const third = await activateOne(t, f.name('one-task'))
		assert.deepEqual([third.key, third.retries], [first.key, 3])
		await t.complete(third.key, { done: true })
		assert.deepEqual(await waiting, { done: true })
	},
	'a job without retries raises an incident that can be resolved': async (t) => {
		const f = await deploy(t, 'one-task')
		await t.start(f.id)
		const job = await activateOne(t, f.name('one-task'))
		await t.fail(job.key, 0, 'out of paper')
		assert.deepEqual(await t.activate(f.name('one-task'), { wait: -1 }), [])
		await refused(t, 'INVALID_STATE', t.complete(job.key))
		await t.updateRetries(job.key, 2)
		await resolveIncidentAfter(t, job.key)
		const again = await activateOne(t, f.name('one-task'))
		assert.deepEqual([again.key, again.retries], [job.key, 2])
	},
	'set variables are seen by the next job, local ones are not': async (t) => {
		const f = await deploy(t, 'two-tasks')
		const instance = await t.start(f.id, { a: 1 })
		const first = await activateOne(t, f.name('two-tasks-first'))
		await t.setVariables(instance, { a: 2, b: 'new' })
		await t.setVariables(first.elementInstanceKey, { local: true }, true)
		await t.complete(first.key)
		assert.deepEqual((await activateOne(t, f.name('two-tasks-second'))).variables, { a: 2, b: 'new' })
		await refused(t, 'NOT_FOUND', t.setVariables('123', {}))
	},
	'a cancelled instance is gone and so is its job': async (t) => {
		const f = await deploy(t, 'one-task')
		const instance = await t.start(f.id)
		const job = await activateOne(t, f.name('one-task'))
		await t.cancel(instance)
		await refused(t, 'NOT_FOUND', t.complete(job.key))
		await refused(t, 'NOT_FOUND', t.cancel(instance))
	},
	'an instance is modified': async (t) => {
		const f = await deploy(t, 'two-tasks')
		const instance = await t.start(f.id, { a: 1 })
		const first = await activateOne(t, f.name('two-tasks-first'))
		const second = (...variableInstructions) => [{ elementId: 'second', variableInstructions }]
		await t.modify(instance, {
			activateInstructions: second({ variables: { a: 2 } }, { variables: { own: true }, scopeId: 'second' }),
			terminateInstructions: [{ elementInstanceKey: first.elementInstanceKey }],
		})
		await refused(t, 'NOT_FOUND', t.complete(first.key))
		const job = await activateOne(t, f.name('two-tasks-second'))
		assert.deepEqual(job.variables, { a: 2, own: true })
		const refusal = (instructions) => refused(t, 'INVALID_ARGUMENT', t.modify(instance, instructions))
		assert.match(await refusal({ activateInstructions: [{ elementId: 'nope', variableInstructions: [] }] }), /nope/)
		assert.match(await refusal({ terminateInstructions: [{ elementInstanceKey: '1' }] }), /'1'/)
		await refused(t, 'NOT_FOUND', t.modify('1', { activateInstructions: second() }))
		// The last of it: the instance goes too.
		await t.modify(instance, { terminateInstructions: [{ elementInstanceKey: job.elementInstanceKey }] })
		await refused(t, 'NOT_FOUND', t.cancel(instance))
	},
	'published messages correlate, are buffered and have unique ids': async (t) => {
		const f = await deploy(t, 'message-catch')
		const name = f.name('payment-received')
		await t.publish(name, 'order-1', { n: 0 }, { timeToLive: 0 })
		await t.publish(name, 'order-1', { n: 1 }, { messageId: 'one' })
		await refused(t, 'ALREADY_EXISTS', t.publish(name, 'order-1', {}, { messageId: 'one' }))
		assert.deepEqual(await t.result(f.id, { orderId: 'order-1' }), { orderId: 'order-1', n: 1 })
		const waiting = t.result(f.id, { orderId: 'order-2' })
		await t.publish(name, 'order-2', { n: 2 })
		assert.equal((await waiting).n, 2)
	},
	'timers fire and interrupt': async (t) => {
		const f = await deploy(t, 'timer-duration')
		const started = performance.now()
		await t.result(f.id, { wait: 'PT0.3S' })
		assert.ok(performance.now() - started >= 290)
		const g = await deploy(t, 'timer-boundary')
		assert.equal((await t.result(g.id, { limit: 'PT0.2S' })).outcome, 'too late')
	},
	'gateways, sub-processes and errors lead where they should': async (t) => {
		const f = await deploy(t, 'exclusive-gateway')
		for (const [amount, path] of [[5000, 'manual'], [100, 'checked'], [99.99, 'automatic']]) {
			assert.equal((await t.result(f.id, { amount })).path, path)
		}
		await t.result((await deploy(t, 'gateways-nested')).id, { fast: true })
		assert.equal((await t.result((await deploy(t, 'error-end')).id)).outcome, 'out of stock')
		assert.equal((await t.result((await deploy(t, 'sub-process')).id, { limit: 'PT0.2S' })).outcome, 'too late')
	},
}

// What a worker does.
const workers = {
	'a worker completes jobs with variables': async (t) => {
		const f = await deploy(t, 'one-task')
		const handler = (job, act) => act.complete({ doubled: job.variables.amount * 2 })
		await withWorkers(t, { [f.name('one-task')]: handler }, async () => {
			assert.deepEqual(await t.result(f.id, { amount: 21 }), { amount: 21, doubled: 42 })
		})
	},
	'a worker gets every job once': async (t) => {
		const f = await deploy(t, 'two-tasks')
		const seen = []
		const handler = (step) => (job, act) => {
			seen.push(`${step} ${job.processInstanceKey}`)
			return act.complete({ [step]: true })
		}
		const handlers = { [f.name('two-tasks-first')]: handler('first'), [f.name('two-tasks-second')]: handler('second') }
		await withWorkers(t, handlers, async () => {
			// Ten at a time: a client of 8.8 has 16 requests in flight at most, and its workers need some of them.
			for (let round = 0; round < 10; round++) {
				const results = await Promise.all(Array.from({ length: 10 }, (_, n) => t.result(f.id, { n })))
				assert.deepEqual(results, results.map((_, n) => ({ n, first: true, second: true })))
			}
		})
		assert.deepEqual([seen.length, new Set(seen).size], [200, 200])
	},
	'a failing job uses up its retries, with back-off, and comes back': async (t) => {
		const f = await deploy(t, 'one-task')
		const attempts = []
		const handler = (job, act) => {
			attempts.push([job.retries, performance.now()])
			return job.retries > 1
				? act.fail({ errorMessage: 'the printer is on fire', retries: job.retries - 1, retryBackOff: 200 })
				: act.complete({ printed: true })
		}
		await withWorkers(t, { [f.name('one-task')]: handler }, async () => {
			assert.equal((await t.result(f.id)).printed, true)
		})
		assert.deepEqual(attempts.map(([retries]) => retries), [3, 2, 1])
		assert.ok(attempts[2][1] - attempts[1][1] >= 200 && attempts[1][1] - attempts[0][1] >= 200, 'the back-off')
	},
	'a business error takes its boundary event': async (t) => {
		const f = await deploy(t, 'error-boundary')
		const handler = (job, act) => act.error(job.variables.code, 'refused', { seen: true })
		await withWorkers(t, { [f.name('error-boundary')]: handler }, async () => {
			assert.equal((await t.result(f.id, { code: 'CARD_DECLINED' })).outcome, 'declined')
			assert.equal((await t.result(f.id, { code: 'SOMETHING_ELSE' })).outcome, 'failed')
		})
	},
	'workers join a fork and a called process': async (t) => {
		const f = await deploy(t, 'parallel-gateway')
		const g = await deploy(t, 'call-activity', 'called')
		const handlers = {
			[f.name('parallel-left')]: (_, act) => act.complete({ left: 1 }),
			[f.name('parallel-right')]: (_, act) => act.complete({ right: 2 }),
			[g.name('called')]: (job, act) => act.complete({ doubled: job.variables.amount * 2 }),
		}
		await withWorkers(t, handlers, async () => {
			assert.deepEqual(await t.result(f.id), { left: 1, right: 2 })
			assert.deepEqual(await t.result(g.id, { amount: 4 }), { amount: 4, doubled: 8 })
		})
	},
}

for (const t of [rest(), grpc(), sdkOrchestration(), strictOrchestration()]) {
	await check(`${t.label}: topology shows one healthy leader per partition`, async () => {
		const topology = await t.topology()
		assert.deepEqual([topology.clusterSize, topology.replicationFactor, topology.brokers.length], [1, 1, 1])
		const partitions = topology.brokers[0].partitions
		assert.equal(partitions.length, topology.partitionsCount)
		assert.ok(partitions.every((p) => /^leader$/i.test(p.role) && /^healthy$/i.test(p.health)))
		assert.ok(topology.gatewayVersion)
	})
	for (const [name, run] of Object.entries({ ...commands, ...elements, ...workers })) {
		await check(`${t.label}: ${name}`, () => run(t))
	}
}

const stream = grpcStream()
for (const [name, run] of Object.entries(workers)) await check(`${stream.label}: ${name}`, () => run(stream))

await check('gRPC stream: a job that was there before the stream arrives too', async () => {
	const f = await deploy(stream, 'one-task')
	const waiting = stream.result(f.id)
	// The instance is there when its job cannot be activated any more but by us: take it and give it back at once.
	const job = await activateOne(stream, f.name('one-task'))
	await stream.fail(job.key, 3, 'given back')
	await withWorkers(stream, { [f.name('one-task')]: (_, act) => act.complete({ late: true }) }, async () => {
		assert.deepEqual(await waiting, { late: true })
	})
})

// REST alone.
const r = rest()
const o = strictOrchestration()

await check('REST: a message is correlated, and the instance named', async () => {
	const f = await deploy(r, 'message-catch')
	const name = f.name('payment-received')
	await refused(r, 'NOT_FOUND', r.client.correlateMessage({ name, correlationKey: 'nobody', variables: {} }))
	const instance = await r.start(f.id, { orderId: 'o-1' })
	// The subscription opens a moment after the instance; until then nothing waits for the message.
	const answer = await until('the message correlates', async () => {
		try {
			return await r.client.correlateMessage({ name, correlationKey: 'o-1', variables: { n: 1 } })
		} catch (error) {
			assert.equal(r.code(error), 'NOT_FOUND', r.detail(error))
		}
	})
	assert.equal(answer.processInstanceKey, instance)
	await refused(r, 'NOT_FOUND', r.cancel(instance))
})

await check(`${o.label}: what is active is moved, by id and by key`, async () => {
	const g = await deploy(o, 'two-tasks')
	const instance = await o.start(g.id, { a: 1 })
	const first = await activateOne(o, g.name('two-tasks-first'))
	const to = (sourceElementInstruction, targetElementId, more = {}) => ({
		moveInstructions: [{ sourceElementInstruction, targetElementId, ...more }],
	})
	await o.modify(instance, to({ sourceType: 'byKey', sourceElementInstanceKey: first.elementInstanceKey }, 'second'))
	const second = await activateOne(o, g.name('two-tasks-second'))
	const inferred = { ancestorScopeInstruction: { ancestorScopeType: 'inferred' } }
	await o.modify(instance, to({ sourceType: 'byId', sourceElementId: 'second' }, 'first', inferred))
	await refused(o, 'NOT_FOUND', o.complete(second.key))
	await activateOne(o, g.name('two-tasks-first'))
	await o.modify(instance, { terminateInstructions: [{ elementId: 'first' }] })
	await refused(o, 'NOT_FOUND', o.cancel(instance))
})

/** A task from its creation to its completion, by one client or the other. */
const userTask = async (t) => {
	const f = await deploy(t, 'user-task')
	const instance = await t.start(f.id, { assignee: 'anna' })
	const listener = async (type) => {
		const request = { type: f.name(type), worker: 'check', timeout: 60_000, maxJobsToActivate: 1, requestTimeout: 30_000 }
		const [found] = (await t.client.activateJobs(request)).jobs
		assert.equal(found.kind, 'TASK_LISTENER')
		return found
	}
	const done = (j, result) => t.client.completeJob({ jobKey: j.jobKey, variables: {}, result: { type: 'userTask', ...result } })
	const created = await listener('user-task-created')
	assert.equal(created.listenerEventType, 'CREATING')
	const shown = created.userTask
	assert.deepEqual(
		[shown.assignee, [...shown.candidateGroups], Number(shown.priority), shown.dueDate],
		['anna', ['managers'], 70, '2031-05-06T07:08:09Z'],
	)
	const userTaskKey = String(shown.userTaskKey)
	await refused(t, 'INVALID_STATE', t.client.completeUserTask({ userTaskKey }))
	await done(created, { corrections: { priority: 80 } })

	// The strict client adds the default of the priority where it is left out.
	await t.client.updateUserTask({ userTaskKey, changeset: { candidateGroups: ['clerks'], priority: 80 } })
	const claim = (assignee) => t.client.assignUserTask({ userTaskKey, assignee, allowOverride: false })
	await refused(t, 'INVALID_STATE', claim('bert'))
	await t.client.unassignUserTask({ userTaskKey })
	await claim('bert')

	const complete = (variables) => t.client.completeUserTask({ userTaskKey, variables })
	const denied = refused(t, 'INVALID_STATE', complete({ approved: false }))
	const first = await listener('user-task-checked')
	const { assignee, candidateGroups, priority } = first.userTask
	assert.deepEqual([assignee, [...candidateGroups], Number(priority)], ['bert', ['clerks'], 80])
	assert.equal(first.variables.approved, false)
	await done(first, { denied: true, deniedReason: 'not this way' })
	assert.match(await denied, /not this way/)
	const completed = complete({ approved: true })
	await done(await listener('user-task-checked'), {})
	await completed
	await refused(t, 'NOT_FOUND', t.client.unassignUserTask({ userTaskKey }))
	await refused(t, 'NOT_FOUND', t.cancel(instance))
}
// The older REST client sends no results of jobs.
for (const t of [sdkOrchestration(), o]) await check(`${t.label}: a user task and its listeners`, () => userTask(t))

await check(`${o.label}: conditions start, trigger and end; cluster variables are seen`, async () => {
	const f = await deploy(o, 'conditional-events')
	const watched = f.id
	await o.client.createGlobalClusterVariable({ name: 'watched', value: { item: watched } })
	await refused(o, 'ALREADY_EXISTS', o.client.createGlobalClusterVariable({ name: 'watched', value: {} }))
	const found = await o.client.searchClusterVariables({ filter: { name: 'watched' } }, { consistency: { waitUpToMs: 0 } })
	assert.deepEqual(found.items.map((v) => [v.scope, v.tenantId, v.value]), [['GLOBAL', null, JSON.stringify({ item: watched })]])
	// Of this definition alone: the fixture itself is deployed too, and starts as well.
	const [{ key: processDefinitionKey }] = await o.deploy(f.paths)
	const evaluate = (variables) => o.client.evaluateConditionals({ variables, processDefinitionKey })
	assert.deepEqual([...(await evaluate({ stock: 9, item: watched })).processInstances], [])
	assert.deepEqual([...(await evaluate({ stock: 2, item: 'other' })).processInstances], [])
	const begun = async () => {
		const answer = await evaluate({ stock: 2, item: watched })
		assert.equal(answer.processInstances.length, 1)
		return String(answer.processInstances[0].processInstanceKey)
	}
	const instance = await begun()
	const job = await activateOne(o, f.name('conditional-events-reorder'))
	assert.deepEqual([job.processInstanceKey, job.variables.stock], [instance, 2])
	await o.complete(job.key)
	await o.setVariables(instance, { stock: 4 })
	await o.setVariables(instance, { stock: 12 })
	// Its condition holds when it begins to wait, and after each change.
	const noted = await o.activate(f.name('conditional-events-noted'), { count: 5 })
	assert.equal(noted.length, 3)
	for (const { key } of noted) await o.complete(key)
	await refused(o, 'NOT_FOUND', o.cancel(instance))
	const other = await begun()
	await o.setVariables(other, { cancelled: true })
	await refused(o, 'NOT_FOUND', o.cancel(other))
	await o.client.deleteGlobalClusterVariable({ name: 'watched' })
})

await restElements(o)
await searches(o, plainOrchestration())

await check('REST: license and status', async () => {
	const license = await o.client.getLicense()
	assert.equal(typeof license.validLicense, 'boolean')
	assert.equal(typeof license.licenseType, 'string')
	assert.ok(await r.client.getLicenseStatus())
	await o.client.getStatus()
})

await check('REST: the clock can be pinned and reset', async () => {
	const f = await deploy(r, 'timer-date')
	const future = Date.now() + 3_600_000
	const waiting = r.result(f.id, { due: new Date(future).toISOString() })
	try {
		await r.client.pinInternalClock(future + 1000)
		await waiting
	} finally {
		await r.client.resetClock()
	}
})

await check('REST: a request with an unknown field or a wrong type is a 400 that names it', async () => {
	const call = (body) => r.client.callApiEndpoint({ method: 'POST', urlPath: 'process-instances', body })
	assert.match(await refused(r, 'INVALID_ARGUMENT', call({ processDefinitionId: 'x', nonsense: 1 })), /nonsense/)
	assert.match(await refused(r, 'INVALID_ARGUMENT', call({ processDefinitionId: 'x', variables: 7 })), /variables/)
	assert.match(await refused(r, 'INVALID_ARGUMENT', call({})), /processDefinition/)
})

finish()
