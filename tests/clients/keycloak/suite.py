"""Official clients that get their tokens from a real Keycloak: REST and gRPC of Python and Java, REST of Node.js, workers over many tokens
of ten seconds, and a browser's login. Skep and Keycloak are this suite's own.
"""

import asyncio
import html
import http.cookiejar
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import grpc  # noqa: E402
import loguru  # noqa: E402
import pyzeebe  # noqa: E402
from camunda_orchestration_sdk import CamundaClient  # noqa: E402
from checks import finish, report, until, wanted  # noqa: E402
from java import login_worker  # noqa: E402
from keycloak import Keycloak  # noqa: E402
from node import with_clients  # noqa: E402
from server import Server, clean_environment  # noqa: E402

CACHE = Path(os.environ["SKEP_CACHE"])
EXAMPLES = Path(os.environ["SKEP_ROOT"]) / "examples"
# More than two lives of a token.
LONG = 24.0
CHECKS = []
# These take as long as tokens live, and run side by side.
LONG_CHECKS = []
# The tokens of this suite come without TLS.
loguru.logger.remove()
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"


def check(function):
    CHECKS.append(function)
    return function


def long_check(function):
    LONG_CHECKS.append(function)
    return function


def ask(server: Server, method: str, path: str, token: str | None = None, body=None, headers=None):
    """Status, headers and text of an answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{server.rest}{path}", data=data, method=method, headers=headers or {})
    if data is not None:
        request.add_header("content-type", "application/json")
    if token is not None:
        request.add_header("authorization", f"Bearer {token}")
    try:
        with OPENER.open(request, timeout=30) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(NoRedirects)


def deploy(server: Server, keycloak: Keycloak, name: str) -> None:
    """A process of this name with one job, whose type has the name as well."""
    text = (EXAMPLES / "first-process.bpmn").read_text()
    text = text.replace('"order"', f'"{name}"').replace("charge-card", name)
    file = server.directory / f"{name}.bpmn"
    file.write_text(text)
    CamundaClient(configuration=configuration(server, keycloak)).deploy_resources_from_files([str(file)])


def configuration(server: Server, keycloak: Keycloak, client: str = "worker") -> dict:
    return {
        "CAMUNDA_REST_ADDRESS": f"http://127.0.0.1:{server.rest}/v2",
        "CAMUNDA_AUTH_STRATEGY": "OAUTH",
        "CAMUNDA_OAUTH_URL": keycloak.token_uri,
        "CAMUNDA_CLIENT_ID": client,
        "CAMUNDA_CLIENT_SECRET": f"{client}-secret",
        "CAMUNDA_TOKEN_AUDIENCE": "skep-api",
        "CAMUNDA_SDK_LOG_LEVEL": "error",
    }


@check
def a_client_and_a_user_are_who_their_tokens_say(server, keycloak):
    for token, name in [(keycloak.of_client("worker"), "worker"), (keycloak.of_user("anna"), "anna")]:
        status, _, text = ask(server, "GET", "/v2/authentication/me", token)
        me = json.loads(text)
        assert (status, me["username"], me["roles"]) == (200, name, ["admin"]), text


@check
def what_is_not_for_this_server_or_too_old_is_refused_with_the_reason(server, keycloak):
    old = keycloak.of_client("worker")
    for token, said in [(None, "Bearer"), ("nonsense", "valid token"), (keycloak.of_client("stranger"), "aud")]:
        status, headers, text = ask(server, "GET", "/v2/topology", token)
        assert status == 401 and said in json.loads(text)["detail"], text
        assert headers["www-authenticate"].startswith("Bearer"), headers
    until("the token to expire", lambda: ask(server, "GET", "/v2/topology", old)[0] == 401)
    assert "expired" in ask(server, "GET", "/v2/topology", old)[2]


@check
def a_rule_gives_rights_to_whoever_has_the_claim(server, keycloak):
    admin = keycloak.of_user("anna")
    create = lambda: ask(server, "POST", "/v2/process-instances", keycloak.of_user("ben"), {"processDefinitionId": "order"})
    assert create()[0] == 403, create()
    rule = {"mappingRuleId": "sales", "claimName": "teams", "claimValue": "sales", "name": "Sales"}
    status, _, text = ask(server, "POST", "/v2/mapping-rules", admin, rule)
    assert status == 201, text
    right = {
        "ownerType": "MAPPING_RULE", "ownerId": "sales", "resourceType": "PROCESS_DEFINITION", "resourceId": "order",
        "permissionTypes": ["CREATE_PROCESS_INSTANCE"],
    }
    status, _, text = ask(server, "POST", "/v2/authorizations", admin, right)
    assert status == 201, text
    assert create()[0] == 200, create()


@long_check
def the_rest_client_of_python_works_over_many_tokens(server, keycloak):
    client = CamundaClient(configuration=configuration(server, keycloak))
    end = time.monotonic() + LONG
    calls = 0
    while time.monotonic() < end:
        client.get_topology()
        calls += 1
        time.sleep(0.05)
    assert calls > 50, calls


@long_check
def workers_of_python_over_grpc_work_over_many_tokens(server, keycloak):
    deploy(server, keycloak, "by-grpc")
    asyncio.run(grpc_worker(server, keycloak))


async def grpc_worker(server, keycloak):
    channel = pyzeebe.create_oauth2_client_credentials_channel(
        grpc_address=f"127.0.0.1:{server.grpc}", client_id="worker", client_secret="worker-secret",
        authorization_server=keycloak.token_uri, audience="skep-api", leeway=2,
        channel_credentials=grpc.local_channel_credentials(grpc.LocalConnectionType.LOCAL_TCP),
    )
    client = pyzeebe.ZeebeClient(channel)
    done = set()
    worker = pyzeebe.ZeebeWorker(channel, stream_enabled=True)

    @worker.task(task_type="by-grpc", before=[], after=[])
    async def work(job: pyzeebe.Job) -> dict:
        done.add(job.process_instance_key)
        return {}

    running = asyncio.create_task(worker.work())
    created = set()
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        created.add((await client.run_process("by-grpc")).process_instance_key)
        await asyncio.sleep(0.2)
    while not created <= done:
        assert time.monotonic() < end + 30, f"{len(created - done)} of {len(created)} were never worked"
        assert not running.done(), running
        await asyncio.sleep(0.05)
    await worker.stop()
    running.cancel()


@long_check
def a_worker_of_node_works_over_many_tokens(server, keycloak):
    deploy(server, keycloak, "by-node")
    environment = clean_environment() | configuration(server, keycloak) | {"NAME": "by-node", "LONG": str(LONG)}
    node = subprocess.run(
        ["node", with_clients(HERE / "worker.mjs")], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert node.returncode == 0, node.stdout + node.stderr


@long_check
def a_worker_of_java_works_over_many_tokens_over_rest_and_grpc(server, keycloak):
    deploy(server, keycloak, "by-java")
    environment = server.client_environment() | configuration(server, keycloak)
    login_worker(environment | {"NAME": "by-java", "LONG": str(int(LONG))}, server.directory)


@check
def the_command_line_gets_a_token_and_renews_it(server, keycloak):
    environment = clean_environment() | configuration(server, keycloak) | {"SKEP_ADDRESS": f"http://127.0.0.1:{server.rest}"}
    started = subprocess.run(
        [str(server.binary), "start", "order"], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert started.returncode == 0, started.stdout + started.stderr
    wrong = environment | {"CAMUNDA_CLIENT_SECRET": "another"}
    refused = subprocess.run(
        [str(server.binary), "start", "order"], env=wrong, capture_output=True, text=True, timeout=60, check=False
    )
    assert refused.returncode != 0 and "the identity provider issued no token" in refused.stderr, refused.stderr
    load = subprocess.run(
        [str(server.binary), "load", "--rest-address", f"127.0.0.1:{server.rest}", "--rate", "20", "--duration", "15s", "--warmup", "0s"],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )
    assert load.returncode == 0, load.stdout + load.stderr
    for nothing in ("0 rejected", "0 failed", "0 instances lost"):
        assert nothing in load.stdout, load.stdout


@check
def a_browser_logs_in_at_the_provider_and_out(server, keycloak):
    jar, browser = new_browser()
    here = f"http://127.0.0.1:{server.rest}"
    ways = json.loads(ask(server, "GET", "/oauth2/providers")[2])
    assert ways == [{"id": "oidc", "name": "Keycloak"}], ways
    me = logged_in(browser, here)
    assert (me["username"], me["roles"]) == ("anna", ["admin"]), me
    csrf = next(cookie.value for cookie in jar if cookie.name == "X-CSRF-TOKEN")
    with browser.open(urllib.request.Request(f"{here}/logout", method="POST", headers={"x-csrf-token": csrf})) as out:
        there = out.headers["skep-logout-uri"]
    assert there.startswith(f"{keycloak.issuer}/protocol/openid-connect/logout?"), there
    try:
        browser.open(f"{here}/v2/authentication/me")
        raise AssertionError("the session goes on after the logout")
    except urllib.error.HTTPError as error:
        assert error.code == 401


@long_check
def a_session_outlives_its_tokens_and_ends_with_the_login_at_the_provider(server, keycloak):
    """Tokens live ten seconds, and each refresh token is good once (`revokeRefreshToken`)."""
    jar, browser = new_browser()
    here = f"http://127.0.0.1:{server.rest}"
    logged_in(browser, here)
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        with browser.open(f"{here}/v2/authentication/me") as answer:
            assert json.load(answer)["username"] == "anna"
        time.sleep(0.5)
    # The user logs out there, and not here.
    keycloak.end_sessions("anna")

    def ended() -> bool:
        try:
            browser.open(f"{here}/v2/authentication/me").close()
            return False
        except urllib.error.HTTPError as error:
            return error.code == 401

    until("the session to end", ended)


@check
def a_server_with_a_key_has_no_secret_and_asks_who_a_user_is(_, keycloak):
    """Keycloak knows its certificate by the id that is the default (`kid`), and says a user's name at its userinfo endpoint alone."""
    stores = Path(os.environ["SKEP_ROOT"]) / "crates/tls/tests/key_stores"
    certificate = "".join(line for line in (stores / "rsa.pem").read_text().splitlines() if not line.startswith("-----"))
    name = {
        "name": "login", "protocol": "openid-connect", "protocolMapper": "oidc-usermodel-attribute-mapper",
        "config": {
            "user.attribute": "username", "claim.name": "login", "jsonType.label": "String",
            "userinfo.token.claim": "true", "id.token.claim": "false", "access.token.claim": "false",
        },
    }
    keycloak.make("clients", {
        "clientId": "with-key", "publicClient": False, "standardFlowEnabled": True, "clientAuthenticatorType": "client-jwt",
        "redirectUris": ["http://127.0.0.1:*"], "protocolMappers": [name],
        "attributes": {"jwt.credential.certificate": certificate, "token.endpoint.auth.signing.alg": "RS256"},
    })  # fmt: skip
    oidc = "CAMUNDA_SECURITY_AUTHENTICATION_OIDC_"
    settings = keycloak.settings() | {
        f"{oidc}CLIENTID": "with-key", f"{oidc}AUDIENCES": "with-key", f"{oidc}USERNAMECLAIM": "login",
        f"{oidc}CLIENTAUTHENTICATIONMETHOD": "private_key_jwt",
        f"{oidc}ASSERTION_KEYSTORE_PATH": str(stores / "rsa.p12"), f"{oidc}ASSERTION_KEYSTORE_PASSWORD": "hush",
    }
    del settings[f"{oidc}CLIENTSECRET"]
    with Server("keycloak-key", 1, settings) as own:
        _, browser = new_browser()
        me = logged_in(browser, f"http://127.0.0.1:{own.rest}")
        assert (me["username"], me["roles"]) == ("anna", ["admin"]), me
        own.stop()


@check
def people_choose_one_of_two_realms_and_are_who_that_one_says(_, keycloak):
    """Each with claims, audiences and a logout of its own: neither says anything about the users of the other."""
    client = {
        "clientId": "skep", "secret": "skep-secret", "publicClient": False, "standardFlowEnabled": True,
        "directAccessGrantsEnabled": True, "redirectUris": ["http://127.0.0.1:*"], "attributes": {"post.logout.redirect.uris": "+"},
        "protocolMappers": [{
            "name": "audience", "protocol": "openid-connect", "protocolMapper": "oidc-audience-mapper",
            "config": {"included.custom.audience": "skep-partners", "access.token.claim": "true"},
        }],
    }  # fmt: skip
    carl = {
        "username": "carl", "enabled": True, "firstName": "carl-of-partners", "lastName": "C", "email": "carl@example.org",
        "emailVerified": True, "credentials": [{"type": "password", "value": "carl-secret"}],
    }
    partners = keycloak.add_realm(
        {"realm": "partners", "enabled": True, "sslRequired": "none", "clients": [client], "users": [carl]}
    )
    settings = {
        "CAMUNDA_SECURITY_AUTHENTICATION_METHOD": "oidc", "CAMUNDA_SECURITY_INITIALIZATION_DEFAULTROLES_ADMIN_USERS": "anna",
    }
    for provider, issuer, audiences, claim in [
        ("STAFF", keycloak.issuer, "skep,skep-api", "preferred_username"),
        ("PARTNERS", partners, "skep,skep-partners", "given_name"),
    ]:
        oidc = f"CAMUNDA_SECURITY_AUTHENTICATION_PROVIDERS_OIDC_{provider}_"
        settings |= {
            f"{oidc}ISSUERURI": issuer, f"{oidc}CLIENTID": "skep", f"{oidc}CLIENTSECRET": "skep-secret",
            f"{oidc}CLIENTNAME": provider.title(), f"{oidc}AUDIENCES": audiences, f"{oidc}USERNAMECLAIM": claim,
        }
    with Server("keycloak-two", 1, settings) as own:
        here = f"http://127.0.0.1:{own.rest}"
        ways = json.loads(ask(own, "GET", "/oauth2/providers")[2])
        names = {way["id"]: way["name"] for way in ways}
        assert names == {"staff": "Staff", "partners": "Partners"}, ways
        for provider, issuer, name, who, roles in [
            ("staff", keycloak.issuer, "anna", "anna", ["admin"]),
            ("partners", partners, "carl", "carl-of-partners", []),
        ]:
            jar, browser = new_browser()
            me = logged_in(browser, here, name, provider)
            assert (me["username"], me["roles"]) == (who, roles), me
            csrf = next(cookie.value for cookie in jar if cookie.name == "X-CSRF-TOKEN")
            leave = urllib.request.Request(f"{here}/logout", method="POST", headers={"x-csrf-token": csrf})
            with browser.open(leave) as out:
                there = out.headers["skep-logout-uri"]
            assert there.startswith(f"{issuer}/protocol/openid-connect/logout?"), there
        token = keycloak.of_user("carl", "partners")
        status, _, text = ask(own, "GET", "/v2/authentication/me", token)
        assert (status, json.loads(text)["username"]) == (200, "carl-of-partners"), text
        own.stop()


def new_browser():
    # As browsers do on this machine, cookies that ask for TLS are sent without it.
    jar = http.cookiejar.CookieJar(http.cookiejar.DefaultCookiePolicy(secure_protocols=("http", "https")))
    return jar, urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))


def logged_in(browser, here: str, name: str = "anna", provider: str = "oidc") -> dict:
    """A user, as the server at this address says who it is."""
    with browser.open(f"{here}/oauth2/authorization/{provider}?to=/v2/authentication/me") as page:
        form = html.unescape(re.search(r'<form[^>]*action="([^"]+)"', page.read().decode()).group(1))
    body = urllib.parse.urlencode({"username": name, "password": f"{name}-secret"}).encode()
    with browser.open(form, data=body) as page:
        assert page.url == f"{here}/v2/authentication/me", page.url
        return json.load(page)


@check
def a_new_key_of_the_provider_is_found_at_once(server, keycloak):
    before = keycloak.of_client("patient")
    keycloak.rotate()
    after = keycloak.of_client("patient")
    heads = {token.split(".")[0] for token in (before, after)}
    assert len(heads) == 2, "the key was not rotated"
    for token in (after, before, after):
        status, _, text = ask(server, "GET", "/v2/topology", token)
        assert status == 200, text


@check
def while_the_provider_is_away_good_tokens_are_good_and_nobody_is_told_that_one_is_wrong(server, keycloak):
    token = keycloak.of_client("patient")
    keycloak.kill()
    for _ in range(100):
        status, _, text = ask(server, "GET", "/v2/topology", token)
        assert status == 200, text
    keycloak.start()
    status, _, text = ask(server, "GET", "/v2/topology", keycloak.of_client("worker"))
    assert status == 200, text


def run(function, server, keycloak) -> None:
    name = function.__name__.replace("_", " ")
    if not wanted(name):
        return
    started = time.monotonic()
    try:
        function(server, keycloak)
        report(name, started, None)
    except Exception as error:  # noqa: BLE001 a check may fail in any way
        report(name, started, error)
        server.print_log()


def main() -> int:
    with Keycloak(CACHE / "keycloak") as keycloak, Server("keycloak", 1, keycloak.settings()) as server:
        deploy(server, keycloak, "order")
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda function: run(function, server, keycloak), LONG_CHECKS))
        for function in CHECKS:
            run(function, server, keycloak)
        server.stop()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
