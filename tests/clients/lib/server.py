"""Starts a real `skep serve` for one suite and stops it again."""

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
START_TIMEOUT = 30.0  # the server promises 0.5 s; a loaded CI machine gets more
STOP_TIMEOUT = 30.0
LOG_LINES = 200


class ServerFailed(Exception):
    """The server could not be started, or did not stop as it should."""


def skep_binary() -> Path:
    """$SKEP_BIN, else the release build, else the debug build."""
    if named := os.environ.get("SKEP_BIN"):
        binary = Path(named).resolve()
        if not binary.is_file():
            raise ServerFailed(f"SKEP_BIN names {binary}, which is not there")
        return binary
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    for profile in ("release", "debug"):
        if (target / profile / "skep").is_file():
            return target / profile / "skep"
    raise ServerFailed(f"no skep binary under {target}: build it with `cargo build`, or name one in SKEP_BIN")


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens on, below those that the kernel gives to outgoing connections: one of these may be gone by the
    time that a server which starts slowly binds it. All are held until all are known, so that they differ."""
    outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    held: list[socket.socket] = []
    try:
        for port in random.sample(range(10_000, outgoing), outgoing - 10_000):
            if len(held) == count:
                break
            s = socket.socket()
            try:
                s.bind(("127.0.0.1", port))
                held.append(s)
            except OSError:
                s.close()
        return [s.getsockname()[1] for s in held]
    finally:
        for s in held:
            s.close()


class Server:
    """A `skep serve` with an empty data directory, on free ports. Use it in a `with`."""

    def __init__(self, name: str, partitions: int = 1, settings: dict[str, str] | None = None):
        self.binary = skep_binary()
        self.partitions = partitions
        self.settings = settings or {}
        self.directory = Path(tempfile.mkdtemp(prefix=f"skep-clients-{name}-"))
        self.rest, self.grpc, self.management = free_ports(3)
        self.log = self.directory / "skep.log"
        self.process: subprocess.Popen | None = None

    def __enter__(self) -> "Server":
        # Nothing of the caller's own configuration may reach the server or the clients.
        environment = clean_environment() | self.settings
        command = [
            str(self.binary), "serve", "--data", str(self.directory / "data"), "--rest-port", str(self.rest),
            "--grpc-port", str(self.grpc), "--management-port", str(self.management), "--partitions", str(self.partitions),
        ]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, env=environment, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            self.wait_until_ready()
        except ServerFailed:
            self.print_log()
            self.__exit__()
            raise
        return self

    def wait_until_ready(self) -> None:
        url = f"http://127.0.0.1:{self.management}/actuator/health/readiness"
        started = time.monotonic()
        while time.monotonic() - started < START_TIMEOUT:
            if (code := self.process.poll()) is not None:
                raise ServerFailed(f"skep serve ended with code {code} before it was ready")
            try:
                with urllib.request.urlopen(url, timeout=1) as answer:
                    if answer.status == 200:
                        print(f"  server ready after {time.monotonic() - started:.2f} s", flush=True)
                        return
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(0.02)
        raise ServerFailed(f"skep serve was not ready within {START_TIMEOUT:.0f} s: {url} never answered 200")

    def client_environment(self) -> dict[str, str]:
        """What a suite needs to reach this server."""
        return clean_environment() | {
            "SKEP_BIN": str(self.binary),
            "SKEP_REST": f"http://127.0.0.1:{self.rest}",
            "SKEP_GRPC": f"127.0.0.1:{self.grpc}",
            "SKEP_MANAGEMENT": f"http://127.0.0.1:{self.management}",
            "SKEP_PROCESSES": str(ROOT / "tests/processes"),
            "SKEP_ROOT": str(ROOT),
        }

    def stop(self) -> None:
        """SIGTERM; the server must end by itself, with code 0."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.print_log()
            raise ServerFailed(f"skep serve did not stop within {STOP_TIMEOUT:.0f} s of SIGTERM") from None
        if code != 0:
            self.print_log()
            raise ServerFailed(f"skep serve ended with code {code} after SIGTERM, not 0")

    def print_log(self) -> None:
        lines = self.log.read_text(errors="replace").splitlines()
        print(f"  -- last {min(len(lines), LOG_LINES)} of {len(lines)} lines of the server's log")
        for line in lines[-LOG_LINES:]:
            print("  | " + line)
        sys.stdout.flush()

    def __exit__(self, *_) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def clean_environment() -> dict[str, str]:
    prefixes = ("CAMUNDA_", "ZEEBE_", "SKEP_", "SERVER_", "MANAGEMENT_", "RUST_LOG")
    return {key: value for key, value in os.environ.items() if not key.startswith(prefixes)}
