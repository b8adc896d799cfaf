// A worker of @camunda8/orchestration-cluster-api, unchanged, that logs in by what the environment says: creates instances and works them.
import createCamundaClient from '@camunda8/orchestration-cluster-api'

const name = process.env.NAME
const long = Number(process.env.LONG) * 1000
const client = createCamundaClient({ config: { CAMUNDA_SDK_LOG_LEVEL: 'error', CAMUNDA_SDK_HTTP_RETRY_MAX_ATTEMPTS: 1 } })
const created = []
const done = new Set()
const worker = client.createJobWorker({
	jobType: process.env.JOB_TYPE ?? name,
	jobTimeoutMs: 60_000,
	maxParallelJobs: 10,
	jobHandler: (job) => {
		done.add(job.processInstanceKey)
		return job.complete({})
	},
})
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const end = Date.now() + long
while (Date.now() < end) {
	created.push((await client.createProcessInstance({ processDefinitionId: name })).processInstanceKey)
	await pause(200)
}
for (;;) {
	const open = created.filter((key) => !done.has(key))
	if (open.length === 0) break
	if (Date.now() > end + 30_000) throw new Error(`${open.length} of ${created.length} were never worked`)
	await pause(50)
}
worker.stop()
process.exit(0)
