"""Finds a newer Java than the machine's first one, and runs the official client. As a program it prints where the Java is."""

import os
import re
import subprocess
import sys
from pathlib import Path


def newest_java(at_least: int) -> Path | None:
    """The home of the newest one, which has the compiler too if any has."""
    found = []
    for home in Path("/usr/lib/jvm").glob("*"):
        release = home / "release"
        if release.is_file():
            version = re.search(r'^JAVA_VERSION="(\d+)', release.read_text(), re.MULTILINE)
            found.append((int(version[1]) if version else 0, (home / "bin/javac").is_file(), home))
    fitting = [one for one in found if one[0] >= at_least]
    return max(fitting, key=lambda one: (one[1], one[0], one[2]))[2] if fitting else None


def login_worker(environment: dict[str, str], directory: Path) -> None:
    """Runs tests/clients/java/Login.java, which tests/clients/setup has compiled."""
    installed = Path(os.environ["SKEP_CACHE"]) / "java"
    command = [
        "java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
        "-cp", f"{installed}/classes:{installed}/lib/*", "Login",
    ]
    worked = subprocess.run(
        command, env=environment, cwd=directory, capture_output=True, text=True, timeout=120, check=False
    )
    assert worked.returncode == 0, worked.stdout + worked.stderr


if __name__ == "__main__":
    needed = int(sys.argv[1])
    home = newest_java(needed)
    if home is None or not (home / "bin/javac").is_file():
        sys.exit(f"a JDK {needed} or newer is missing below /usr/lib/jvm")
    print(home)
