#!/usr/bin/env python3
"""Figures of a cluster of three nodes on one machine.

    benches/cluster/run.py kills SKEP [--rounds 50]       time without service after `kill -9` of the leader: p50, p99
    benches/cluster/run.py load SKEP [--rounds 3] [--seconds 10]
                                     three nodes with three copies against one node with one: throughput, CPU of the servers,
                                     p99 of create at 150/s; and CPU of followers as a share of the leader's
    benches/cluster/run.py idle SKEP [--partitions 100] [--seconds 60]
                                     CPU and memory of three nodes with nothing to do
    benches/cluster/run.py snapshot SKEP [--mebibytes 1100] [--seconds 20]
                                     a replica joins a partition with so much state: MiB/s from the request until it has its vote,
                                     and p99 of create at 150/s before and meanwhile

SKEP is a release binary. CPU is what /proc says of the server processes; one against three is measured in turn. BENCH_DIR is
where data goes.
"""

import argparse
import base64
import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
import time
import urllib.error

from cluster import Cluster

WARM_UP = 2
# Instances stay, with their variables.
WAITS = """<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="t">
  <bpmn:process id="waits" isExecutable="true">
    <bpmn:startEvent id="start"/><bpmn:sequenceFlow id="flow" sourceRef="start" targetRef="task"/><bpmn:manualTask id="task"/>
    <bpmn:sequenceFlow id="on" sourceRef="task" targetRef="timer"/>
    <bpmn:intermediateCatchEvent id="timer"><bpmn:timerEventDefinition>
      <bpmn:timeDuration>PT10H</bpmn:timeDuration></bpmn:timerEventDefinition></bpmn:intermediateCatchEvent>
  </bpmn:process>
</bpmn:definitions>"""
VARIABLE = 100_000


def create(node):
    body = json.dumps({"processDefinitionId": "nothing"}).encode()
    try:
        node.ask("POST", "/v2/process-instances", body)
        return True
    except (OSError, urllib.error.HTTPError):
        return False


def kills(options):
    """How long no node but the killed one could create an instance."""
    gaps = []
    with Cluster(options.skep, 3, 1) as cluster:
        cluster.deploy()
        for number in range(options.rounds):
            victim = cluster.nodes[cluster.leaders(cluster.nodes[0])[1]]
            left = [node for node in cluster.nodes if node is not victim]
            while not all(create(node) for node in left):
                time.sleep(0.05)
            answered, stop = [time.monotonic()], threading.Event()

            def insist(node, answered=answered, stop=stop):
                while not stop.is_set():
                    if create(node):
                        answered.append(time.monotonic())
                    else:
                        time.sleep(0.005)

            clients = [threading.Thread(target=insist, args=(node,)) for node in left]
            for client in clients:
                client.start()
            time.sleep(0.5)
            victim.kill()
            killed = time.monotonic()
            while answered[-1] < killed + 0.3:
                time.sleep(0.01)
            time.sleep(0.5)
            stop.set()
            for client in clients:
                client.join()
            times = sorted(answered)
            gaps.append(max(b - a for a, b in zip(times, times[1:])))
            victim.start()
            cluster.until_led()
            print(f"round {number + 1}: {gaps[-1]:.2f} s", file=sys.stderr)
    gaps.sort()
    at = lambda share: gaps[min(len(gaps) - 1, int(len(gaps) * share))]
    print(f"{len(gaps)} kills: without service p50 {at(0.5):.2f} s, p99 {at(0.99):.2f} s, longest {gaps[-1]:.2f} s")


def slice_of(options, cluster, *more):
    """The report of skep load against node 0, and CPU seconds of each node meanwhile."""
    node, report = cluster.nodes[0], os.path.join(cluster.directory.name, "report")
    command = [
        options.skep, "load", "--transport", "grpc",
        "--rest-address", f"127.0.0.1:{node.port['rest']}", "--grpc-address", f"127.0.0.1:{node.port['grpc']}",
        "--management-address", f"127.0.0.1:{node.port['management']}",
        "--duration", f"{options.seconds}s", "--warmup", f"{WARM_UP}s", "--pid", str(node.process.pid), "--json", report, *more,
    ]  # fmt: skip
    before = [node.cpu() for node in cluster.nodes]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    spent = [node.cpu() - cpu for node, cpu in zip(cluster.nodes, before)]
    with open(report, encoding="utf-8") as file:
        return json.load(file)["results"][0], spent


def load(options):
    rows = {1: [], 3: []}
    shares = []
    for number in range(options.rounds):
        for size in (1, 3) if number % 2 == 0 else (3, 1):
            with Cluster(options.skep, size, 1) as cluster:
                cluster.lead_here()
                full, cpu = slice_of(options, cluster, "--concurrency", "300")
                steady, _ = slice_of(options, cluster, "--rate", "150")
                done = full["completed_per_second"]
                rows[size].append((done, sum(cpu) / done / (options.seconds + WARM_UP) * 1e6, steady["create"]["p99_ms"]))
                if size == 3:
                    leader = cluster.leaders(cluster.nodes[0])[1]
                    followers = [spent for n, spent in enumerate(cpu) if n != leader]
                    shares.append(max(followers) / cpu[leader])
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    print(f"{'':10}{'instances/s':>12}{'servers µs':>12}{'p99 of create at 150/s':>24}")
    for size, of_size in rows.items():
        done, cpu, p99 = (statistics.median(column) for column in zip(*of_size))
        print(f"{size} node{'s' if size > 1 else ' '}   {done:12.0f}{cpu:12.1f}{p99:21.2f} ms")
    for number, name in enumerate(("throughput", "CPU of the servers", "p99 of create at 150/s")):
        pairs = [three[number] / one[number] for one, three in zip(rows[1], rows[3])]
        print(f"three ÷ one, {name}: {statistics.median(pairs):.2f} ({min(pairs):.2f} to {max(pairs):.2f})")
    print(f"follower ÷ leader, CPU: {statistics.median(shares):.2f} ({min(shares):.2f} to {max(shares):.2f})")


def idle(options):
    with Cluster(options.skep, 3, options.partitions) as cluster:
        time.sleep(10)
        before = [node.cpu() for node in cluster.nodes]
        time.sleep(options.seconds)
        for node, cpu in zip(cluster.nodes, before):
            share = (node.cpu() - cpu) / options.seconds * 100
            print(f"node {node.number}: {share:.1f} % of a core, {node.memory():.0f} MiB")
        total = sum(node.cpu() - cpu for node, cpu in zip(cluster.nodes, before))
        print(f"all: {total / options.seconds * 100:.1f} % of a core, {options.partitions} partitions each")


def fill(node, mebibytes):
    """Instances with variables that do not compress well."""
    left = iter(range(mebibytes * 2**20 // VARIABLE))

    def create_some():
        connection = http.client.HTTPConnection("127.0.0.1", node.port["rest"], timeout=60)
        for _ in left:
            payload = base64.b64encode(os.urandom(VARIABLE * 3 // 4)).decode()
            body = json.dumps({"processDefinitionId": "waits", "variables": {"payload": payload}})
            status = 0
            while status != 200:
                connection.request("POST", "/v2/process-instances", body, {"content-type": "application/json"})
                answer = connection.getresponse()
                answer.read()
                status = answer.status

    clients = [threading.Thread(target=create_some) for _ in range(8)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()


def change(cluster, method, body=None):
    """The copy of node 2 goes or comes; how long that took."""
    node, began = cluster.nodes[0], time.monotonic()
    path = "/actuator/cluster/brokers/2/partitions/1"
    number = node.ask(method, path, body, port="management", timeout=30)["changeId"]
    while node.ask("GET", f"/actuator/cluster/changes/{number}", port="management")["status"] != "COMPLETED":
        time.sleep(0.05)
    return time.monotonic() - began


def snapshot(options):
    # History would be fetched beside the state.
    with Cluster(options.skep, 3, 1, {"camunda.data.secondary-storage.type": "none"}) as cluster:
        cluster.deploy(WAITS)
        cluster.lead_here()
        fill(cluster.nodes[0], options.mebibytes)
        for node in cluster.nodes:
            node.ask("POST", "/actuator/partitions/takeSnapshot", b"", port="management", timeout=120)
        change(cluster, "DELETE")
        time.sleep(2)
        before, _ = slice_of(options, cluster, "--rate", "150")
        took = []

        def join():
            time.sleep(WARM_UP + 1)
            took.append(change(cluster, "POST", b'{"priority":1}'))

        joining = threading.Thread(target=join)
        joining.start()
        meanwhile, _ = slice_of(options, cluster, "--rate", "150")
        joining.join()
        before, meanwhile = (report["create"]["p99_ms"] for report in (before, meanwhile))
        rate = options.mebibytes / took[0]
        print(f"a replica of {options.mebibytes} MiB joined in {took[0]:.1f} s: {rate:.0f} MiB/s")
        print(f"p99 of create at 150/s: {before:.2f} ms before, {meanwhile:.2f} ms meanwhile ({options.seconds} s): {meanwhile / before:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=["kills", "load", "idle", "snapshot"])
    parser.add_argument("skep")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--partitions", type=int, default=100)
    parser.add_argument("--mebibytes", type=int, default=1100)
    options = parser.parse_args()
    defaults = {"kills": (50, 0), "load": (3, 10), "idle": (1, 60), "snapshot": (1, 20)}[options.figure]
    options.rounds, options.seconds = options.rounds or defaults[0], options.seconds or defaults[1]
    {"kills": kills, "load": load, "idle": idle, "snapshot": snapshot}[options.figure](options)


main()
