#!/usr/bin/env python3
"""What callers who log in notice while somebody else guesses passwords.

One server, where callers log in by name and password, carries a fixed rate of process instances. In turn it is left alone,
asked 1,000 times per second by callers who are in, and as often by callers with wrong passwords: for names that exist and
names that do not, from one address or from many. What those who are in cost is that of this program and of any answer. All
the time somebody else logs in anew, twice a second. Prints the latency of creations and of these logins and the instances
per second of each turn, and their ratios.

    benches/identity/bad_logins.py target/dist/skep [--addresses 200] [--rate 300] [--turns 3] [--seconds 10]
"""

import argparse
import base64
import json
import pathlib
import re
import socket
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

REST, GRPC, MANAGEMENT = 18080, 18500, 18600
GUESSES = 1_000
CONFIG = pathlib.Path(__file__).with_name("login.yaml")
AUTHORIZATION = "Basic " + base64.b64encode(b"bench:bench-secret").decode()
PACE = 0.02
LOGIN_PACE = 0.5
NEWCOMER = {"name": "Newcomer", "email": "newcomer@example.org"}
# The server is about to stop.
OVER = threading.Event()


class Guesser(threading.Thread):
    """Sends wrong logins at a fixed rate, many in one segment, and counts the answers by status."""

    def __init__(self, addresses):
        super().__init__(daemon=True)
        self.active = threading.Event()
        self.is_in = False
        self.statuses = {}
        self.number = 0
        self.closed = 0
        # Made when they are needed: the server closes connections without a request.
        self.connections = [None] * addresses

    @staticmethod
    def connected(n):
        connection = socket.create_connection(("127.0.0.1", REST), source_address=(f"127.0.0.{n % 250 + 2}", 0))
        connection.setblocking(False)
        return connection

    def request(self):
        if self.is_in:
            return f"GET /v2/topology HTTP/1.1\r\nhost: x\r\nauthorization: {AUTHORIZATION}\r\n\r\n".encode()
        self.number += 1
        name = "bench" if self.number % 2 else f"nobody{self.number}"
        login = base64.b64encode(f"{name}:guess{self.number}".encode()).decode()
        return f"GET /v2/topology HTTP/1.1\r\nhost: x\r\nauthorization: Basic {login}\r\n\r\n".encode()

    def run(self):
        turn, due = 0, time.monotonic()
        while True:
            self.active.wait()
            due = max(due + PACE, time.monotonic() - 1)
            time.sleep(max(0, due - time.monotonic()))
            at_once = max(1, min(len(self.connections), 20))
            for _ in range(at_once):
                turn += 1
                n = turn % len(self.connections)
                some = b"".join(self.request() for _ in range(round(GUESSES * PACE / at_once)))
                try:
                    self.connections[n] = self.connections[n] or self.connected(n)
                    self.connections[n].send(some)
                    answers = self.connections[n].recv(1 << 18)
                    self.count(answers)
                    if not answers:
                        raise ConnectionResetError
                except BlockingIOError:
                    pass
                except OSError:
                    if OVER.is_set():
                        return
                    self.closed += 1
                    self.connections[n] = None

    def count(self, answers):
        for status in re.findall(rb"HTTP/1.1 (\d+)", answers):
            self.statuses[status.decode()] = self.statuses.get(status.decode(), 0) + 1


class Newcomer(threading.Thread):
    """Logs in as a browser does, each time with another password, from an address of its own: none is remembered."""

    def __init__(self):
        super().__init__(daemon=True)
        self.taken = []

    def run(self):
        number = 0
        while True:
            time.sleep(LOGIN_PACE)
            number += 1
            try:
                self.sent("PUT", "/v2/users/newcomer", json.dumps({**NEWCOMER, "password": f"newcomer-{number}"}))
                began = time.monotonic()
                self.sent("POST", "/login", f"username=newcomer&password=newcomer-{number}")
                self.taken.append((time.monotonic() - began) * 1000)
            except urllib.error.HTTPError as error:
                self.taken.append(float("inf"))
                error.close()
            except OSError:
                if OVER.is_set():
                    return
                raise

    @staticmethod
    def sent(method, path, body):
        request = urllib.request.Request(f"http://127.0.0.1:{REST}{path}", data=body.encode(), method=method)
        if method == "PUT":
            request.add_header("authorization", AUTHORIZATION)
            request.add_header("content-type", "application/json")
        urllib.request.urlopen(request, timeout=30).close()

    def since(self):
        taken, self.taken = self.taken, []
        return taken or [float("inf")]


def measured(binary, rate, seconds):
    load = [binary, "load", "--rest-address", f"127.0.0.1:{REST}", "--management-address", f"127.0.0.1:{MANAGEMENT}"]
    load += ["--authorization", AUTHORIZATION, "--rate", str(rate), "--duration", f"{seconds}s", "--warmup", "2s"]
    with tempfile.NamedTemporaryFile() as file:
        run = subprocess.run([*load, "--json", file.name], capture_output=True, text=True, check=False)
        if run.returncode:
            raise SystemExit(run.stdout + run.stderr)
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--addresses", type=int, default=1)
    parser.add_argument("--rate", type=int, default=300)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        ports = ["--rest-port", str(REST), "--grpc-port", str(GRPC), "--management-port", str(MANAGEMENT)]
        serve = [args.binary, "serve", "--data", directory, "--config", str(CONFIG), *ports]
        server = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            compare(args)
        finally:
            OVER.set()
            server.terminate()
            server.wait()


def until_ready():
    for _ in range(500):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{MANAGEMENT}/ready", timeout=1).close()
        except OSError:
            time.sleep(0.02)
    raise SystemExit("the server does not start")


def compare(args):
    until_ready()
    guesser = Guesser(args.addresses)
    guesser.start()
    newcomer = Newcomer()
    newcomer.start()
    turns = {"alone": [], "in": [], "guessed": []}
    for _ in range(args.turns):
        for name, results in turns.items():
            if name == "alone":
                guesser.active.clear()
            else:
                guesser.is_in = name == "in"
                guesser.active.set()
            newcomer.since()
            result = figures(measured(args.binary, args.rate, args.seconds))
            logins = newcomer.since()
            result["login p50 ms"], result["login most ms"] = statistics.median(logins), max(logins)
            results.append(result)
            print(f"{name:8}", ", ".join(f"{what} {value:.2f}" for what, value in result.items()), flush=True)
    print("answers by status:", guesser.statuses, "connections closed by the server:", guesser.closed)
    for what in turns["alone"][0]:
        alone, known, guessed = (statistics.median(r[what] for r in turns[name]) for name in turns)
        print(f"{what}: guessed / alone = {guessed / alone:.2f}, of callers who are in / alone = {known / alone:.2f}")


def figures(report):
    result = report["results"][0]
    create = result["create"]
    return {
        "completed per second": result["completed_per_second"],
        "p50 ms": create["p50_ms"],
        "p99 ms": create["p99_ms"],
    }


if __name__ == "__main__":
    main()
