#!/usr/bin/env python3
"""How long after its answer a change of permissions is known to the other nodes.

Four nodes, of which one has no copy of partition 1 and is told by another node. A user gets a role and loses it again, in turn by each
node. Every other node is asked who the user is until it says so. Prints p50, p99 and the greatest time between the answer and that, in
milliseconds: of nodes with a copy, and of the one without.

    benches/identity/staleness.py target/dist/skep [--changes 400] [--directory DIR]
"""

import argparse
import base64
import http.client
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

NODES, COPIES = 4, 3
REST, GRPC, MANAGEMENT, INTERNAL = 23080, 23180, 23280, 23380
START_LIMIT, CHANGE_LIMIT = 120, 30
# The first partition is on the first nodes.
WITHOUT_COPY = NODES - 1

SETTINGS = """\
camunda.security:
  authentication.method: basic
  authorizations.enabled: true
  initialization:
    users:
      - {username: admin, password: hush, name: Admin, email: admin@example.org}
      - {username: anna, password: hush, name: Anna, email: anna@example.org}
    roles:
      - {role-id: clerk, name: Clerk}
    default-roles:
      admin: {users: [admin]}
"""


class Caller:
    """A connection to a node."""

    def __init__(self, node, name):
        login = base64.b64encode(f"{name}:hush".encode()).decode()
        self.headers = {"authorization": f"Basic {login}", "content-type": "application/json"}
        self.connection = http.client.HTTPConnection("127.0.0.1", REST + node, timeout=60)

    def ask(self, method, path):
        self.connection.request(method, path, None, self.headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def is_clerk(self):
        status, text = self.ask("GET", "/v2/authentication/me")
        if status != 200:
            sys.exit(f"who it is: {status} {text[:300]!r}")
        return "clerk" in json.loads(text)["roles"]


def start(binary, top):
    (top / "nodes.yaml").write_text(SETTINGS)
    points = ",".join(f"127.0.0.1:{INTERNAL + node}" for node in range(NODES))
    servers = []
    for node in range(NODES):
        cluster = {
            "node-id": node,
            "size": NODES,
            "replication-factor": COPIES,
            "partition-count": NODES,
            "initial-contact-points": points,
            "network.internal-api.port": INTERNAL + node,
        }
        ports = ["--rest-port", REST + node, "--grpc-port", GRPC + node, "--management-port", MANAGEMENT + node]
        serve = [binary, "serve", "--config", top / "nodes.yaml", "--data", top / str(node), *ports]
        for name, value in cluster.items():
            serve += ["--set", f"camunda.cluster.{name}={value}"]
        log = (top / f"{node}.log").open("w")
        servers.append(subprocess.Popen([str(it) for it in serve], stdout=subprocess.DEVNULL, stderr=log))
    return servers


def until_ready(servers):
    end = time.monotonic() + START_LIMIT
    for node in range(NODES):
        while True:
            if any(server.poll() is not None for server in servers):
                sys.exit("a node ended")
            try:
                if all(Caller(node, name).ask("GET", "/v2/topology")[0] == 200 for name in ("admin", "anna")):
                    break
            except OSError:
                pass
            if time.monotonic() > end:
                sys.exit(f"node {node} does not start")
            time.sleep(0.1)


def watch(caller, wanted, seen, node):
    """Notes when the node knows the change."""
    end = time.monotonic() + CHANGE_LIMIT
    while caller.is_clerk() != wanted:
        if time.monotonic() > end:
            return
    seen[node] = time.monotonic()


def measure(changes):
    admins = [Caller(node, "admin") for node in range(NODES)]
    annas = [Caller(node, "anna") for node in range(NODES)]
    took = {"with a copy of partition 1": [], "without": []}
    repeated = 0
    for turn in range(changes):
        by, wanted, seen = turn % NODES, turn % 2 == 0, {}
        others = [node for node in range(NODES) if node != by]
        watching = [threading.Thread(target=watch, args=(annas[node], wanted, seen, node)) for node in others]
        for thread in watching:
            thread.start()
        method = "PUT" if wanted else "DELETE"
        tries, status = 0, 0
        # Leaders may move in a cluster that has just started. Who asks again may learn that the change was carried out.
        while status not in (204, 404, 409):
            status, text = admins[by].ask(method, "/v2/roles/clerk/users/anna")
            answered, tries = time.monotonic(), tries + 1
            if status not in (204, 404, 409, 502, 503, 504) or tries > 20:
                sys.exit(f"change {turn}: {status} {text[:300]!r}")
        for thread in watching:
            thread.join()
        if tries > 1:
            repeated += 1
            continue
        for node in others:
            if node not in seen:
                sys.exit(f"node {node} does not know change {turn} after {CHANGE_LIMIT} s")
            kind = "without" if node == WITHOUT_COPY else "with a copy of partition 1"
            took[kind].append(max(seen[node] - answered, 0) * 1e3)
    print(f"{changes - repeated} changes; {repeated} others had to be sent again and are left out")
    print(f"{'nodes':32}{'p50':>8}{'p99':>8}{'most':>8}   ms after the answer; goal: p99 100")
    for kind, times in took.items():
        p50, p99 = statistics.median(times), statistics.quantiles(times, n=100)[98]
        print(f"{kind:32}{p50:8.1f}{p99:8.1f}{max(times):8.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--changes", type=int, default=400)
    parser.add_argument("--directory", help="where the data goes")
    args = parser.parse_args()
    top = pathlib.Path(tempfile.mkdtemp(prefix="skep-staleness-", dir=args.directory))
    servers = start(args.binary, top)
    try:
        until_ready(servers)
        measure(args.changes)
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            server.wait()
        shutil.rmtree(top)


if __name__ == "__main__":
    main()
