// What the checks of every transport do again and again.
import assert from 'node:assert/strict'
import { fixture } from './checks.mjs'

export const refused = async (t, code, promise) => {
	try {
		await promise
	} catch (error) {
		assert.equal(t.code(error), code, t.detail(error))
		return t.detail(error)
	}
	assert.fail(`expected ${code}, got an answer`)
}

export const deploy = async (t, name, ...also) => {
	const f = fixture(name, ...also)
	await t.deploy(f.paths)
	return f
}

export const activateOne = async (t, type, options) => {
	const jobs = await t.activate(type, options)
	assert.equal(jobs.length, 1, `jobs of type ${type}`)
	return jobs[0]
}
