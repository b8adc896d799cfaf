#!/usr/bin/env python3
"""What statistics of running instances take: those of all definitions, of the versions of a process, and active elements.

One server with secondary storage, embedded or in PostgreSQL, and a million running instances of some processes, of which some
have incidents. `skep load` starts the instances. Each statistic is then asked one request after the other; with `--creating N`
while N instances a second are created. Prints p50, p99 and the maximum in milliseconds as the caller sees them, one line of JSON
for each statistic. The numbers that are answered are compared with those that were created.

    cargo build --profile dist -p skep
    benches/statistics/run.py target/dist/skep [--instances 1000000] [--processes 10] [--incidents 10000] [--requests 300] [--creating 100]
    benches/statistics/run.py target/dist/skep --set CAMUNDA_DATA_SECONDARYSTORAGE_TYPE=rdbms --set CAMUNDA_DATA_SECONDARYSTORAGE_RDBMS_URL=…

With `--restart` the server is started once more at the end, as after an upgrade: `--before SQL` is run on the embedded files
meanwhile, for instance to let them count once more: `UPDATE position SET instances_counted = NULL`.
"""

import argparse
import http.client
import importlib.machinery
import importlib.util
import json
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

# No file beside the module that is imported.
sys.dont_write_bytecode = True

FILL_LIMIT, CATCH_UP_LIMIT = 3600, 600
# Jobs that are activated at a time to fail.
JOBS = 1000
# Missing instances up to which they are created at a rate.
SLOWLY = 50_000
OF_ALL = "/v2/process-definitions/statistics/process-instances"
OF_VERSIONS = "/v2/process-definitions/statistics/process-instances-by-version"

BPMN = (
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" '
    'xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">'
    '<process id="{id}" isExecutable="true"><startEvent id="s"><outgoing>f</outgoing></startEvent>'
    '<sequenceFlow id="f" sourceRef="s" targetRef="t"/><serviceTask id="t"><extensionElements>'
    '<zeebe:taskDefinition type="{id}"/></extensionElements><incoming>f</incoming><outgoing>g</outgoing></serviceTask>'
    '<sequenceFlow id="g" sourceRef="t" targetRef="e"/><endEvent id="e"><incoming>g</incoming></endEvent></process></definitions>'
)


def server_class():
    """The server of `benches/million-instances`, whose file has no suffix."""
    path = str(pathlib.Path(__file__).parent.parent / "million-instances")
    loader = importlib.machinery.SourceFileLoader("million_instances", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module.Server


class Caller:
    def __init__(self, server):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.rest, timeout=120)

    def ask(self, path, body=None):
        text = None if body is None else json.dumps(body)
        self.connection.request("GET" if body is None else "POST", path, text, {"content-type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            sys.exit(f"{path}: {answer.status} {text[:500]!r}")
        return json.loads(text) if text else None

    def running(self):
        """Of all processes: without incidents and with."""
        items = self.ask(OF_ALL, {"page": {"limit": 1000}})["items"]
        names = "activeInstancesWithoutIncidentCount", "activeInstancesWithIncidentCount"
        return [sum(item[name] for item in items) for name in names]


def live(server):
    """Each instance has two elements: the process and its task."""
    return int(server.metric("skep_element_instances")) // 2


def fill(server, options, directory):
    """Each process in turn, until it has its share of the instances."""
    began = time.monotonic()
    for n in range(options.processes):
        file = directory / f"process-{n}.bpmn"
        file.write_text(BPMN.format(id=f"process-{n}"))
        target = live(server) + options.instances // options.processes
        while (left := target - live(server)) > 0:
            if time.monotonic() - began > FILL_LIMIT:
                sys.exit("the store is not filled in time")
            # As fast as the server takes them, and slowly at the end, so that few more are created.
            how = ["--duration", "5s"] if left > SLOWLY else ["--duration", "1s", "--rate", str(min(left, SLOWLY // 10))]
            server.load("--process", str(file), "--workers", "0", "--drain", "0s", *how)
    return time.monotonic() - began


def fail(caller, options):
    """Lets jobs of all processes fail without retries, each of which is an incident."""
    left = options.incidents
    for n in range(options.processes):
        share = left // (options.processes - n)
        left -= share
        while share:
            wanted = {"type": f"process-{n}", "maxJobsToActivate": min(share, JOBS), "timeout": 60_000, "worker": "bench"}
            jobs = caller.ask("/v2/jobs/activation", wanted)["jobs"]
            if not jobs:
                sys.exit(f"process-{n} has {share} jobs too few for so many incidents")
            for job in jobs:
                caller.ask(f"/v2/jobs/{job['jobKey']}/failure", {"retries": 0, "errorMessage": "as asked"})
            share -= len(jobs)


def settled(server, caller, incidents):
    """Waits until the store has everything, and returns the number of instances."""
    end = time.monotonic() + CATCH_UP_LIMIT
    while True:
        instances, running = live(server), caller.running()
        if running == [instances - incidents, incidents]:
            return instances
        if time.monotonic() > end:
            sys.exit(f"the statistics say {running}, and there are {instances} instances, {incidents} of them with incidents")
        time.sleep(0.5)


def measure(caller, count, what):
    page = {"limit": 1000}
    definitions = caller.ask("/v2/process-definitions/search", {"filter": {"processDefinitionId": "process-0"}})["items"]
    key = definitions[0]["processDefinitionKey"]
    elements = f"/skep/v1/process-definitions/{key}/active-elements"
    asked = {
        "all definitions": (OF_ALL, {"page": page}),
        "versions of a process": (OF_VERSIONS, {"filter": {"processDefinitionId": "process-0"}, "page": page}),
        "active elements": (elements, None),
        "active elements without incidents": (f"{elements}?hasIncident=false", None),
    }
    for name, (path, body) in asked.items():
        took = []
        for _ in range(count):
            began = time.perf_counter()
            caller.ask(path, body)
            took.append((time.perf_counter() - began) * 1e3)
        p99 = statistics.quantiles(took, n=100, method="inclusive")[98]
        line = {"step": what, "of": name, "first": took[0], "p50": statistics.median(took), "p99": p99, "max": max(took)}
        print(json.dumps({k: round(v, 2) if isinstance(v, float) else v for k, v in line.items()}), flush=True)


def creating(server, options):
    """A load beside the requests. It is ended by its process."""
    addresses = ["--rest-address", f"127.0.0.1:{server.rest}", "--grpc-address", f"127.0.0.1:{server.grpc}"]
    return subprocess.Popen(
        [options.skep, "load", "--transport", "grpc", *addresses, "--management-address", f"127.0.0.1:{server.management}",
         "--rate", str(options.creating), "--warmup", "0s", "--duration", "600s", "--drain", "0s"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def run_before(options, directory):
    """Runs the statement on the files of all partitions."""
    for file in directory.rglob("query.sqlite"):
        with sqlite3.connect(file) as connection:
            connection.execute(options.before)
        connection.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skep")
    parser.add_argument("--instances", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--incidents", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=300, help="of each kind")
    parser.add_argument("--creating", type=int, default=0, help="instances a second, beside the requests of a second round")
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="environment variable of the server, NAME=VALUE")
    parser.add_argument("--restart", action="store_true")
    parser.add_argument("--before", metavar="SQL", help="with --restart: run on the embedded files before the server starts again")
    options = parser.parse_args()
    top = pathlib.Path(tempfile.mkdtemp(prefix="skep-statistics-"))
    data = top / "data"
    data.mkdir()
    server = server_class()(options, str(data))
    try:
        seconds = fill(server, options, top)
        caller = Caller(server)
        fail(caller, options)
        instances = settled(server, caller, options.incidents)
        server.report("filled", live=instances, incidents=options.incidents, seconds=round(seconds, 1))
        measure(caller, options.requests, "quiet")
        if options.creating:
            load = creating(server, options)
            try:
                measure(caller, options.requests, "creating")
            finally:
                load.terminate()
                load.wait()
        if options.restart:
            server.kill()
            if options.before:
                run_before(options, data)
            server = server_class()(options, str(data))
            # The line of the log says how long it took to count, if it did.
            measure(Caller(server), options.requests, "started again")
            log = (top / "server.log").read_text().splitlines()
            print(*(line for line in log if "counted all active rows" in line), sep="\n")
    finally:
        server.kill()
        shutil.rmtree(top)


main()
