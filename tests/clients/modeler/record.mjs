// Records what @camunda8/sdk, the library by which modelers deploy, sends over REST to check a connection, deploy three files and start an
// instance: node record.mjs DIRECTORY, with a link to js/node_modules beside it. The server that answers is
// this program, so that the requests depend on no other.
import { createServer } from 'node:net'
import { readFileSync, writeFileSync } from 'node:fs'
import { Camunda8 } from '@camunda8/sdk'

const here = new URL('.', import.meta.url).pathname
const directory = process.argv[2] ?? `${here}recorded`
const names = ['1-topology', '2-deployment', '3-start']
const answers = [
	{ brokers: [], clusterSize: 1, partitionsCount: 1, replicationFactor: 1, gatewayVersion: '8.9.0', lastCompletedChangeId: '-1' },
	{ deploymentKey: '1', tenantId: '<default>', deployments: [] },
	{ processDefinitionKey: '1', processDefinitionId: 'modeled-pay', processDefinitionVersion: 1, processInstanceKey: '2', tenantId: '<default>', variables: {} },
]
let count = 0
const server = createServer((socket) => {
	let bytes = Buffer.alloc(0)
	socket.on('error', () => {})
	socket.on('data', (part) => {
		bytes = Buffer.concat([bytes, part])
		const end = bytes.indexOf('\r\n\r\n')
		if (end < 0) return
		const head = bytes.subarray(0, end).toString('latin1')
		const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
		const chunked = /^transfer-encoding: chunked/im.test(head)
		const whole = chunked ? bytes.subarray(-5).equals(Buffer.from('0\r\n\r\n')) : bytes.length >= end + 4 + length
		if (!whole) return
		writeFileSync(`${directory}/${names[count]}.http`, bytes)
		const body = JSON.stringify(answers[count])
		bytes = Buffer.alloc(0)
		count += 1
		socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
	})
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const client = new Camunda8({
	CAMUNDA_AUTH_STRATEGY: 'NONE',
	CAMUNDA_LOG_LEVEL: 'none',
	ZEEBE_REST_ADDRESS: `http://127.0.0.1:${server.address().port}`,
}).getCamundaRestClient()
const file = (name) => ({ name, content: readFileSync(here + name, 'utf8') })
await client.getTopology()
await client.deployResources(['pay.bpmn', 'fee.dmn', 'look.form'].map(file))
await client.createProcessInstance({ processDefinitionId: 'modeled-pay', variables: { amount: 250, orderId: 'ö-1' } })
process.exit(0)
