"""The cases of eval sets as tests of pytest, for `pytest --goldens`. Imports no ADK: the agents are replayed in processes of their projects.

Each case is verified as `golden-trace verify` does it. `FORMS` has the forms of files that hold cases, by how their names end.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from evalset.cli.verify_command import criteria_from, renames_of, replay_parser
from evalset.errors import EvalSetError
from evalset.files.set_outline import ids_in_order
from evalset.recorded.recording_files import RecordedEnvironmentError, read_environment, recording_of
from evalset.verify.errors import NO_GOLDEN, VerifyError
from evalset.verify.report import reasons
from evalset.verify.results import RunResult
from evalset.verify.verify_request import VerifyRequest
from evalset.verify.verify_workers import interpreter_for, kernels_with
from evalset.verify.work_sharing import CaseByCase, accept_here, eval_ids_here
from simulator.agents import absolute_agent
from simulator.kernel.kernel import KernelError, RefusedError
from simulator.kernel.kernel_executor import KernelExecutor

MARKER = "golden"
_UPDATED = "golden_updated"
_OPTIONS = "--goldens-options"
_UNFIT = re.compile(r"[^\w.:+-]+")
_OF_PYTEST = frozenset(
    {"skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings", "xdist_group"}
)


class GoldenCases(NamedTuple):
    """The cases of a file: the eval set in which they are verified, their ids in its order, and the tags of some."""

    eval_set: Path
    eval_ids: tuple[str, ...]
    tags: Mapping[str, tuple[str, ...]]


class GoldenAgents:
    """The processes in which the agents of a run of pytest are replayed, and how that is done.

    Args:
        given: The options, as `replay_parser` gives them; the paths in them are absolute.
    """

    def __init__(self, given: argparse.Namespace) -> None:
        self._given = given
        self._executors: dict[Path, KernelExecutor] = {}

    def executor(self, eval_set: Path) -> KernelExecutor:
        """Return what runs functions where the agents of a set are at home: one process for each interpreter.

        Raises:
            VerifyError: There is no such interpreter.
        """
        given = self._given
        found = interpreter_for(eval_set, given.agent, given.agents_dir, given.python or "")
        python = found or Path(sys.executable)
        if python not in self._executors:
            self._executors[python] = kernels_with(python, 1)
        return self._executors[python]

    def case_by_case(self, eval_set: Path) -> CaseByCase:
        """Return what verifies the cases of a set.

        Raises:
            VerifyError: An option cannot be used.
        """
        given, executor = self._given, self.executor(eval_set)
        request = VerifyRequest(
            eval_set=eval_set,
            agent=given.agent or "",
            agents_dir=given.agents_dir,
            runs=given.runs,
            models=given.models,
            unrecorded=given.unrecorded,
            criteria=criteria_from(given, executor),
            timeout=given.timeout,
            renamed=renames_of(given.rename_agent),
            latencies=given.latencies,
        )
        return CaseByCase(executor, request)

    def end(self) -> None:
        """End the processes."""
        for executor in self._executors.values():
            executor.shutdown()
        self._executors.clear()


GoldenReader: TypeAlias = Callable[[Path, GoldenAgents], GoldenCases]
"""Reads the cases of a file; raises a VerifyError that names the file and the place."""


def read_golden_set(path: Path, agents: GoldenAgents) -> GoldenCases:
    """Read the cases of an eval set.

    Raises:
        VerifyError: The set, or the recording beside it, cannot be read; the text says why and where.
    """
    try:
        eval_ids = tuple(ids_in_order(path, path.read_bytes()))
        recording = recording_of(path)
        notes = read_environment(recording).notes if recording.exists() else {}
    except EvalSetError as error:  # ADK's old form, or no eval set
        with _told():
            eval_ids = tuple(agents.executor(path).submit(eval_ids_here, path=str(path)).result())
        if not eval_ids:
            raise VerifyError(str(error)) from error
        notes = {}
    except RecordedEnvironmentError as error:
        raise VerifyError(str(error)) from error
    except OSError as error:
        raise VerifyError(f"{error.filename or path}: cannot be read: {error.strerror or error}") from error
    return GoldenCases(path, eval_ids, {eval_id: note.tags for eval_id, note in notes.items() if note.tags})


FORMS: Mapping[str, GoldenReader] = {".evalset.json": read_golden_set}
"""What reads a file that holds cases, by the ending of its name."""


class GoldensPlugin:
    """Collects the cases, and ends the processes.

    Raises:
        pytest.UsageError: The options cannot be used.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.agents = GoldenAgents(_options(config))
        config.addinivalue_line("markers", f"{MARKER}: a case of an eval set, collected by --goldens")

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect a file that holds cases."""
        reader = next((read for ending, read in FORMS.items() if file_path.name.endswith(ending)), None)
        if reader is None:
            return None
        collector: pytest.Collector = GoldenFile.from_parent(
            parent, path=file_path, reader=reader, agents=self.agents
        )
        return collector

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name the goldens that were updated."""
        reports = terminalreporter.stats.get("passed", [])
        updated = [
            each.nodeid for each in reports if (_UPDATED, True) in getattr(each, "user_properties", ())
        ]
        if updated:
            terminalreporter.section("updated goldens")
            for nodeid in updated:
                terminalreporter.line(nodeid)

    def pytest_sessionfinish(self) -> None:
        """End the processes."""
        self.agents.end()


class GoldenFile(pytest.File):
    """A file that holds cases."""

    def __init__(self, *, reader: GoldenReader, agents: GoldenAgents, **given: Any) -> None:
        super().__init__(**given)
        self._reader, self._agents = reader, agents

    def collect(self) -> Iterator[pytest.Item]:
        """Return a test for each case.

        Raises:
            CollectError: The file cannot be read; the text names it and the place.
        """
        try:
            cases = self._reader(self.path, self._agents)
            verifying = self._agents.case_by_case(cases.eval_set)
        except VerifyError as error:
            advice = f"`golden-trace doctor {shlex.quote(str(self.path))}` shows the details"
            raise self.CollectError(f"{error}\n{advice}") from error
        for place, eval_id in enumerate(cases.eval_ids):
            case: GoldenTest = GoldenTest.from_parent(
                self,
                name=eval_id,
                place=place,
                eval_set=cases.eval_set,
                verifying=verifying,
                agents=self._agents,
            )
            self._mark(case, cases.tags.get(eval_id, ()))
            yield case

    def _mark(self, case: pytest.Item, tags: tuple[str, ...]) -> None:
        for tag in (MARKER, *tags):
            if name := _UNFIT.sub("_", tag.strip()):
                name = f"tag_{name}" if name in _OF_PYTEST else name
                self.config.addinivalue_line("markers", f"{name}: a tag of golden traces")
                case.add_marker(name)


class GoldenTest(pytest.Item):
    """A case that is replayed and compared with its golden."""

    def __init__(
        self, *, place: int, eval_set: Path, verifying: CaseByCase, agents: GoldenAgents, **given: Any
    ) -> None:
        super().__init__(**given)
        self._place, self._eval_set, self._verifying, self._agents = place, eval_set, verifying, agents

    def runtest(self) -> None:
        """Replay the case.

        Raises:
            GoldenError: It did not pass; the text has the first divergence.
        """
        with _told():
            found = self._verifying.verified(self._place, self.name)
        if found.error == NO_GOLDEN:
            pytest.skip(NO_GOLDEN)
        if found.status == "passed":
            return
        if found.runs and self.config.getoption("--goldens-update"):
            self._accept(next(run for run in found.runs if not run.passed))
        else:
            raise GoldenError("\n".join(reasons(found)))

    def _accept(self, run: RunResult) -> None:
        given = {"path": str(self._eval_set), "eval_id": self.name, "run": run.model_dump(mode="json")}
        with _told():
            self._agents.executor(self._eval_set).submit(accept_here, **given).result()
        self.user_properties.append((_UPDATED, True))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the divergence alone; a traceback of ours tells nobody anything."""
        if isinstance(excinfo.value, (GoldenError, VerifyError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return what the head of a failure says."""
        return self.path, None, f"golden {self.name}"


class GoldenError(AssertionError):
    """A case did not pass; the text has the first divergence."""


def _options(config: pytest.Config) -> argparse.Namespace:
    """Return the options for verify, with absolute paths.

    Raises:
        pytest.UsageError: There is no such option.
    """
    typed = config.getoption(_OPTIONS)
    words = typed if typed is not None else config.getini("goldens_options")
    try:
        parser = replay_parser(_OPTIONS)
        parser.set_defaults(models="recorded")
        given = parser.parse_args(shlex.split(words))
    except (SystemExit, ValueError) as error:
        raise pytest.UsageError(f"{_OPTIONS}: {words!r} are not options of `golden-trace verify`") from error
    with contextlib.chdir(config.invocation_params.dir if typed is not None else config.rootpath):
        for name in ("agents_dir", "config"):
            path: Path | None = getattr(given, name)
            setattr(given, name, path.expanduser().absolute() if path is not None else None)
        given.agent = absolute_agent(given.agent) if given.agent else None
    return given


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Let what a process refuses be a `VerifyError`."""
    try:
        yield
    except (KernelError, RefusedError) as error:
        raise VerifyError(str(error)) from error
