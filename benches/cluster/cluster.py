"""Three servers on one machine, or one, and what is asked of them."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
# Below the ports that connections are given.
OFFSET = 500
ONE_TASK = """<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="t">
  <bpmn:process id="nothing" isExecutable="true"><bpmn:startEvent id="start"/></bpmn:process>
</bpmn:definitions>"""

class Node:
    def __init__(self, skep, directory, number, size, partitions, more):
        self.number, self.directory = number, os.path.join(directory, str(number))
        offset = OFFSET + number
        self.port = {name: base + 10 * offset for name, base in (("rest", 8080), ("grpc", 26500), ("management", 9600))}
        points = ",".join(f"127.0.0.1:{26502 + 10 * (OFFSET + n)}" for n in range(size))
        settings = {
            "camunda.cluster.node-id": number,
            "camunda.cluster.size": size,
            "camunda.cluster.replication-factor": size,
            "camunda.cluster.partition-count": partitions,
            "camunda.cluster.initial-contact-points": points,
            "camunda.cluster.network.port-offset": offset,
        }
        if size == 1:
            settings = {name: settings[name] for name in settings if name.endswith(("partition-count", "port-offset"))}
        settings |= more
        self.command = [skep, "serve", "--data", self.directory]
        for name, value in settings.items():
            self.command += ["--set", f"{name}={value}"]
        self.start()

    def start(self):
        log = open(self.directory + ".log", "a", encoding="utf-8")
        self.process = subprocess.Popen(self.command, stdout=log, stderr=log)

    def ask(self, method, path, body=None, port="rest", kind="application/json", timeout=5):
        url = f"http://127.0.0.1:{self.port[port]}{path}"
        request = urllib.request.Request(url, data=body, method=method, headers={"content-type": kind})
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    def cpu(self):
        """Seconds."""
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="utf-8") as file:
            return int(file.read().split()[1]) * PAGE / 2**20

    def kill(self):
        self.process.kill()
        self.process.wait()


class Cluster:
    def __init__(self, skep, size, partitions, more=None):
        self.directory = tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR"))
        self.nodes = [Node(skep, self.directory.name, n, size, partitions, more or {}) for n in range(size)]

    def __enter__(self):
        self.until_led()
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.process.send_signal(signal.SIGTERM)
        for node in self.nodes:
            node.process.wait()
        self.directory.cleanup()

    def leaders(self, asked):
        """Node by partition, as one of the nodes sees it."""
        topology = asked.ask("GET", "/v2/topology")
        found = {}
        for broker in topology["brokers"]:
            for partition in broker["partitions"]:
                if partition["role"] == "leader":
                    found[partition["partitionId"]] = broker["nodeId"]
        return found if len(found) == topology["partitionsCount"] else None

    def until_led(self, without=None):
        for _ in range(1200):
            try:
                for node in self.nodes:
                    found = node.number != without and self.leaders(node)
                    if node.number != without and (not found or without in found.values()):
                        break
                else:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        sys.exit(f"no leaders: see {self.directory.name}")

    def lead_here(self):
        """Node 0, which clients go to, leads: what it does as their gateway is then with the leader in both cases."""
        while self.leaders(self.nodes[0]) != {1: 0}:
            self.nodes[0].ask("POST", "/actuator/rebalance", b"", port="management")
            time.sleep(0.5)

    def deploy(self, process=ONE_TASK, node=None):
        boundary = "b0undary"
        body = (
            f'--{boundary}\r\ncontent-disposition: form-data; name="resources"; filename="nothing.bpmn"\r\n'
            f"content-type: application/octet-stream\r\n\r\n{process}\r\n--{boundary}--\r\n"
        )
        kind = f"multipart/form-data; boundary={boundary}"
        return (node or self.nodes[0]).ask("POST", "/v2/deployments", body.encode(), kind=kind, timeout=15)
