// Counts checks: each is one line of output, and a failing one does not stop the others.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export const DEADLINE_MS = 30_000 // what a check waits for something that must happen
const only = process.env.SKEP_TEST_ONLY ?? ''
let passed = 0
console.error = () => {} // the clients report there that a stream they closed was cancelled
let failed = 0

export async function check(name, run) {
	if (!name.includes(only)) return
	const started = performance.now()
	let error
	try {
		await within(2 * DEADLINE_MS, 'the whole check', run())
	} catch (caught) {
		error = caught
	}
	const took = `(${((performance.now() - started) / 1000).toFixed(2)} s)`
	if (error === undefined) {
		passed += 1
		console.log(`ok   ${name} ${took}`)
	} else {
		failed += 1
		console.log(`FAIL ${name} ${took}\n     ${describe(error).replaceAll('\n', '\n     ')}`)
	}
}

/** What the error says, and the lines of the suite that it passed through. */
function describe(error) {
	const places = (error?.stack ?? '').split('\n').filter((line) => /^\s*at .*tests\/clients\/js\/(suite|elements|searches|transports)/.test(line))
	const more = [error?.detail, error?.details, error?.issues].flat().filter(Boolean)
	return [error?.message ?? String(error), ...more, ...places.map((line) => '  ' + line.trim())].join('\n')
}

export function finish() {
	console.log(`${passed} passed, ${failed} failed`)
	process.exit(failed ? 1 : 0)
}

export async function within(ms, what, promise) {
	const timer = new AbortController()
	const late = sleep(ms, undefined, { signal: timer.signal }).then(() => {
		throw new Error(`not within ${ms} ms: ${what}`)
	})
	late.catch(() => {}) // aborted: the promise was in time
	try {
		return await Promise.race([promise, late])
	} finally {
		timer.abort()
	}
}

/** Polls `condition` until it answers something true, and returns that. */
export async function until(what, condition) {
	const end = performance.now() + DEADLINE_MS
	for (;;) {
		const value = await condition()
		if (value) return value
		if (performance.now() > end) throw new Error(`not within ${DEADLINE_MS} ms: ${what}`)
		await sleep(20)
	}
}

const folder = (name) => join(process.env.SKEP_PROCESSES, name)
const files = (name) =>
	readdirSync(folder(name))
		.filter((file) => file.endsWith('.bpmn'))
		.sort()
		.map((file) => join(folder(name), file))

export const validFixtures = () => files('valid')

/** Every file of tests/processes/invalid with the id of the element that the finding must name, if it names one. */
export const invalidFixtures = () =>
	files('invalid').map((path) => {
		const text = readFileSync(path, 'utf8')
		return { path, name: basename(path), text, element: /finding on `([^`]+)`/.exec(text)?.[1] }
	})

let copies = 0

/**
 * A process of tests/processes/valid under names of its own: every copy gets a suffix on its process ids, job types,
 * message names and called processes, so that no check sees jobs or messages of another one. So does `dish.dmn` of
 * tests/processes/decisions; what it requires keeps its id, by which expressions know it.
 */
export function fixture(name, ...also) {
	const suffix = `-${++copies}`
	const copy = (file) => {
		const [from, ending] = file.endsWith('.dmn') ? ['decisions', ''] : ['valid', '.bpmn']
		let text = readFileSync(join(folder(from), file + ending), 'utf8')
		for (const pattern of [
			/(<bpmn:process id=")([^"]+)/g,
			/(<zeebe:taskDefinition type=")([^"=]+)/g,
			/(<zeebe:taskListener eventType="[^"]+" type=")([^"=]+)/g,
			/(<zeebe:executionListener eventType="[^"]+" type=")([^"=]+)/g,
			/(<zeebe:calledElement processId=")([^"=]+)/g,
			/(<bpmn:message id="[^"]+" name=")([^"=]+)/g,
			/(<definitions [^>]*\bid=")([^"]+)/g,
			/(<decision id=")(dish)/g,
		]) {
			text = text.replace(pattern, (_, start, original) => start + original + suffix)
		}
		const path = resolve(`${file}${suffix}${ending || '.dmn'}`)
		writeFileSync(path, text)
		return path
	}
	const paths = [name, ...also].map(copy)
	return { id: name + suffix, name: (original) => original + suffix, paths, path: paths[0] }
}
