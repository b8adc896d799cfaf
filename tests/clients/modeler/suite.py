"""What a modeler sends to check a connection, to deploy and to start an instance, replayed byte by byte: three files in one deployment, with
what modelers write into them beside the model. `record.mjs` has recorded it from @camunda8/sdk 8.8.13, the library by which modelers deploy.
"""

import json
import os
import socket
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

from checks import finish, report, until, wanted  # noqa: E402

HOST, PORT = os.environ["SKEP_REST"].removeprefix("http://").split(":")
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def send(request: bytes) -> tuple[int, dict]:
    """Status and body of the answer to these bytes."""
    with socket.create_connection((HOST, int(PORT)), timeout=30) as connection:
        connection.sendall(request)
        stream = connection.makefile("rb")
        status = int(stream.readline().split()[1])
        headers = {}
        while (line := stream.readline().strip()) != b"":
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        assert headers.get("content-encoding") is None, headers
        return status, json.loads(stream.read(int(headers["content-length"])))


def replay(name: str) -> tuple[int, dict]:
    return send((HERE / f"recorded/{name}.http").read_bytes())


def post(path: str, body: dict) -> dict:
    data = json.dumps(body).encode()
    head = f"POST /v2{path} HTTP/1.1\r\nhost: {HOST}\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    status, answer = send(head.encode() + data)
    assert status == 200, (status, answer)
    return answer


def deployed() -> dict:
    status, answer = replay("2-deployment")
    assert status == 200, (status, answer)
    kinds = [next(kind for kind, one in each.items() if one is not None) for each in answer["deployments"]]
    assert sorted(kinds) == ["decisionDefinition", "decisionRequirements", "form", "processDefinition"], answer
    return {kind: each[kind] for kind, each in zip(kinds, answer["deployments"])}


@check
def the_connection_is_checked_by_the_topology():
    status, answer = replay("1-topology")
    assert status == 200, (status, answer)
    assert answer["gatewayVersion"].startswith("8."), answer
    assert answer["clusterSize"] == 1 and answer["brokers"], answer


@check
def three_files_are_one_deployment():
    found = deployed()
    process = found["processDefinition"]
    assert (process["processDefinitionId"], process["resourceName"]) == ("modeled-pay", "pay.bpmn"), process
    assert found["decisionDefinition"]["decisionDefinitionId"] == "modeled-fee", found
    assert found["decisionRequirements"]["resourceName"] == "fee.dmn", found
    assert found["form"]["formId"] == "modeled-look", found
    assert {one["tenantId"] for one in found.values()} == {"<default>"}, found


@check
def the_same_files_again_are_the_same_version():
    before, after = deployed(), deployed()
    for kind, version in (("processDefinition", "processDefinitionVersion"), ("decisionDefinition", "version"), ("form", "version")):
        assert before[kind][version] == after[kind][version] == 1, (before, after)
    assert before["processDefinition"]["processDefinitionKey"] == after["processDefinition"]["processDefinitionKey"]


@check
def what_is_for_modelers_alone_changes_nothing():
    """The instance that the modeler starts runs to its end: decision and form of its deployment, a template's job, and its example data nowhere."""
    deployed()
    status, instance = replay("3-start")
    assert status == 200 and instance["processDefinitionId"] == "modeled-pay", (status, instance)
    key = instance["processInstanceKey"]
    wanted_jobs = {"type": "modeled-call", "timeout": 60_000, "maxJobsToActivate": 10, "requestTimeout": 20_000}
    [job] = [job for job in post("/jobs/activation", wanted_jobs)["jobs"] if job["processInstanceKey"] == key]
    assert job["customHeaders"] == {"resultVariable": "answer"}, job
    assert job["variables"] == {"amount": 250, "orderId": "ö-1", "fee": 3, "authentication": {"type": "noAuth"}}, job
    complete(f"/jobs/{job['jobKey']}/completion", {})

    def task():
        found = post("/user-tasks/search", {"filter": {"processInstanceKey": key, "state": "CREATED"}})["items"]
        return found and found[0]

    found = until("the user task to be there", task)
    assert found["formKey"], found
    complete(f"/user-tasks/{found['userTaskKey']}/completion", {"variables": {"reason": "fine"}})
    search = {"filter": {"processInstanceKey": key, "state": "COMPLETED"}}
    until("the instance to end", lambda: post("/process-instances/search", search)["items"])
    variables = post("/variables/search", {"filter": {"processInstanceKey": key, "scopeKey": key}})["items"]
    values = {one["name"]: json.loads(one["value"]) for one in variables}
    assert values == {"amount": 250, "orderId": "ö-1", "fee": 3, "charged": 3, "reason": "fine"}, values


def complete(path: str, body: dict) -> None:
    data = json.dumps(body).encode()
    head = f"POST /v2{path} HTTP/1.1\r\nhost: {HOST}\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    with socket.create_connection((HOST, int(PORT)), timeout=30) as connection:
        connection.sendall(head.encode() + data)
        status = int(connection.makefile("rb").readline().split()[1])
    assert status == 204, (path, status)


def main() -> int:
    for function in CHECKS:
        name = function.__name__.replace("_", " ")
        if not wanted(name):
            continue
        started = time.monotonic()
        try:
            function()
            report(name, started, None)
        except Exception as error:  # noqa: BLE001 a check may fail in any way
            report(name, started, error)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
