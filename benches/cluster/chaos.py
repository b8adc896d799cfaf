#!/usr/bin/env python3
"""Work of many kinds on a cluster of three nodes that fail all the time: what was acknowledged is there, once.

    benches/cluster/chaos.py SKEP [--seconds 240] [--seed N] [--set NAME=VALUE]...

Clients create instances that wait for a message (mostly of another partition), then for a job, then for a person; others deploy
version after version and cancel instances by batch operations. Every few seconds one node, two or all of them are killed, paused
or stopped. Then everything is left to end and compared with what was acknowledged, over each node. Ends with status 1 if anything
is missing, there twice, or stuck. BENCH_DIR is where data goes.
"""

import argparse
import collections
import json
import random
import re
import signal
import sys
import threading
import time
import urllib.error

from cluster import Cluster

PARTITIONS = 3
# A wait at the end gives up after so many seconds.
PATIENCE = 300
HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL"
  xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">"""
LONG = f"""{HEAD}
  <bpmn:message id="go" name="go"><bpmn:extensionElements>
    <zeebe:subscription correlationKey="=number"/></bpmn:extensionElements></bpmn:message>
  <bpmn:process id="long" isExecutable="true">
    <bpmn:startEvent id="start"/><bpmn:sequenceFlow id="a" sourceRef="start" targetRef="wait"/>
    <bpmn:intermediateCatchEvent id="wait"><bpmn:messageEventDefinition messageRef="go"/></bpmn:intermediateCatchEvent>
    <bpmn:sequenceFlow id="b" sourceRef="wait" targetRef="work"/>
    <bpmn:serviceTask id="work"><bpmn:extensionElements>
      <zeebe:taskDefinition type="work" retries="50"/></bpmn:extensionElements></bpmn:serviceTask>
    <bpmn:sequenceFlow id="c" sourceRef="work" targetRef="person"/>
    <bpmn:userTask id="person"><bpmn:extensionElements><zeebe:userTask/></bpmn:extensionElements></bpmn:userTask>
    <bpmn:sequenceFlow id="d" sourceRef="person" targetRef="end"/><bpmn:endEvent id="end"/>
  </bpmn:process>
</bpmn:definitions>"""
STAYS = f"""{HEAD}
  <bpmn:process id="stays" isExecutable="true">
    <bpmn:startEvent id="start"/><bpmn:sequenceFlow id="a" sourceRef="start" targetRef="task"/>
    <bpmn:serviceTask id="task"><bpmn:extensionElements>
      <zeebe:taskDefinition type="nobody"/></bpmn:extensionElements></bpmn:serviceTask>
  </bpmn:process>
</bpmn:definitions>"""
VERSION = HEAD + """
  <bpmn:process id="versions" name="{}" isExecutable="true"><bpmn:startEvent id="start"/></bpmn:process>
</bpmn:definitions>"""


class Ledger:
    """What was acknowledged, and what must not have been seen."""

    def __init__(self):
        self.lock = threading.Lock()
        self.created = {}  # correlation key by process instance
        self.published = set()
        self.jobs = set()
        self.tasks = set()
        self.versions = {}  # key by version
        self.batches = []
        self.wrong = []
        self.refused = collections.Counter()

    def note(self, what, error):
        """A refusal; the same but for its numbers is counted once more."""
        if isinstance(error, urllib.error.HTTPError):
            text = f"{error.code} {json.loads(error.read() or b'{}').get('detail')}"
        else:
            text = repr(error)
        self.refused[f"{what}: {re.sub(r'[0-9]+', 'N', text)[:160]}"] += 1


class Clients:
    def __init__(self, cluster, ledger, seed):
        self.nodes, self.ledger, self.random = cluster.nodes, ledger, random.Random(seed)
        self.cluster = cluster
        self.begins, self.goes_on = threading.Event(), threading.Event()
        self.begins.set()
        self.goes_on.set()
        self.threads = []

    def post(self, path, value, timeout=12):
        node = self.random.choice(self.nodes)
        return node.ask("POST", path, json.dumps(value).encode(), timeout=timeout)

    def deploy(self, model):
        return self.cluster.deploy(model, self.random.choice(self.nodes))["deployments"][0]["processDefinition"]

    def start(self, while_set, work, *arguments):
        """Does the work again and again."""

        def client():
            while while_set.is_set():
                try:
                    work(*arguments)
                except (OSError, ValueError) as error:
                    self.ledger.note(work.__name__, error)
                    time.sleep(0.1)

        self.threads.append(threading.Thread(target=client, daemon=True))
        self.threads[-1].start()

    def start_all(self):
        for number in range(3):
            self.start(self.begins, self.create, [f"{number}", 0])
            self.start(self.goes_on, self.work, f"worker-{number}")
        for work in (self.publish, self.person, self.person):
            self.start(self.goes_on, work)
        for work in (self.version, self.batch):
            self.start(self.begins, work)

    def create(self, name):
        name[1] += 1
        number = "-".join(map(str, name))
        created = self.post("/v2/process-instances", {"processDefinitionId": "long", "variables": {"number": number}})
        with self.ledger.lock:
            self.ledger.created[created["processInstanceKey"]] = number
        time.sleep(0.05)

    def publish(self):
        """For those whose creation was acknowledged, and then for those that are there nevertheless."""
        with self.ledger.lock:
            waiting = [number for number in self.ledger.created.values() if number not in self.ledger.published]
        if not waiting and not self.begins.is_set():
            found = self.post(
                "/v2/message-subscriptions/search",
                {"filter": {"processDefinitionId": "long", "messageSubscriptionState": "CREATED"}, "page": {"limit": 100}},
            )
            waiting = [item["correlationKey"] for item in found["items"]]
        for number in waiting:
            message = {"name": "go", "correlationKey": number, "timeToLive": 3_600_000, "messageId": number}
            try:
                self.post("/v2/messages/publication", message)
            except urllib.error.HTTPError as error:
                # It was published, and the answer lost.
                if error.code != 409:
                    raise
            self.ledger.published.add(number)
        time.sleep(0.05)

    def work(self, name):
        request = {"type": "work", "worker": name, "timeout": 20_000, "maxJobsToActivate": 20, "requestTimeout": 3000}
        for job in self.post("/v2/jobs/activation", request)["jobs"]:
            if job["jobKey"] in self.ledger.jobs:
                self.ledger.wrong.append(f"job {job['jobKey']} comes again after its completion was acknowledged")
            self.post(f"/v2/jobs/{job['jobKey']}/completion", {})
            self.ledger.jobs.add(job["jobKey"])

    def person(self):
        found = self.post("/v2/user-tasks/search", {"filter": {"state": "CREATED"}, "page": {"limit": 20}})
        for task in found["items"]:
            try:
                self.post(f"/v2/user-tasks/{task['userTaskKey']}/completion", {})
                self.ledger.tasks.add(task["userTaskKey"])
            except urllib.error.HTTPError as error:
                # The other one was quicker, or the answer was lost.
                if error.code not in (404, 409):
                    raise
        time.sleep(0.1)

    def version(self):
        time.sleep(1)
        deployed = self.deploy(VERSION.format(time.time()))
        version, key = deployed["processDefinitionVersion"], deployed["processDefinitionKey"]
        if version in self.ledger.versions:
            self.ledger.wrong.append(f"version {version} was given twice")
        self.ledger.versions[version] = key

    def batch(self):
        time.sleep(1)
        for _ in range(30):
            self.post("/v2/process-instances", {"processDefinitionId": "stays"})
        of = {"filter": {"processDefinitionId": "stays", "state": "ACTIVE"}}
        self.ledger.batches.append(self.post("/v2/process-instances/cancellation", of)["batchOperationKey"])


def kill(nodes, chance, pause=6):
    for node in nodes:
        node.kill()
    for node in nodes:
        time.sleep(chance.uniform(0, pause))
        node.start()


def fault(name, nodes, chance):
    one, two = chance.sample(nodes, 2)
    if name == "killed":
        kill([one], chance)
    elif name == "two killed":
        kill([one, two], chance)
    elif name == "all killed":
        kill(nodes, chance, pause=1)
    elif name == "paused":
        one.process.send_signal(signal.SIGSTOP)
        time.sleep(chance.uniform(1, 8))
        one.process.send_signal(signal.SIGCONT)
    elif name == "stopped":
        one.process.send_signal(signal.SIGTERM)
        one.process.wait()
        one.start()


def until(done):
    """Its result, once that is true or patience ends."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            told = done()
        except (OSError, ValueError):
            told = None
        if told or time.monotonic() > end:
            return told
        time.sleep(1)


def total(node, path, **filter):
    body = json.dumps({"filter": filter, "page": {"limit": 1}}).encode()
    return node.ask("POST", f"/v2/{path}/search", body, timeout=30)["page"]["totalItems"]


def check(clients, ledger):
    """Adds to what is wrong."""
    nodes, wrong = clients.nodes, ledger.wrong
    if not until(lambda: total(nodes[0], "process-instances", processDefinitionId="long", state="ACTIVE") == 0):
        wrong.append("instances do not end")
    for key in ledger.created:
        found = until(lambda key=key: nodes[0].ask("GET", f"/v2/process-instances/{key}"))
        if not found or found["state"] != "COMPLETED":
            wrong.append(f"instance {key} was acknowledged and is {found and found['state']}")
    for node in nodes:
        instances = total(node, "process-instances", processDefinitionId="long")
        tasks = total(node, "element-instances", processDefinitionId="long", elementId="work")
        jobs = total(node, "jobs", type="work", state="COMPLETED")
        persons = total(node, "user-tasks", state="COMPLETED")
        if not instances == tasks == jobs == persons:
            wrong.append(f"node {node.number}: {instances} instances, {tasks} tasks, {jobs} jobs, {persons} tasks of persons")
        body = {"filter": {"processDefinitionId": "versions"}, "page": {"limit": 10_000}}
        found = node.ask("POST", "/v2/process-definitions/search", json.dumps(body).encode(), timeout=30)["items"]
        found = {item["version"]: item["processDefinitionKey"] for item in found}
        wrong += [f"node {node.number}: no version {v}" for v, key in ledger.versions.items() if found.get(v) != key]
    # On every partition, in turn.
    for key in list(ledger.versions.values()) * PARTITIONS:
        if not until(lambda key=key: clients.post("/v2/process-instances", {"processDefinitionKey": key})):
            wrong.append(f"definition {key} was acknowledged and does not start")
    for key in ledger.batches:
        ended = lambda key=key: nodes[0].ask("GET", f"/v2/batch-operations/{key}")["state"] == "COMPLETED"
        if not until(ended):
            wrong.append(f"batch operation {key} does not complete")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skep")
    parser.add_argument("--seconds", type=int, default=240)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--set", action="append", default=[], help="a setting of the nodes, for instance of secondary storage")
    options = parser.parse_args()
    print(f"--seed {options.seed} chooses the same faults", flush=True)
    chance, counts, ledger = random.Random(options.seed), collections.Counter(), Ledger()
    with Cluster(options.skep, 3, PARTITIONS, dict(setting.split("=", 1) for setting in options.set)) as cluster:
        clients = Clients(cluster, ledger, options.seed)
        clients.deploy(LONG)
        clients.deploy(STAYS)
        clients.start_all()
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            time.sleep(chance.uniform(3, 8))
            name = chance.choice(["killed", "killed", "two killed", "all killed", "paused", "stopped"])
            counts[name] += 1
            fault(name, cluster.nodes, chance)
            print(f"{name}; {len(ledger.created)} created", file=sys.stderr, flush=True)
        clients.begins.clear()
        cluster.until_led()
        check(clients, ledger)
        clients.goes_on.clear()
        for thread in clients.threads:
            thread.join()
    print(f"faults: {dict(counts)}")
    print(
        f"acknowledged: {len(ledger.created)} instances, {len(ledger.published)} messages, {len(ledger.jobs)} jobs, "
        f"{len(ledger.tasks)} tasks of persons, {len(ledger.versions)} versions, {len(ledger.batches)} batch operations"
    )
    for text, count in ledger.refused.most_common(15):
        print(f"{count:6} × {text}")
    print("\n".join(ledger.wrong) if ledger.wrong else "nothing is missing, there twice, or stuck")
    sys.exit(bool(ledger.wrong))


main()
