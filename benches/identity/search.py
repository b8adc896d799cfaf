#!/usr/bin/env python3
"""What searches take for a caller who may see a hundred single processes, against one who may see all of them.

One server with names and passwords, permissions, and a million ended instances of 200 processes. Two callers search in turn:
`all` may read the instances of every process, `some` those of 100 of them. Prints p50 and p99 of each kind of search in
milliseconds for both, and their ratios.

With `--tenants` all instances belong to one tenant. A third caller, `other`, may read all processes but belongs to a tenant
without instances. What the searches of `other` and those that find nothing take is printed, too.

    benches/identity/search.py target/dist/skep [--instances 1000000] [--searches 300] [--tenants] [--directory DIR]
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
import time
import urllib.request

REST, GRPC, MANAGEMENT = 18080, 18500, 18600
PROCESSES, GRANTED = 200, 100
# Fills that are under way at a time; each makes an instance of every process.
FILLS = 4
START_LIMIT, FILL_LIMIT = 60, 3600
# Of the processes by their ids, once they are deployed.
KEYS = {}
SEARCH = "/v2/process-instances/search"
TENANT = "acme"

BPMN = (
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" '
    'xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">'
    '<process id="{id}" isExecutable="true"><startEvent id="s"><outgoing>f</outgoing></startEvent>{middle}'
    '<endEvent id="e"><incoming>{last}</incoming></endEvent></process></definitions>'
)
NOTHING = '<sequenceFlow id="f" sourceRef="s" targetRef="e"/>'
CALLS = (
    '<sequenceFlow id="f" sourceRef="s" targetRef="c"/><callActivity id="c"><extensionElements>'
    '<zeebe:calledElement processId="=&quot;process-&quot; + string(n)" propagateAllChildVariables="false"/>'
    "</extensionElements><incoming>f</incoming><outgoing>g</outgoing><multiInstanceLoopCharacteristics>"
    "<extensionElements><zeebe:loopCharacteristics "
    f'inputCollection="=for i in 0..{PROCESSES - 1} return i" inputElement="n"/></extensionElements>'
    '</multiInstanceLoopCharacteristics></callActivity><sequenceFlow id="g" sourceRef="c" targetRef="e"/>'
)


def settings(tenants):
    """`admin` fills the store, the others search."""
    process = "PROCESS_DEFINITION"
    grants = [
        ("admin", "RESOURCE", "*", "CREATE"),
        ("admin", process, "*", "CREATE_PROCESS_INSTANCE, READ_PROCESS_INSTANCE, READ_PROCESS_DEFINITION"),
        ("all", process, "*", "READ_PROCESS_INSTANCE"),
    ]
    some = range(0, PROCESSES, PROCESSES // GRANTED)
    grants += [("some", process, f"process-{n}", "READ_PROCESS_INSTANCE") for n in some]
    lines = ["camunda.security:", "  authentication.method: basic", "  authorizations.enabled: true"]
    lines += ["  initialization:", "    users:"]
    names = ("admin", "all", "some", "other")
    lines += [f"      - {{username: {name}, password: {name}-secret}}" for name in names]
    grants.append(("other", process, "*", "READ_PROCESS_INSTANCE"))
    if tenants:
        lines.insert(1, "  multi-tenancy.checks-enabled: true")
        lines += ["    tenants:", f"      - {{tenant-id: {TENANT}, name: A, users: [admin, all, some]}}"]
        lines.append("      - {tenant-id: other, name: B, users: [other]}")
    lines.append("    authorizations:")
    lines += [
        f'      - {{owner-type: USER, owner-id: {owner}, resource-type: {on}, resource-id: "{what}", permissions: [{may}]}}'
        for owner, on, what, may in grants
    ]
    return "\n".join(lines) + "\n"


class Caller:
    def __init__(self, name):
        login = base64.b64encode(f"{name}:{name}-secret".encode()).decode()
        self.headers = {"authorization": f"Basic {login}", "content-type": "application/json"}
        self.connection = http.client.HTTPConnection("127.0.0.1", REST, timeout=120)

    def ask(self, path, body, headers=None):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.connection.request("POST", path, text, self.headers | (headers or {}))
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            sys.exit(f"{path}: {answer.status} {text[:500]!r}")
        return json.loads(text)

    def keys(self):
        body = {"page": {"limit": PROCESSES}}
        while True:
            found = self.ask("/v2/process-definitions/search", body)["items"]
            if len(found) == PROCESSES:
                return {one["processDefinitionId"]: one["processDefinitionKey"] for one in found}
            time.sleep(0.1)

    def deploy(self, models, tenant):
        """At most 50 parts go into a deployment, one of which may name the tenant."""
        for first in range(0, len(models), 49):
            head = 'content-disposition: form-data; name="resources"; filename="{}.bpmn"\r\ncontent-type: text/xml'
            parts = [f"--b\r\n{head.format(n)}\r\n\r\n{text}\r\n" for n, text in enumerate(models[first : first + 49])]
            if tenant:
                parts.append(f'--b\r\ncontent-disposition: form-data; name="tenantId"\r\n\r\n{tenant}\r\n')
            body = "".join(parts) + "--b--\r\n"
            self.ask("/v2/deployments", body.encode(), {"content-type": "multipart/form-data; boundary=b"})


def fill(instances, tenant):
    """A fill is one request; its instances come one after the other."""
    admin = Caller("admin")
    admin.deploy([BPMN.format(id=f"process-{n}", middle=NOTHING, last="f") for n in range(PROCESSES)], tenant)
    KEYS.update(admin.keys())
    admin.deploy([BPMN.format(id="fill", middle=CALLS, last="g")], tenant)
    began, made, target = time.monotonic(), 0, instances // PROCESSES
    under_way = {"filter": {"processDefinitionId": "fill", "state": "ACTIVE"}, "page": {"limit": 1}}
    while True:
        left = admin.ask(SEARCH, under_way)["page"]["totalItems"]
        if made == target and not left:
            break
        for _ in range(min(FILLS - left, target - made)):
            admin.ask("/v2/process-instances", {"processDefinitionId": "fill"} | ({"tenantId": tenant} if tenant else {}))
            made += 1
        if time.monotonic() - began > FILL_LIMIT:
            sys.exit("the store is not filled in time")
        time.sleep(0.005)
    print(f"filled with {target * PROCESSES:,} instances in {time.monotonic() - began:.0f} s", flush=True)


def searches(turn):
    """Each kind, over processes that both may read."""
    one = f"process-{turn * 2 % PROCESSES}"
    filters = {
        "newest 50": {},
        "newest 50 of a state": {"state": "COMPLETED"},
        "newest 50 of a process and a state": {"processDefinitionId": one, "state": "COMPLETED"},
        "the same, by the key of the process": {"processDefinitionKey": KEYS[one], "state": "COMPLETED"},
    }
    newest = {"sort": [{"field": "startDate", "order": "DESC"}], "page": {"limit": 50}}
    return {kind: {"filter": narrowed} | newest for kind, narrowed in filters.items()}


def measure(count):
    callers = {name: Caller(name) for name in ("all", "some")}
    took = {kind: {name: [] for name in callers} for kind in searches(0)}
    for turn in range(count):
        # Who begins changes, as the first search may warm what the second one reads.
        order = list(callers) if turn % 2 else list(reversed(callers))
        for kind, body in searches(turn).items():
            for name in order:
                began = time.perf_counter()
                found = callers[name].ask(SEARCH, body)
                took[kind][name].append((time.perf_counter() - began) * 1e3)
                if len(found["items"]) != 50:
                    sys.exit(f"{kind} by {name}: {len(found['items'])} rows")
    print(f"{'p50, p99 in ms':36}{'all':>16}{'some':>16}{'some / all':>16}")
    for kind, by in took.items():
        cuts = [(statistics.median(ms), statistics.quantiles(ms, n=100)[98]) for ms in by.values()]
        cuts.append([some / whole for whole, some in zip(*cuts)])
        print(f"{kind:36}" + "".join(f"{f'{p50:.2f}, {p99:.2f}':>16}" for p50, p99 in cuts))


def measure_nothing(count):
    """Searches of all and of what is not there, in a tenant with all instances and in one with none."""
    print(f"{'few or none, p50, p99 in ms':36}{'all':>16}{'other':>16}")
    for kind, narrowed in {"all": {}, "of a state": {"state": "ACTIVE"}}.items():
        cuts = []
        for caller in (Caller("all"), Caller("other")):
            took = []
            for _ in range(count):
                began = time.perf_counter()
                caller.ask(SEARCH, {"filter": narrowed, "page": {"limit": 50}})
                took.append((time.perf_counter() - began) * 1e3)
            cuts.append((statistics.median(took), statistics.quantiles(took, n=100)[98]))
        print(f"{kind:36}" + "".join(f"{f'{p50:.2f}, {p99:.2f}':>16}" for p50, p99 in cuts))


def until_ready(server):
    end = time.monotonic() + START_LIMIT
    while time.monotonic() < end:
        if server.poll() is not None:
            sys.exit(f"the server ended with {server.returncode}")
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{MANAGEMENT}/ready", timeout=5).close()
        except OSError:
            time.sleep(0.1)
    sys.exit("the server does not start")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--instances", type=int, default=1_000_000)
    parser.add_argument("--searches", type=int, default=300, help="of each kind and caller")
    parser.add_argument("--tenants", action="store_true", help="all instances belong to one tenant")
    parser.add_argument("--directory", help="where the data goes")
    args = parser.parse_args()
    top = pathlib.Path(tempfile.mkdtemp(prefix="skep-search-", dir=args.directory))
    (top / "settings.yaml").write_text(settings(args.tenants))
    ports = ["--rest-port", str(REST), "--grpc-port", str(GRPC), "--management-port", str(MANAGEMENT)]
    serve = [args.binary, "serve", "--config", str(top / "settings.yaml"), "--data", str(top / "data"), *ports]
    server = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until_ready(server)
        fill(args.instances, TENANT if args.tenants else None)
        measure(args.searches)
        if args.tenants:
            measure_nothing(args.searches)
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(top)


if __name__ == "__main__":
    main()
