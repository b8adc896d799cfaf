"""Finds a newer Java than the machine's first one. As a program it prints where that is."""

import re
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


if __name__ == "__main__":
    needed = int(sys.argv[1])
    home = newest_java(needed)
    if home is None or not (home / "bin/javac").is_file():
        sys.exit(f"a JDK {needed} or newer is missing below /usr/lib/jvm")
    print(home)
