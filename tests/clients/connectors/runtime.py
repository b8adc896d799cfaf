"""Starts the official connectors runtime, as a process of its own, and ends it again."""

import re
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from java import newest_java
from server import ServerFailed, clean_environment, free_ports

START_TIMEOUT = 120.0  # 8 s on a quiet machine
LINE = re.compile(r"^\S+ +(?P<level>[A-Z]+) \d+ --- \[[^\]]*\] (?P<logger>\S+) +: (?P<text>.*)$")


class Runtime:
    """Use it in a `with`. `settings` say where Skep is, and who the runtime is there."""

    def __init__(self, cache: Path, directory: Path, settings: dict[str, str], secrets: dict[str, str]):
        self.classes = f"{cache}/connectors/classes:{cache}/connectors/lib/*"
        self.directory = directory
        self.port = free_ports(1)[0]
        self.log = directory / "connectors.log"
        self.arguments = [
            f"--server.port={self.port}", "--server.address=127.0.0.1",
            *(f"--{name}={value}" for name, value in settings.items()),
            # How often it looks for new versions of processes; by default every 5 s.
            "--camunda.connector.polling.interval=500",
            "--camunda.connector.secretprovider.environment.prefix=SECRET_",
            "--management.endpoint.health.show-details=always",
        ]
        self.secrets = {f"SECRET_{name}": value for name, value in secrets.items()}
        self.process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "Runtime":
        java = newest_java(21)
        if java is None:
            raise ServerFailed("the connectors runtime needs Java 21 or newer")
        command = [
            str(java / "bin/java"), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", self.classes,
            "skep.connectors.Runtime", *self.arguments,
        ]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, env=clean_environment() | self.secrets, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log,
            )
        started = time.monotonic()
        while time.monotonic() - started < START_TIMEOUT and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/actuator/health", timeout=5):
                    print(f"  connectors runtime ready after {time.monotonic() - started:.1f} s", flush=True)
                    return self
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        self.print_log()
        self.__exit__()
        raise ServerFailed("the connectors runtime did not start")

    def text(self) -> str:
        """Its log."""
        return self.log.read_text(errors="replace")

    def troubles(self) -> list[tuple[str, str, str]]:
        """Logger, text and exception of each warning and error in its log."""
        lines = self.text().splitlines()
        found = []
        for number, line in enumerate(lines):
            if (match := LINE.match(line)) and match["level"] in ("WARN", "ERROR"):
                following = [next_line for next_line in lines[number + 1 : number + 3] if next_line and not LINE.match(next_line)]
                found.append((match["logger"], match["text"], following[0] if following else ""))
        return found

    def print_log(self) -> None:
        for line in self.text().splitlines()[-200:]:
            print("  | " + line[:400])

    def __exit__(self, *_) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
