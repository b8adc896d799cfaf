#!/usr/bin/env python3
"""What others notice while one client starts, cancels and times out very wide processes.

A probe creates instances of a tiny process, one after the other; meanwhile 10 instances of a process with a parallel gateway
to 10,000 tasks are created and cancelled, and 100,000 timers are created and fire. In between the server is killed and
started again. Prints what the probe saw of each phase, and fails if work was lost.

    cargo build --release -p skep && benches/wide-processes/run.py target/release/skep
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid

WIDTH, INSTANCES = 10_000, 10
REST = "http://127.0.0.1:18080"
HEAD = (
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" '
    'xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="bench">'
)
TASK = '<serviceTask id="t{i}"><extensionElements><zeebe:taskDefinition type="wide"/></extensionElements></serviceTask>'
TIMER = (
    '<intermediateCatchEvent id="t{i}"><timerEventDefinition><timeDuration>PT15S</timeDuration>'
    "</timerEventDefinition></intermediateCatchEvent>"
)
TINY = '<startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="e"/><endEvent id="e"/>'


def request(path, body, content_type="application/json"):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    call = urllib.request.Request(REST + path, data, {"content-type": content_type})
    with urllib.request.urlopen(call, timeout=60) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def patiently(path, body):
    """A server that has just started answers 503 until its partition leads."""
    for _ in range(500):
        try:
            return request(path, body)
        except (urllib.error.URLError, ConnectionError) as error:
            if getattr(error, "code", 503) != 503:
                raise
            time.sleep(0.02)
    raise SystemExit("the server did not come back")


def deploy(process_id, elements):
    xml = f'{HEAD}<process id="{process_id}" isExecutable="true">{elements}</process></definitions>'
    boundary = uuid.uuid4().hex
    disposition = f'Content-Disposition: form-data; name="resources"; filename="{process_id}.bpmn"'
    body = f"--{boundary}\r\n{disposition}\r\n\r\n{xml}\r\n--{boundary}--\r\n".encode()
    request("/v2/deployments", body, f"multipart/form-data; boundary={boundary}")


def wide(element):
    parts = ['<startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="g"/><parallelGateway id="g"/>']
    for i in range(WIDTH):
        parts.append(element.format(i=i) + f'<sequenceFlow id="g{i}" sourceRef="g" targetRef="t{i}"/>')
    return "".join(parts)


def create(process_id):
    return patiently("/v2/process-instances", {"processDefinitionId": process_id})["processInstanceKey"]


def waiting_jobs():
    body = {"type": "wide", "timeout": 600_000, "maxJobsToActivate": WIDTH, "requestTimeout": -1, "fetchVariable": ["none"]}
    count = 0
    while jobs := len(patiently("/v2/jobs/activation", body)["jobs"]):
        count += jobs
    return count


class Probe(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.answers = []

    def run(self):
        while True:
            started = time.monotonic()
            try:
                request("/v2/process-instances", {"processDefinitionId": "tiny"})
                self.answers.append((started, time.monotonic() - started))
            except (urllib.error.URLError, ConnectionError):
                pass  # the server is being restarted
            time.sleep(0.004)

    def report(self, phase, since):
        seen = sorted(took for started, took in list(self.answers) if started >= since)
        at = lambda share: seen[min(len(seen) - 1, int(len(seen) * share))] * 1e3
        print(f"{phase:34} {len(seen):6} creates  p50 {at(0.5):6.1f} ms  p99 {at(0.99):6.1f} ms  max {at(1):6.1f} ms")


def main(binary):
    with tempfile.TemporaryDirectory() as directory:
        arguments = [binary, "serve", "--data", directory, "--rest-port", "18080", "--grpc-port", "0", "--management-port", "0"]
        start = lambda: subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server = start()
        try:
            patiently("/v2/expression/evaluation", {"expression": "=1"})
            for process_id, elements in (("tiny", TINY), ("tasks", wide(TASK)), ("timers", wide(TIMER))):
                deploy(process_id, elements)
            probe = Probe()
            probe.start()
            since = time.monotonic()
            time.sleep(5)
            probe.report("nothing else", since)

            since = time.monotonic()
            keys = [create("tasks") for _ in range(INSTANCES)]
            time.sleep(4)
            probe.report(f"{INSTANCES} x {WIDTH} tasks are created", since)

            keys.append(create("tasks"))
            server.kill()
            server.wait()
            server = start()
            patiently("/v2/expression/evaluation", {"expression": "=1"})
            time.sleep(3)
            jobs = waiting_jobs()
            assert jobs == (INSTANCES + 1) * WIDTH, f"{jobs} jobs after the kill"
            print(f"killed in the middle of one more: all {jobs} jobs are there")

            since = time.monotonic()
            for key in keys:
                patiently(f"/v2/process-instances/{key}/cancellation", {})
            time.sleep(5)
            probe.report(f"{len(keys)} x {WIDTH} are cancelled", since)

            since = time.monotonic()
            for _ in range(INSTANCES):
                create("timers")
            time.sleep(5)
            probe.report(f"{INSTANCES} x {WIDTH} timers are created", since)
            since = time.monotonic()
            time.sleep(16)
            probe.report(f"{INSTANCES} x {WIDTH} timers fire", since)
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "target/release/skep")
