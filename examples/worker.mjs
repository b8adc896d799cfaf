// A worker for examples/first-process.bpmn with @camunda8/sdk (REST).
//
//     npm install @camunda8/sdk
//     node examples/worker.mjs
import { Camunda8 } from '@camunda8/sdk'

const client = new Camunda8({
	CAMUNDA_AUTH_STRATEGY: 'NONE',
	ZEEBE_REST_ADDRESS: process.env.ZEEBE_REST_ADDRESS ?? 'http://localhost:8080',
}).getCamundaRestClient()

client.createJobWorker({
	type: 'charge-card',
	worker: 'worker.mjs',
	timeout: 30_000, // ms until an unfinished job is offered to another worker
	maxJobsToActivate: 32,
	jobHandler: (job) => {
		const { orderId, amount } = job.variables
		if (amount < 0) {
			// A BPMN error: a boundary event can catch it.
			return job.error({ errorCode: 'NEGATIVE_AMOUNT', errorMessage: `${amount}`, variables: {} })
		}
		console.log(`${orderId}: charging ${amount}`)
		return job.complete({ charged: amount <= 500 })
	},
})
console.log('waiting for jobs; Ctrl+C ends')
