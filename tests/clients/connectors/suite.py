"""The official connectors runtime, unchanged, works for Skep: the HTTP JSON connector, and calls and polls that start instances
and let them go on.

Skep asks who its callers are: the runtime is a user with the role `connectors` and no other right. All checks run twice: over
REST, which is the runtime's default, and over gRPC with job streams and three partitions. Skep and the runtime are this suite's own.
"""

import base64
import json
import os
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

from checks import finish, report, until, wanted  # noqa: E402
from runtime import Runtime  # noqa: E402
from server import Server, clean_environment  # noqa: E402
from target import Target  # noqa: E402
from world import World  # noqa: E402

AREA = "CAMUNDA_SECURITY_"
INITIAL = f"{AREA}INITIALIZATION_"
SETTINGS = {
    f"{AREA}AUTHENTICATION_METHOD": "basic",
    f"{INITIAL}USERS_0_USERNAME": "root",
    f"{INITIAL}USERS_0_PASSWORD": "root-secret",
    f"{INITIAL}USERS_1_USERNAME": "runtime",
    f"{INITIAL}USERS_1_PASSWORD": "runtime-secret",
    f"{INITIAL}DEFAULTROLES_ADMIN_USERS": "root",
    f"{INITIAL}DEFAULTROLES_CONNECTORS_USERS": "runtime",
}
SECRETS = {"SHOP_TOKEN": "token-of-the-shop", "SHOP_KEY": "key-of-the-shop", "SHOP_PASSWORD": "password-of-the-shop"}
ORDER = {"number": "7", "customer": "Ada", "currency": "EUR", "items": ["tea", "žluťoučký ☕"], "prices": [5, 7.25]}
# What the runtime says of itself, and the failures that checks make: none of them is about Skep.
OF_ITSELF = [
    "ZeebeClient is deprecated", "No inbound connectors discovered",
    # It would rather have TLS.
    "security level does not guarantee that the credentials will be confidential",
]
MADE = ["Internal Server Error", "Not Found", "the shop misses", "url: Validation failed"]
REFUSED = ["Failed with code 409"]
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


@check
def the_runtime_is_healthy_and_knows_the_topology(world):
    with urllib.request.urlopen(f"{world.runtime.url}/actuator/health", timeout=30) as answer:
        health = json.load(answer)
    parts = {name: part["status"] for name, part in health["components"].items()}
    assert set(parts.values()) == {"UP"} and "zeebeClient" in parts, health


@check
def a_call_arrives_as_the_model_says(world):
    world.target.answers("/orders/7", (200, {"receipt": "r-7", "total": 12.25}))
    end = world.result("order", shop=world.target.url, order=ORDER)
    (request,) = world.target.requests["/orders/7"]
    assert request.method == "POST", request
    assert request.query == {"currency": "EUR", "express": "yes"}, request
    assert json.loads(request.body) == {"items": ORDER["items"], "total": 12.25, "note": None}, request
    expected = {"x-customer": "Ada", "x-key": SECRETS["SHOP_KEY"], "authorization": f"Bearer {SECRETS['SHOP_TOKEN']}"}
    assert {name: request.headers.get(name) for name in expected} == expected, request
    # The expression and the variable for the answer.
    assert {name: end.get(name) for name in ("receipt", "paid", "code")} == {"receipt": "r-7", "paid": 12.25, "code": 200}, end
    assert (end["answer"]["status"], end["answer"]["body"]) == (200, {"receipt": "r-7", "total": 12.25}), end
    assert set(end) == {"shop", "order", "receipt", "paid", "code", "answer"}, end


@check
def each_method_is_sent(world):
    for kind in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        path = f"/methods/{kind}"
        world.target.answers(path, (200, {"seen": kind}))
        what = None if kind in ("GET", "DELETE") else {"a": [1, {"b": True}]}
        end = world.result("request", kind=kind, where=world.target.url + path, what=what, keep=False)
        (request,) = world.target.requests[path]
        login = base64.b64encode(f"skep:{SECRETS['SHOP_PASSWORD']}".encode()).decode()
        assert (request.method, request.headers["authorization"]) == (kind, f"Basic {login}"), request
        assert what is None or json.loads(request.body) == what, request
        assert end["answer"]["body"] == {"seen": kind}, end


@check
def an_answer_is_kept_as_a_document(world):
    world.target.answers("/invoice", (200, {"invoice": "i-1"}))
    end = world.result("request", kind="GET", where=world.target.url + "/invoice", what=None, keep=True)
    document = end["answer"]["document"]
    query = urllib.parse.urlencode({"storeId": document["storeId"], "contentHash": document["contentHash"]})
    kept = world.ask("GET", f"/v2/documents/{document['documentId']}?{query}")
    assert json.loads(kept) == {"invoice": "i-1"}, kept


@check
def secrets_are_in_no_variable_and_no_record(world):
    world.result("order", shop=world.target.url, order=ORDER | {"number": "secret"})
    kept = world.found("variables")
    values = [world.ask("GET", f"/v2/variables/{one['variableKey']}").decode() for one in kept]
    assert any("{{secrets.SHOP_TOKEN}}" in value for value in values), "the model's own text is not there"
    leaked = [value for value in values for secret in SECRETS.values() if secret in value]
    assert not leaked, leaked
    command = [str(world.server.binary), "log", str(world.server.directory / "data")]
    records = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=60, check=True).stdout
    leaked = [line for line in records.splitlines() for secret in SECRETS.values() if secret in line]
    assert "{{secrets.SHOP_TOKEN}}" in records and not leaked, leaked


@check
def a_failing_target_is_called_again_and_then_there_is_an_incident(world):
    world.target.answers("/orders/8", (500, {"reason": "broken"}))
    key = world.start("order", shop=world.target.url, order=ORDER | {"number": "8"})
    incident = world.incident(key)
    assert (incident["errorType"], incident["errorMessage"]) == ("JOB_NO_RETRIES", "Internal Server Error"), incident
    assert len(world.target.requests["/orders/8"]) == 3, world.target.requests["/orders/8"]
    # The connector stores the failure in a variable of the task.
    (error,) = world.found("variables", processInstanceKey=key, name="error")
    error = json.loads(json.loads(world.ask("GET", f"/v2/variables/{error['variableKey']}"))["value"])
    assert (error["code"], error["variables"]["response"]["body"]) == ("500", {"reason": "broken"}), error
    world.target.answers("/orders/8", (200, {"receipt": "r-8", "total": 1}))
    world.ask("PATCH", f"/v2/jobs/{incident['jobKey']}", {"changeset": {"retries": 1}})
    world.ask("POST", f"/v2/incidents/{incident['incidentKey']}/resolution", {})
    world.state(key, "COMPLETED")
    assert world.variables(key)["receipt"] == "r-8", world.variables(key)
    assert len(world.target.requests["/orders/8"]) == 4, world.target.requests["/orders/8"]


@check
def a_target_that_comes_back_is_called_again_after_the_backoff(world):
    world.target.answers("/orders/9", (500, {}), (200, {"receipt": "r-9", "total": 1}))
    started = time.monotonic()
    end = world.result("order", shop=world.target.url, order=ORDER | {"number": "9"})
    took = time.monotonic() - started
    assert end["receipt"] == "r-9" and took >= 0.2, (end, took)
    assert len(world.target.requests["/orders/9"]) == 2, world.target.requests["/orders/9"]


@check
def an_error_expression_throws_a_bpmn_error(world):
    world.target.answers("/orders/10", (404, {"number": "10"}))
    key = world.start("order", shop=world.target.url, order=ORDER | {"number": "10"})
    world.state(key, "COMPLETED")
    passed = {one["elementId"]: one["state"] for one in world.found("element-instances", processInstanceKey=key)}
    assert passed["request"] == "TERMINATED" and passed["unknown"] == passed["missing"] == "COMPLETED", passed
    assert world.variables(key)["lost"] == "10", world.variables(key)
    assert len(world.target.requests["/orders/10"]) == 1, world.target.requests["/orders/10"]


@check
def an_error_expression_fails_the_job_for_good(world):
    world.target.answers("/orders/11", (422, {"missing": "address"}))
    key = world.start("order", shop=world.target.url, order=ORDER | {"number": "11"})
    incident = world.incident(key)
    assert incident["errorMessage"] == "the shop misses: address", incident
    assert len(world.target.requests["/orders/11"]) == 1, world.target.requests["/orders/11"]


@check
def a_request_without_an_address_is_an_incident_at_once(world):
    key = world.start("request", kind="GET", where=None, what=None, keep=False)
    assert "url" in world.incident(key)["errorMessage"], world.incident(key)


@check
def many_instances_call_once_each(world):
    keys = [world.start("order", shop=world.target.url, order=ORDER | {"number": f"many-{n}"}) for n in range(100)]
    for key in keys:
        world.state(key, "COMPLETED")
    calls = [len(world.target.requests[f"/orders/many-{n}"]) for n in range(100)]
    assert calls == [1] * 100, calls


@check
def a_call_from_outside_starts_an_instance_which_a_poll_and_a_call_end(world):
    world.takes("orders", "confirmations", "notices")
    assert world.call("orders", "tea, please", order="o-1") == 200
    (instance,) = until("the instance", lambda: world.found("process-instances", processDefinitionId="called"))
    key = instance["processInstanceKey"]
    waits = {"processInstanceKey": key, "elementId": "confirm", "state": "ACTIVE"}
    until("the poll has let it go on", lambda: world.found("element-instances", **waits))
    assert world.call("confirmations", "it is paid", order="o-1") == 200
    world.state(key, "COMPLETED")
    expected = {"order": "o-1", "said": "tea, please", "polled": "o-1", "confirmed": "it is paid"}
    assert world.variables(key) == expected, world.variables(key)


@check
def a_call_that_comes_twice_starts_one_instance(world):
    world.takes("orders", "confirmations", "notices")
    assert world.call("notices", "a", notice="n-1") == 200
    # Skep refuses the second message. Over gRPC the runtime takes that for success; over REST it does not, whoever refuses.
    assert (world.call("notices", "b", notice="n-1") == 200) == (world.transport == "gRPC")
    assert world.call("notices", "c", notice="n-2") == 200
    begun = lambda: world.found("process-instances", processDefinitionId="notified", state="COMPLETED")
    until("both instances", lambda: len(begun()) == 2)
    bodies = sorted(world.variables(one["processInstanceKey"])["call"]["request"]["body"] for one in begun())
    assert bodies == ["a", "c"], bodies


@check
def a_new_version_and_a_deletion_reach_the_runtime(world):
    text = (HERE / "called.bpmn").read_text()
    world.deploy(("called.bpmn", text.replace('"orders"', '"new-orders"').encode()))
    world.takes("new-orders", "confirmations", "notices")
    assert world.call("orders", "tea", order="o-2") == 404
    assert world.call("new-orders", "more tea", order="o-2") == 200
    begun = {"processDefinitionId": "called", "processDefinitionVersion": 2}
    (instance,) = until("an instance of the new version", lambda: world.found("process-instances", **begun))
    world.ask("POST", f"/v2/process-instances/{instance['processInstanceKey']}/cancellation", {})
    for definition in world.found("process-definitions", processDefinitionId="called"):
        world.ask("POST", f"/v2/resources/{definition['processDefinitionKey']}/deletion", {})
    world.takes("notices")


@check
def versions_that_come_between_its_pages_do_not_confuse_the_runtime(world):
    # It reads all definitions page by page, every half second. What it would say is looked at by the next check.
    text = (HERE / "request.bpmn").read_text().replace('id="request"', 'id="zealous"')
    end = time.monotonic() + 2
    versions = 0
    while time.monotonic() < end:
        versions += 1
        world.deploy(("zealous.bpmn", text.replace('id="start" /', f'id="start" name="{versions}" /').encode()))
    until("the runtime knows the last one", lambda: f" {versions} for tenant" in world.runtime.text())


@check
def the_runtime_has_nothing_to_say_against_skep(world):
    allowed = OF_ITSELF + MADE + (REFUSED if world.transport == "REST" else [])
    said = world.runtime.troubles()
    assert any("ZeebeClient is deprecated" in text for _, text, _ in said), "the log cannot be read"
    troubles = [one for one in said if not any(text in line for line in one[1:] for text in allowed)]
    assert not troubles, "\n".join(map(str, troubles))


def settings(transport: str, server: Server) -> dict[str, str]:
    """The settings of the runtime, besides its defaults."""
    client = "camunda.client."
    of_transport = {
        f"{client}grpc-address": f"http://127.0.0.1:{server.grpc}", f"{client}prefer-rest-over-grpc": "false",
        f"{client}worker.defaults.stream-enabled": "true",
    }
    return {
        f"{client}mode": "self-managed", f"{client}rest-address": f"http://127.0.0.1:{server.rest}",
        f"{client}auth.method": "basic", f"{client}auth.username": "runtime", f"{client}auth.password": "runtime-secret",
    } | (of_transport if transport == "gRPC" else {})


def run(transport: str, partitions: int) -> None:
    with Server("connectors", partitions, SETTINGS) as server, Target() as target:
        with Runtime(Path(os.environ["SKEP_CACHE"]), server.directory, settings(transport, server), SECRETS) as runtime:
            world = World(transport, server, runtime, target)
            world.deploy(*((path.name, path.read_bytes()) for path in sorted(HERE.glob("*.bpmn"))))
            failed = False
            for function in CHECKS:
                name = f"{transport}: {function.__name__.replace('_', ' ')}"
                if not wanted(name):
                    continue
                started = time.monotonic()
                try:
                    function(world)
                    report(name, started, None)
                except Exception as error:  # noqa: BLE001 a check may fail in any way
                    report(name, started, error)
                    failed = True
            if failed:
                runtime.print_log()
                server.print_log()
        server.stop()


def main() -> int:
    run("REST", 1)
    run("gRPC", 3)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
