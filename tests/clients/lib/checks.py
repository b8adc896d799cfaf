"""Counts checks: each is one line of output, and a failing one does not stop the others."""

import os
import re
import time
import traceback
from pathlib import Path

DEADLINE = 30.0  # seconds that a check waits for something that must happen

_only = os.environ.get("SKEP_TEST_ONLY", "")
_passed = 0
_failed = 0


def wanted(name: str) -> bool:
    return _only in name


def report(name: str, started: float, error: BaseException | None) -> None:
    """Prints and counts one finished check."""
    global _passed, _failed
    took = f"({time.monotonic() - started:.2f} s)"
    if error is None:
        _passed += 1
        print(f"ok   {name} {took}", flush=True)
    else:
        _failed += 1
        text = describe(error).replace("\n", "\n     ")
        print(f"FAIL {name} {took}\n     {text}", flush=True)


def describe(error: BaseException) -> str:
    """The error and its causes, each with the lines of the suite that it passed through."""
    lines = []
    while error is not None:
        lines.append(f"{type(error).__name__}: {error}".rstrip())
        for frame in traceback.extract_tb(error.__traceback__):
            if frame.filename.endswith("suite.py"):
                lines.append(f"  line {frame.lineno}: {frame.line}")
        error = error.__cause__
    return "\n".join(lines)


def finish() -> int:
    """Prints the count; the exit code of the suite."""
    print(f"{_passed} passed, {_failed} failed", flush=True)
    return 1 if _failed else 0


def until(what: str, condition, deadline: float = DEADLINE):
    """Polls `condition` until it answers something true, and returns that."""
    end = time.monotonic() + deadline
    while True:
        if value := condition():
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline:.0f} s: {what}")
        time.sleep(0.02)


class Fixture:
    """A process of tests/processes/valid under names of its own.

    Every copy gets a suffix on its process ids, job types, message names and called processes, so that no check sees
    jobs or messages of another one. So does `dish.dmn` of tests/processes/decisions; what it requires keeps its id, by
    which expressions know it.
    """

    _count = 0

    def __init__(self, name: str, also: tuple[str, ...] = ()):
        Fixture._count += 1
        self.suffix = f"-{Fixture._count}"
        self.paths = [self._copy(n) for n in (name, *also)]
        self.path = self.paths[0]
        self.id = self.name(name)

    def name(self, original: str) -> str:
        """What a job type, message or process of the fixture is called in this copy."""
        return original + self.suffix

    def _copy(self, name: str) -> str:
        folder, ending = ("decisions", "") if name.endswith(".dmn") else ("valid", ".bpmn")
        text = (Path(os.environ["SKEP_PROCESSES"]) / folder / f"{name}{ending}").read_text()
        for pattern in (
            r'(<bpmn:process id=")([^"]+)',
            r'(<zeebe:taskDefinition type=")([^"=]+)',
            r'(<zeebe:taskListener eventType="[^"]+" type=")([^"=]+)',
            r'(<zeebe:executionListener eventType="[^"]+" type=")([^"=]+)',
            r'(<zeebe:calledElement processId=")([^"=]+)',
            r'(<bpmn:message id="[^"]+" name=")([^"=]+)',
            r'(<definitions [^>]*\bid=")([^"]+)',
            r'(<decision id=")(dish)',
        ):
            text = re.sub(pattern, lambda match: match[1] + self.name(match[2]), text)
        path = Path(f"{name}{self.suffix}{ending or '.dmn'}").resolve()
        path.write_text(text)
        return str(path)


def invalid_fixtures() -> list[tuple[str, str | None]]:
    """(path, id of the element that the finding must name) of every file in tests/processes/invalid."""
    found = []
    for path in sorted((Path(os.environ["SKEP_PROCESSES"]) / "invalid").glob("*.bpmn")):
        match = re.search(r"finding on `([^`]+)`", path.read_text())
        found.append((str(path), match[1] if match else None))
    return found


def valid_fixtures() -> list[str]:
    return [str(p) for p in sorted((Path(os.environ["SKEP_PROCESSES"]) / "valid").glob("*.bpmn"))]
