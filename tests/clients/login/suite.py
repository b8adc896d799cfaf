"""Official clients that log in by name and password, as users with few rights: REST of Python and Node.js, REST and gRPC of Java, the
command line, and what is refused. The server is this suite's own.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import loguru  # noqa: E402
from camunda_orchestration_sdk import CamundaClient  # noqa: E402
from checks import finish, report, wanted  # noqa: E402
from java import login_worker  # noqa: E402
from node import with_clients  # noqa: E402
from server import Server, clean_environment  # noqa: E402

loguru.logger.remove()
EXAMPLES = Path(os.environ["SKEP_ROOT"]) / "examples"
AREA = "CAMUNDA_SECURITY_"
INITIAL = f"{AREA}INITIALIZATION_"
# The worker of one process may work its jobs and start it, and nothing else.
SETTINGS = {
    f"{AREA}AUTHENTICATION_METHOD": "basic",
    f"{INITIAL}USERS_0_USERNAME": "root",
    f"{INITIAL}USERS_0_PASSWORD": "root-secret",
    f"{INITIAL}USERS_1_USERNAME": "worker",
    f"{INITIAL}USERS_1_PASSWORD": "worker-secret",
    f"{INITIAL}DEFAULTROLES_ADMIN_USERS": "root",
    f"{INITIAL}AUTHORIZATIONS_0_OWNERTYPE": "USER",
    f"{INITIAL}AUTHORIZATIONS_0_OWNERID": "worker",
    f"{INITIAL}AUTHORIZATIONS_0_RESOURCETYPE": "PROCESS_DEFINITION",
    f"{INITIAL}AUTHORIZATIONS_0_RESOURCEID": "order",
    f"{INITIAL}AUTHORIZATIONS_0_PERMISSIONS": "CREATE_PROCESS_INSTANCE,UPDATE_PROCESS_INSTANCE",
}
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def configuration(server: Server, user: str, password: str | None = None) -> dict[str, str]:
    return {
        "CAMUNDA_REST_ADDRESS": f"http://127.0.0.1:{server.rest}/v2",
        "CAMUNDA_AUTH_STRATEGY": "BASIC",
        "CAMUNDA_BASIC_AUTH_USERNAME": user,
        "CAMUNDA_BASIC_AUTH_PASSWORD": password or f"{user}-secret",
    }


def client(server: Server, user: str, password: str | None = None) -> CamundaClient:
    return CamundaClient(configuration=configuration(server, user, password))


def refused(status: int, call) -> str:
    try:
        call()
    except Exception as error:  # noqa: BLE001 each status has a class of its own
        assert str(status) in f"{getattr(error, 'status_code', '')} {error}", repr(error)
        return str(error)
    raise AssertionError(f"not refused with {status}")


@check
def an_admin_deploys_and_a_worker_may_not(server):
    model = [str(EXAMPLES / "first-process.bpmn")]
    refused(403, lambda: client(server, "worker").deploy_resources_from_files(model))
    client(server, "root").deploy_resources_from_files(model)


@check
def a_wrong_password_is_refused_and_nobody_is_locked_out(server):
    for _ in range(3):
        refused(401, lambda: client(server, "worker", "another").get_topology())
    client(server, "worker").get_topology()


@check
def a_worker_of_node_starts_and_works_its_own_process(server):
    environment = clean_environment() | configuration(server, "worker")
    environment |= {"NAME": "order", "JOB_TYPE": "charge-card", "LONG": "2"}
    node = subprocess.run(
        ["node", with_clients(HERE.parent / "keycloak/worker.mjs")], env=environment, capture_output=True, text=True, timeout=120,
        check=False,
    )
    assert node.returncode == 0, node.stdout + node.stderr


@check
def a_worker_of_java_starts_and_works_its_own_process_over_rest_and_grpc(server):
    environment = server.client_environment() | configuration(server, "worker")
    login_worker(environment | {"NAME": "order", "JOB_TYPE": "charge-card", "LONG": "2"}, server.directory)


@check
def the_command_line_takes_the_same_variables(server):
    for user, expected in [("root", 0), ("nobody", None)]:
        environment = clean_environment() | configuration(server, user) | {"SKEP_ADDRESS": f"http://127.0.0.1:{server.rest}"}
        ran = subprocess.run(
            [str(server.binary), "start", "order"], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        if expected == 0:
            assert ran.returncode == 0, ran.stderr
        else:
            assert ran.returncode != 0 and "--user" in ran.stderr, ran.stderr


def main() -> int:
    with Server("login", 1, SETTINGS) as server:
        for function in CHECKS:
            name = function.__name__.replace("_", " ")
            if not wanted(name):
                continue
            started = time.monotonic()
            try:
                function(server)
                report(name, started, None)
            except Exception as error:  # noqa: BLE001 a check may fail in any way
                report(name, started, error)
                server.print_log()
        server.stop()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
