"""Takes down how long each test runs, and how much of that it computes: `pytest -p tests.durations --durations-to FILE`.

A line of JSON for each test: its name, its kind, the seconds that passed with what it alone set up, and the seconds of processor that it
used, its child processes with it. The kind is what the test really started, not what its file is called. A process that a fixture
started for several tests counts for the test during which it computes.

`python -m tests.durations FILE` prints the table of CONTRIBUTING.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import psutil
import pytest

KINDS = ("browser", "page", "process", "agent in process", "pure")
"""From what starts most to what starts nothing; a test is of the first that fits."""

_STARTED: set[str] = set()
"""What the running test has started so far, by the kinds that it makes of it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the option; workers hear of it as it is handed on to them."""
    parser.addoption("--durations-to", help="write what each test took to this file")


def pytest_configure(config: pytest.Config) -> None:
    """Begin with an empty file, and learn what is started."""
    target = config.getoption("durations_to")
    if target and not hasattr(config, "workerinput"):
        Path(target).write_text("")
    sys.addaudithook(_hear)


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event in {"subprocess.Popen", "os.fork", "os.posix_spawn", "os.forkpty"}:
        _STARTED.add("process")


def _kind(item: pytest.Item) -> str:
    names = set(getattr(item, "fixturenames", ()))
    if item.get_closest_marker("browser") or names & {"browser", "studio", "new_tab", "context"}:
        return "browser"
    if "page" in _STARTED:
        return "page"
    if "process" in _STARTED:
        return "process"
    return "agent in process" if "agent in process" in _STARTED else "pure"


def _watch() -> None:
    """Say once that a page or a runner is made, from now on."""
    testing = sys.modules.get("streamlit.testing.v1.app_test")
    runners = sys.modules.get("google.adk.runners")
    for kind, owner in (
        ("page", getattr(testing, "AppTest", None)),
        ("agent in process", getattr(runners, "Runner", None)),
    ):
        name = "_run" if kind == "page" else "run_async"
        method = getattr(owner, name, None)
        if method is None or getattr(method, "heard", None):
            continue

        @wraps(method)
        def heard(*args: Any, _method: Any = method, _kind: str = kind, **named: Any) -> Any:
            _STARTED.add(_kind)
            return _method(*args, **named)

        heard.heard = True  # type: ignore[attr-defined] # marks what is replaced already
        setattr(owner, name, heard)


def _processor() -> float:
    """Return the seconds of processor of this process and all that it started, ended or not."""
    own = os.times()
    seconds = own.user + own.system + own.children_user + own.children_system
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            used = child.cpu_times()
            seconds += used.user + used.system + used.children_user + used.children_system
    return seconds


@dataclass
class _Measured:
    """One test: when it began, the processor's seconds when its last phase ended, and the seconds that count."""

    began: float
    last: float
    seconds: float = 0.0

    def phase_ends(self) -> None:
        """Count a phase. What a process used that ended by a kill is not known any more: such a phase counts as nothing."""
        now = _processor()
        self.seconds += max(0.0, now - self.last)
        self.last = now


_MEASURED = pytest.StashKey[_Measured]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Measure a test with its setup and teardown."""
    _STARTED.clear()
    _watch()
    item.stash[_MEASURED] = _Measured(time.perf_counter(), _processor())
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Hand on what was measured with the last report."""
    report = yield
    measured = item.stash[_MEASURED]
    measured.phase_ends()
    if call.when == "teardown":
        wall = time.perf_counter() - measured.began
        found = {"kind": _kind(item), "wall": wall, "computed": measured.seconds}
        report.user_properties.append(("durations", json.dumps(found)))
    return report


class _Writing:
    def __init__(self, target: str) -> None:
        self.target = Path(target)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write a line for each test that has ended."""
        for name, text in report.user_properties:
            if name == "durations" and report.when == "teardown":
                with self.target.open("a") as file:
                    file.write(json.dumps({"test": report.nodeid, **json.loads(str(text))}) + "\n")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Write where the reports of all workers arrive."""
    target = session.config.getoption("durations_to")
    if target and not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(_Writing(target))


def table(path: str) -> str:
    """Return the sums of each kind, in Markdown."""
    rows: dict[str, list[dict[str, float]]] = defaultdict(list)
    for line in Path(path).read_text().splitlines():
        each = json.loads(line)
        rows[each["kind"]].append(each)
    lines = ["| kind | tests | seconds | computing | waiting |", "|---|---|---|---|---|"]
    for kind in KINDS:
        wall = sum(each["wall"] for each in rows[kind])
        computed = sum(each["computed"] for each in rows[kind])
        waiting = sum(max(0.0, each["wall"] - each["computed"]) for each in rows[kind])
        lines.append(f"| {kind} | {len(rows[kind])} | {wall:.0f} | {computed:.0f} | {waiting:.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(f"{table(sys.argv[1])}\n")
