"""Follows examples/README.md as a new user would: `skep deploy`, `skep start`, a worker in each language, and every model."""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
sys.dont_write_bytecode = True

import models  # noqa: E402
from checks import DEADLINE, finish, report, until, wanted  # noqa: E402

ROOT, CACHE = Path(os.environ["SKEP_ROOT"]), Path(os.environ["SKEP_CACHE"])
EXAMPLES = ROOT / "examples"
# The command line and the workers find the server by the variables that README names.
ENVIRONMENT = os.environ | {
    "SKEP_ADDRESS": os.environ["SKEP_REST"],
    "ZEEBE_ADDRESS": os.environ["SKEP_GRPC"],
    "ZEEBE_REST_ADDRESS": os.environ["SKEP_REST"],
    "CAMUNDA_REST_ADDRESS": os.environ["SKEP_REST"],
    "CAMUNDA_GRPC_ADDRESS": "http://" + os.environ["SKEP_GRPC"],
}


def skep(*arguments) -> str:
    done = subprocess.run(
        [os.environ["SKEP_BIN"], *arguments], env=ENVIRONMENT, capture_output=True, text=True, timeout=DEADLINE
    )
    assert done.returncode == 0, f"skep {arguments} ended with code {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def post(path: str, body: dict) -> dict:
    request = urllib.request.Request(
        os.environ["SKEP_REST"] + path, json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=2 * DEADLINE) as answer:
        return json.loads(answer.read() or "{}")


def awaited(process: str, variables: dict) -> dict:
    """The variables of the finished instance."""
    body = {"processDefinitionId": process, "variables": variables, "awaitCompletion": True, "requestTimeout": 30_000}
    return post("/v2/process-instances", body)["variables"]


@contextmanager
def running(name: str, command: list[str]):
    log = Path(f"{name}.log").resolve()
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        yield lambda: log.read_text(errors="replace")
        assert process.poll() is None, f"the worker ended with code {process.returncode}: {log.read_text()}"
    except BaseException:
        print(log.read_text(errors="replace"))
        raise
    finally:
        process.kill()
        process.wait()


def works(name: str, command: list[str]) -> None:
    skep("deploy", str(EXAMPLES / "first-process.bpmn"))
    skep("start", "order", "--variables", json.dumps({"orderId": f"{name}-1", "amount": 99}))
    with running(name, command) as output:
        until("the worker has charged the first order", lambda: f"{name}-1: charging 99" in output())
        assert awaited("order", {"orderId": f"{name}-2", "amount": 900}) == {"orderId": f"{name}-2", "amount": 900, "charged": False}
        assert awaited("order", {"orderId": f"{name}-3", "amount": 500})["charged"] is True


def python_worker():
    works("python", [str(CACHE / "python/bin/python"), str(EXAMPLES / "worker.py")])


def javascript_worker():
    # Beside node_modules, as after the `npm install` that README names.
    shutil.copy(EXAMPLES / "worker.mjs", "worker.mjs")
    Path("node_modules").symlink_to(CACHE / "js/node_modules")
    works("javascript", ["node", "worker.mjs"])


def java_worker():
    works("java", ["java", "-cp", f"{CACHE}/java/lib/*", str(EXAMPLES / "Worker.java")])


def approval():
    """The part of README about a task for the managers."""
    skep("deploy", str(EXAMPLES / "approval.bpmn"))
    with ThreadPoolExecutor() as beside:
        result = beside.submit(awaited, "approval", {"what": "chairs", "amount": 900})
        jobs = {"type": "tell-managers", "timeout": 60_000, "maxJobsToActivate": 1, "requestTimeout": 30_000}
        (job,) = post("/v2/jobs/activation", jobs)["jobs"]
        task = job["userTask"]
        assert (task["candidateGroups"], task["priority"]) == (["managers"], 80), task
        post(f"/v2/jobs/{job['jobKey']}/completion", {})
        key = task["userTaskKey"]
        post(f"/v2/user-tasks/{key}/assignment", {"assignee": "anna", "allowOverride": False})
        post(f"/v2/user-tasks/{key}/completion", {"variables": {"approved": True}})
        assert result.result()["approved"] is True


def every_model_is_run():
    assert models.untested() == {"approval.bpmn"}, models.untested()  # that one has a check of its own


def checks():
    """(name, function) of all."""
    for function in (python_worker, javascript_worker, java_worker, approval, every_model_is_run):
        yield function.__name__.replace("_", " "), function
    for files, runs in models.MODELS:
        for run, steps in runs.items():
            yield f"{files[0]}: {run}", lambda files=files, steps=steps: models.check(files, steps)


def main() -> int:
    for name, function in checks():
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
