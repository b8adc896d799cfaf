"""The target of the connector: an HTTP server that keeps each request and gives the answers that a check has set."""

import json
import threading
import urllib.parse
from collections import defaultdict
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


class Target:
    """Use it in a `with`. Paths that no check has said anything about are answered with 200 and `{}`."""

    def __enter__(self) -> "Target":
        self.requests: dict[str, list[Request]] = defaultdict(list)
        self._answers: dict[str, list[tuple[int, object]]] = {}
        self._lock = threading.Lock()
        target = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                status, value = target._take(self)
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def answers(self, path: str, *answers: tuple[int, object]) -> None:
        """Status and value of one request after the other; the last of them holds for all that follow."""
        with self._lock:
            self._answers[path] = list(answers)

    def _take(self, handler: BaseHTTPRequestHandler) -> tuple[int, object]:
        address = urllib.parse.urlsplit(handler.path)
        body = handler.rfile.read(int(handler.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        request = Request(handler.command, address.path, dict(urllib.parse.parse_qsl(address.query)), headers, body)
        with self._lock:
            self.requests[address.path].append(request)
            left = self._answers.get(address.path, [(200, {})])
            return left.pop(0) if len(left) > 1 else left[0]

    def __exit__(self, *_) -> None:
        self._server.shutdown()
        self._server.server_close()
