"""The cases of eval sets and datasets as tests of pytest, for `pytest --goldens`.

`golden_trace.py` loads this file by its place, and it imports nothing of ours: a project may have modules named `evalset`, `simulator` and `app`, which its
own tests import in the same process. `goldens_process` reads and replays the cases, in a process in which the names are ours.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

MARKER = "golden"
_UPDATED, _TOLD = "golden_updated", "golden_told"
_OPTIONS = "--goldens-options"
_UNFIT = re.compile(r"[^\w.+-]+")
_TAKEN = frozenset(
    {"skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings", "xdist_group"}
    | {"timeout", "flaky"}  # of plugins that many have
    | {"parameterize", "parametrise", "parameterise"}  # refused as misspelt
    | {"and", "or", "not"}  # read as something else behind -m
)
_PROGRAM = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from evalset.cli.goldens_process import main
main()
"""


class GoldenError(AssertionError):
    """A case did not pass, or could not be replayed; the text has the first divergence, or says why."""


class GoldensPlugin:
    """Collects the cases, and ends the process.

    Raises:
        pytest.UsageError: The options cannot be used.
    """

    def __init__(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", f"{MARKER}: a golden of an eval set or a dataset, from --goldens")
        typed = config.getoption(_OPTIONS)
        words = typed if typed is not None else config.getini("goldens_options")
        folder = config.invocation_params.dir if typed is not None else config.rootpath
        self._process = _Process(words, folder)
        if words and not hasattr(
            config, "workerinput"
        ):  # else the process that starts workers has looked at them
            self._process.start()

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect a file that may hold cases."""
        if file_path.suffix != ".json" or not file_path.name.endswith(self._process.start()):
            return None
        # An agent's package is imported by its own process alone; what stands in a `Package`, pytest imports as well.
        above = next(each for each in reversed(parent.listchain()) if not isinstance(each, pytest.Package))
        collector: pytest.Collector = GoldenFile.from_parent(above, path=file_path, process=self._process)
        return collector

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name the goldens that were updated, who answered for the models, and what the agents tried to reach."""
        every = [each for reports in terminalreporter.stats.values() for each in reports]
        properties = [one for each in every for one in getattr(each, "user_properties", ())]
        for sentence in dict.fromkeys(value for name, value in properties if name == _TOLD):
            terminalreporter.line(f"goldens: {sentence}")
        reports = terminalreporter.stats.get("passed", [])
        updated = [
            each.nodeid for each in reports if (_UPDATED, True) in getattr(each, "user_properties", ())
        ]
        if updated:
            terminalreporter.section("updated goldens")
            for nodeid in updated:
                terminalreporter.line(nodeid)

    def pytest_unconfigure(self) -> None:
        """End the process."""
        self._process.end()


class _Process:
    """The process that reads and replays cases, started when it is needed first; it ends with this one."""

    def __init__(self, words: str, folder: Path) -> None:
        self._words, self._folder = words, folder
        self._started: subprocess.Popen[str] | None = None
        self._endings: tuple[str, ...] = ()
        self._is_asked = False

    def start(self) -> tuple[str, ...]:
        """Start it, if it has not begun yet; return how the names of files end that hold cases.

        Raises:
            pytest.UsageError: It cannot start, or not with these options.
        """
        if self._started is None:
            ours = Path(__file__).resolve().parents[2]
            self._started = subprocess.Popen(  # noqa: S603 - this interpreter
                [sys.executable, "-P", "-c", _PROGRAM, str(ours)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                start_new_session=True,  # an interrupt is pytest's
            )
            try:
                self._endings = tuple(self.ask("begin", words=self._words, folder=str(self._folder)))
            except GoldenError as error:
                raise pytest.UsageError(f"{_OPTIONS}: {error}") from error
        return self._endings

    def ask(self, name: str, **given: Any) -> Any:
        """Have something done, and return what comes of it.

        Raises:
            GoldenError: It cannot be done; the text says why.
        """
        process = self._started
        if process is None or process.stdin is None or process.stdout is None:
            raise GoldenError("the process that replays goldens has not started")
        self._is_asked = True
        try:
            process.stdin.write(json.dumps([name, given]) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        self._is_asked = False
        if not line:
            raise GoldenError(f"the process that replays goldens has ended with code {process.wait()}")
        reply = json.loads(line)
        if "error" in reply:
            raise GoldenError(reply["error"])
        return reply["result"]

    def end(self) -> None:
        """End it, with the agents that it has started."""
        if self._started is not None:
            if self._is_asked:  # an interrupt: nobody waits for the answer
                self._started.kill()
            self._started.communicate()


class GoldenFile(pytest.File):
    """A file that holds cases."""

    def __init__(self, *, process: _Process, **given: Any) -> None:
        super().__init__(**given)
        self._process = process

    def collect(self) -> Iterator[pytest.Item]:
        """Return a test for each golden.

        Raises:
            CollectError: The file cannot be read; the text names it and the place.
        """
        try:
            cases = self._process.ask("collect", path=str(self.path))
        except GoldenError as error:
            advice = f"`golden-trace doctor {shlex.quote(str(self.path))}` shows the details"
            raise self.CollectError(f"{error}\n{advice}") from error
        for place, found in enumerate(cases):
            case: GoldenTest = GoldenTest.from_parent(
                self, name=found["eval_id"], place=place, process=self._process
            )
            self._mark(case, found["tags"])
            yield case

    def _mark(self, case: pytest.Item, tags: Sequence[str]) -> None:
        for name in (MARKER, *map(_marker_name, tags)):
            self.config.addinivalue_line("markers", f"{name}: a tag of golden traces")
            case.add_marker(name)


def _marker_name(tag: str) -> str:
    """Return a name that pytest takes for a marker, also with `--strict-markers`, and reads behind `-m`."""
    name = _UNFIT.sub("_", tag).lstrip("_-").rstrip("_")
    return f"tag_{name}" if name in _TAKEN else name or "tag"


class GoldenTest(pytest.Item):
    """A case that is replayed and compared with its golden."""

    def __init__(self, *, place: int, process: _Process, **given: Any) -> None:
        super().__init__(**given)
        self._place, self._process = place, process

    def runtest(self) -> None:
        """Replay the case.

        Raises:
            GoldenError: It did not pass; the text has the first divergence.
        """
        of_case = {"path": str(self.path), "eval_id": self.name}
        found = self._process.ask("verify", place=self._place, **of_case)
        self.user_properties += [(_TOLD, sentence) for sentence in found["told"]]
        if found["skipped"]:
            pytest.skip(found["skipped"])
        if found["passed"]:
            return
        if not (found["run"] and self.config.getoption("--goldens-update")):
            raise GoldenError(found["text"])
        self._process.ask("accept", run=found["run"], **of_case)
        self.user_properties.append((_UPDATED, True))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the divergence alone; a traceback of ours tells nobody anything."""
        if isinstance(excinfo.value, GoldenError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return what the head of a failure says."""
        return self.path, None, f"golden {self.name}"
