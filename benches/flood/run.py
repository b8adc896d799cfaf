#!/usr/bin/env python3
"""What other clients notice while one client sends more work that takes long than a node can do.

One server without a login. The flood comes from 127.0.0.2, over 100 connections that send the next request as soon as the last
one is answered: evaluations that use up their budget of steps, or searches with 2,400 alternatives. Meanwhile an honest client
from 127.0.0.1 sends five small requests of each kind a second. Prints what both were answered, and how long the honest client
waited.

    benches/flood/run.py target/release/skep [--seconds 20] [--connections 100] [--same-address]

--same-address sends the flood from 127.0.0.1 too, so that both are one client for the server.
"""

import argparse
import collections
import http.client
import json
import pathlib
import subprocess
import tempfile
import threading
import time
import urllib.request

REST, GRPC, MANAGEMENT = 18080, 18500, 18600
EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "first-process.bpmn"
LONG = {"expression": "=count(for i in 1..90000000 return i)"}
ALTERNATIVES = {"filter": {"$or": [{"processInstanceKey": str(2251799813685249 + n)} for n in range(2400)]}}
FLOODS = {
    "evaluations": ("/v2/expression/evaluation", LONG),
    "searches": ("/v2/process-instances/search", ALTERNATIVES),
}
HONEST = {
    "creation": ("/v2/process-instances", {"processDefinitionId": "order"}),
    "evaluation": ("/v2/expression/evaluation", {"expression": "=1 + 1"}),
    "long evaluation": ("/v2/expression/evaluation", {"expression": "=count(for i in 1..20000 return i)"}),
    "search": ("/v2/process-instances/search", {"filter": {"state": "ACTIVE"}, "page": {"limit": 1}}),
    "costly search": ("/v2/process-instances/search", {"filter": {"$or": ALTERNATIVES["filter"]["$or"][:40]}}),
}
HEADERS = {"content-type": "application/json"}


class Client(threading.Thread):
    """Sends the same request again and again, and notes status and duration of each."""

    def __init__(self, address, request, pause, until):
        super().__init__(daemon=True)
        self.address, self.pause, self.until = address, pause, until
        self.path, body = request
        self.body = json.dumps(body)
        self.answers = []

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", REST, timeout=60, source_address=(self.address, 0))
        while time.monotonic() < self.until:
            begun = time.monotonic()
            connection.request("POST", self.path, self.body, HEADERS)
            answer = connection.getresponse()
            answer.read()
            self.answers.append((answer.status, time.monotonic() - begun))
            time.sleep(max(0, self.pause - (time.monotonic() - begun)))


def statuses(answers):
    return ", ".join(f"{count} × {status}" for status, count in sorted(collections.Counter(s for s, _ in answers).items()))


def show(name, answers):
    times = sorted(t for _, t in answers) or [0]
    p50, p99 = times[len(times) // 2], times[int((len(times) - 1) * 0.99)]
    print(f"  {name:16} p50 {p50 * 1e3:7.1f} ms  p99 {p99 * 1e3:7.1f} ms   {statuses(answers)}", flush=True)


def turn(name, args):
    until = time.monotonic() + args.seconds
    address = "127.0.0.1" if args.same_address else "127.0.0.2"
    flood = [Client(address, FLOODS[name], 0, until) for _ in range(args.connections)] if name in FLOODS else []
    honest = {what: Client("127.0.0.1", request, 0.2, until) for what, request in HONEST.items()}
    for client in [*flood, *honest.values()]:
        client.start()
    for client in [*flood, *honest.values()]:
        client.join()
    print(f"flood of {name}: {statuses([a for client in flood for a in client.answers])}" if flood else "alone")
    for what, client in honest.items():
        show(what, client.answers)


def until_ready():
    for _ in range(500):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{MANAGEMENT}/ready", timeout=1).close()
        except OSError:
            time.sleep(0.02)
    raise SystemExit("the server does not start")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--same-address", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        ports = ["--rest-port", str(REST), "--grpc-port", str(GRPC), "--management-port", str(MANAGEMENT)]
        serve = [args.binary, "serve", "--data", directory, *ports]
        server = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until_ready()
            deploy = [args.binary, "deploy", str(EXAMPLE), "--address", f"http://127.0.0.1:{REST}"]
            subprocess.run(deploy, check=True, capture_output=True)
            for name in ["nobody", *FLOODS]:
                turn(name, args)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
