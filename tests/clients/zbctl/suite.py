"""zbctl (the official command line client, from npm, gRPC), unchanged, against a running skep."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
sys.dont_write_bytecode = True

from checks import DEADLINE, Fixture, finish, invalid_fixtures, report, until, valid_fixtures, wanted  # noqa: E402

ZBCTL = os.environ["SKEP_CACHE"] + "/js/node_modules/zbctl/bin/zbctl-cli.linux"
CONNECT = ["--address", os.environ["SKEP_GRPC"], "--insecure"]
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def run(*arguments, timeout=DEADLINE) -> subprocess.CompletedProcess:
    return subprocess.run(
        [ZBCTL, *CONNECT, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL
    )


def zbctl(*arguments):
    """Runs a command that must succeed; its answer as JSON, or as text where it prints none."""
    done = run(*arguments)
    assert done.returncode == 0, f"zbctl {arguments} ended with code {done.returncode}: {done.stdout}{done.stderr}"
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        return done.stdout.strip()


def refused(code: str, *arguments) -> str:
    """Runs a command that must fail with this gRPC code; the text of the error."""
    done = run(*arguments)
    text = done.stdout + done.stderr
    assert done.returncode != 0, f"zbctl {arguments} succeeded: {text}"
    assert f"code = {code} " in text, f"zbctl {arguments}: expected {code}: {text}"
    return text


def deploy(name, *also) -> Fixture:
    fixture = Fixture(name, also)
    zbctl("deploy", "resource", *fixture.paths)
    return fixture


def start(process, variables=None) -> int:
    return int(zbctl("create", "instance", process, "--variables", json.dumps(variables or {}))["processInstanceKey"])


def result(process, variables=None, fetch=" ") -> dict:
    """The variables of an awaited instance."""
    answer = zbctl(
        "create", "instance", process, "--variables", json.dumps(variables or {}), f"--withResult={fetch}",
        "--requestTimeout", f"{DEADLINE:.0f}s",
    )
    return json.loads(answer["variables"])


class Waiting:
    """An instance that is awaited beside the check."""

    def __init__(self, process, variables=None):
        self.process = subprocess.Popen(
            [ZBCTL, *CONNECT, "create", "instance", process, "--variables", json.dumps(variables or {}),
             "--withResult", "--requestTimeout", f"{DEADLINE:.0f}s"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )

    def result(self) -> dict:
        out, err = self.process.communicate(timeout=2 * DEADLINE)
        assert self.process.returncode == 0, out + err
        return json.loads(json.loads(out)["variables"])


def activate(job_type, *more) -> list[dict]:
    """One `activate jobs`: the request goes on for a second if there is no job."""
    answer = zbctl("activate", "jobs", job_type, "--requestTimeout", "1s", *more)
    return answer.get("jobs", []) if isinstance(answer, dict) else []


def activate_one(job_type, *more) -> dict:
    jobs = until(f"a job of type {job_type}", lambda: activate(job_type, *more))
    assert len(jobs) == 1, jobs
    return jobs[0]


@check
def status_shows_the_cluster():
    text = zbctl("status")
    for part in ("Cluster size: 1", "Replication factor: 1", "Partition 1 : Leader, Healthy"):
        assert part in text, text
    assert zbctl("status", "-o", "json")["clusterSize"] == 1


@check
def deployment_numbers_versions_by_content():
    f = Fixture("one-task")
    first, again = zbctl("deploy", "resource", f.path), zbctl("deploy", "resource", f.path)
    process = first["deployments"][0]["process"]
    assert (process["bpmnProcessId"], process["version"]) == (f.id, 1), first
    assert again["deployments"] == first["deployments"], again


@check
def every_valid_fixture_deploys_and_an_invalid_one_is_refused():
    assert len(zbctl("deploy", "resource", *valid_fixtures())["deployments"]) == len(valid_fixtures()) + 1
    path, _ = next(f for f in invalid_fixtures() if f[1])
    text = refused("InvalidArgument", "deploy", "resource", path)
    assert Path(path).name in text, text


@check
def an_instance_starts_by_id_version_and_key():
    f = Fixture("one-task")
    key = zbctl("deploy", "resource", f.path)["deployments"][0]["process"]["processDefinitionKey"]
    by_id = zbctl("create", "instance", f.id, "--version", 1)
    by_key = zbctl("create", "instance", key)
    assert by_id["processDefinitionKey"] == by_key["processDefinitionKey"] == key, (by_id, by_key)
    refused("NotFound", "create", "instance", "no-such-process")
    refused("NotFound", "create", "instance", f.id, "--version", 7)


@check
def an_awaited_instance_answers_with_its_variables():
    f = deploy("empty")
    assert result(f.id, {"a": 1, "b": [None, "ü"]}) == {"a": 1, "b": [None, "ü"]}
    assert result(f.id, {"a": 1, "b": 2}, fetch="a") == {"a": 1}


@check
def a_job_is_activated_and_completed():
    f = deploy("job-headers-and-expressions")
    waiting = Waiting(f.id, {"kind": f.id, "attempts": 7})
    job = activate_one(f"job-{f.id}", "--worker", "me", "--variables", "attempts")
    assert (job["type"], job["bpmnProcessId"], job["elementId"], job["retries"], job["worker"]) == (
        f"job-{f.id}", f.id, "task", 7, "me"), job
    assert json.loads(job["customHeaders"]) == {"currency": "EUR", "channel": "web & app"}, job
    assert json.loads(job["variables"]) == {"attempts": 7}, job
    zbctl("complete", "job", job["key"], "--variables", '{"done": true}')
    assert waiting.result() == {"kind": f.id, "attempts": 7, "done": True}
    refused("NotFound", "complete", "job", job["key"])


@check
def a_job_fails_with_back_off_and_throws_an_error():
    f = deploy("error-boundary")
    waiting = Waiting(f.id)
    first = activate_one(f.name("error-boundary"))
    failed = time.monotonic()
    zbctl("fail", "job", first["key"], "--retries", 1, "--errorMessage", "busy", "--retryBackoff", "300ms",
          "--variables", '{"hint": "later"}')
    second = activate_one(f.name("error-boundary"))
    assert time.monotonic() - failed >= 0.3, "the back-off was not kept"
    assert (second["key"], second["retries"], json.loads(second["variables"])) == (first["key"], 1, {"hint": "later"})
    zbctl("throwError", "job", second["key"], "--errorCode", "CARD_DECLINED", "--errorMessage", "no money",
          "--variables", '{"reason": "poor"}')
    assert waiting.result()["outcome"] == "declined"
    refused("NotFound", "fail", "job", second["key"], "--retries", 1)
    refused("NotFound", "throwError", "job", second["key"], "--errorCode", "X")


@check
def a_job_is_offered_again_after_its_timeout():
    f = deploy("one-task")
    start(f.id)
    first = activate_one(f.name("one-task"), "--timeout", "200ms")
    second = activate_one(f.name("one-task"), "--timeout", "1h")
    zbctl("update", "timeout", second["key"], "--timeout", 100)
    third = activate_one(f.name("one-task"))
    assert first["key"] == second["key"] == third["key"]
    refused("NotFound", "update", "timeout", 123, "--timeout", 100)


@check
def an_incident_is_resolved():
    f = deploy("one-task")
    waiting = Waiting(f.id)
    job = activate_one(f.name("one-task"))
    zbctl("fail", "job", job["key"], "--retries", 0, "--errorMessage", "out of paper")
    assert activate(f.name("one-task")) == [], "a job with an incident must not be offered"
    refused("FailedPrecondition", "complete", "job", job["key"])
    zbctl("update", "retries", job["key"], "--retries", 2)
    # Commands do not answer with the key of an incident: it is a little above that of its job, as keys are in order.
    key = int(job["key"])
    incident = next((i for i in range(key + 1, key + 100) if run("resolve", "incident", i).returncode == 0), None)
    assert incident, f"no incident after {key}"
    refused("NotFound", "resolve", "incident", incident)
    again = activate_one(f.name("one-task"))
    assert (again["key"], again["retries"]) == (job["key"], 2), again
    zbctl("complete", "job", again["key"])
    assert waiting.result() == {}


@check
def set_variables_are_seen_by_the_next_job():
    f = deploy("two-tasks")
    instance = start(f.id, {"a": 1})
    first = activate_one(f.name("two-tasks-first"))
    zbctl("set", "variables", instance, "--variables", '{"a": 2}')
    zbctl("set", "variables", first["elementInstanceKey"], "--variables", '{"local": true}', "--local")
    zbctl("complete", "job", first["key"])
    assert json.loads(activate_one(f.name("two-tasks-second"))["variables"]) == {"a": 2}
    refused("NotFound", "set", "variables", 123, "--variables", "{}")


@check
def messages_correlate_and_have_unique_ids():
    f = deploy("message-catch")
    publish = ("publish", "message", f.name("payment-received"), "--correlationKey", "o-1", "--ttl", "10m", "--messageId", "m")
    zbctl(*publish, "--variables", '{"n": 1}')
    refused("AlreadyExists", *publish)
    assert result(f.id, {"orderId": "o-1"}) == {"orderId": "o-1", "n": 1}


@check
def a_cancelled_instance_is_gone():
    f = deploy("one-task")
    instance = start(f.id)
    zbctl("cancel", "instance", instance)
    refused("NotFound", "cancel", "instance", instance)
    assert activate(f.name("one-task")) == []


@check
def a_deleted_resource_cannot_be_started():
    f = Fixture("empty")
    key = zbctl("deploy", "resource", f.path)["deployments"][0]["process"]["processDefinitionKey"]
    zbctl("delete", "resource", key)
    refused("NotFound", "create", "instance", f.id)
    refused("NotFound", "delete", "resource", key)


def with_worker(*flags):
    """A worker whose handler is a shell command: variables on stdin, the new ones on stdout, code 1 fails the job."""
    f = deploy("one-task")
    handler = Path(f"handler{f.suffix}.sh").resolve()
    handler.write_text(
        "#!/bin/sh\n"
        "variables=$(cat)\n"
        "case $variables in *fail*)\n"
        f"  if [ ! -e failed{f.suffix} ]; then touch failed{f.suffix}; echo 'not yet' >&2; exit 1; fi ;;\n"
        "esac\n"
        'echo \'{"handled": true}\'\n'
    )
    handler.chmod(0o755)
    worker = subprocess.Popen(
        [ZBCTL, *CONNECT, "create", "worker", f.name("one-task"), "--handler", str(handler), *flags],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
    )
    try:
        assert result(f.id, {"n": 1}) == {"n": 1, "handled": True}
        assert result(f.id, {"fail": True}) == {"fail": True, "handled": True}
        assert Path(f"failed{f.suffix}").exists(), "the handler has not failed once"
        assert worker.poll() is None, "the worker ended"
    finally:
        worker.kill()
        worker.wait()


@check
def a_worker_completes_and_fails_jobs():
    with_worker()


@check
def a_streaming_worker_completes_and_fails_jobs():
    with_worker("--streamEnabled")


def main() -> int:
    for function in CHECKS:
        name = re.sub("_", " ", function.__name__)
        if not wanted(name):
            continue
        started, error = time.monotonic(), None
        try:
            function()
        except Exception as caught:
            error = caught
        report(name, started, error)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
