"""What a check has: Skep, the runtime, and what connectors call."""

import base64
import json
import urllib.error
import urllib.parse
import urllib.request
import uuid

from checks import until
from runtime import Runtime
from server import Server
from target import Target

ROOT = "Basic " + base64.b64encode(b"root:root-secret").decode()


class World:
    """Asks Skep as its administrator, and calls the runtime from outside."""

    def __init__(self, transport: str, server: Server, runtime: Runtime, target: Target):
        self.transport, self.server, self.runtime, self.target = transport, server, runtime, target
        self.skep = f"http://127.0.0.1:{server.rest}"

    def ask(self, method: str, path: str, body=None, content: str = "application/json") -> bytes:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.skep + path, data, {"authorization": ROOT, "content-type": content}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from None

    def post(self, path: str, body: dict) -> dict:
        return json.loads(self.ask("POST", path, body) or "{}")

    def found(self, what: str, **conditions) -> list[dict]:
        return self.post(f"/v2/{what}/search", {"filter": conditions, "page": {"limit": 1000}})["items"]

    def deploy(self, *files: tuple[str, bytes]) -> None:
        limit = uuid.uuid4().hex
        part = '--{}\r\nContent-Disposition: form-data; name="resources"; filename="{}"\r\n\r\n'
        body = b"".join(part.format(limit, name).encode() + text + b"\r\n" for name, text in files)
        self.ask("POST", "/v2/deployments", body + f"--{limit}--\r\n".encode(), f"multipart/form-data; boundary={limit}")

    def start(self, process: str, **variables) -> str:
        return self.post("/v2/process-instances", {"processDefinitionId": process, "variables": variables})["processInstanceKey"]

    def result(self, process: str, **variables) -> dict:
        """The variables at the end of an instance."""
        body = {"processDefinitionId": process, "variables": variables, "awaitCompletion": True, "requestTimeout": 30_000}
        return self.post("/v2/process-instances", body)["variables"]

    def state(self, key: str, state: str) -> None:
        until(f"{key} is {state}", lambda: self.found("process-instances", processInstanceKey=key, state=state))

    def incident(self, key: str) -> dict:
        found = {"processInstanceKey": key, "state": "ACTIVE"}
        return until(f"{key} has an incident", lambda: self.found("incidents", **found))[0]

    def variables(self, key: str) -> dict:
        """Those of the instance itself."""
        return {one["name"]: json.loads(one["value"]) for one in self.found("variables", processInstanceKey=key, scopeKey=key)}

    def takes(self, *paths: str) -> None:
        """Waits until these are the calls that the runtime takes."""

        def taken() -> set[str]:
            with urllib.request.urlopen(f"{self.runtime.url}/inbound", timeout=30) as answer:
                return {one["data"]["path"] for one in json.load(answer) if "path" in one["data"]}

        until(f"the runtime takes calls to {paths}", lambda: taken() == set(paths))

    def call(self, path: str, body: str = "", **query: str) -> int:
        """A call from outside; its status."""
        address = f"{self.runtime.url}/inbound/{path}?{urllib.parse.urlencode(query)}"
        request = urllib.request.Request(address, body.encode(), {"content-type": "text/plain"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
