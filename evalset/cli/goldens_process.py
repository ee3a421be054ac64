"""The process that reads and replays cases for `pytest --goldens`. Imports no ADK: the agents are replayed in processes of their projects.

`pytest_goldens` asks, in a line of JSON each, and gets a line back. Each case is verified as `golden-trace verify` does it. `FORMS` has the forms of files
that hold cases, by how their names end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from evalset.cli.verify_command import criteria_from, renames_of, replay_parser
from evalset.errors import EvalSetError
from evalset.files.datasets import ENDING
from evalset.files.set_outline import ids_in_order
from evalset.recorded.recording_files import RecordedEnvironmentError, read_environment, recording_of
from evalset.replay.model_choice import ANSWERED_BY, IN_TESTS
from evalset.verify.report import network_words, reasons
from evalset.verify.results import UNCHECKED, VerifyError
from evalset.verify.verify_request import VerifyRequest
from evalset.verify.verify_run import CaseByCase, accept_here, eval_ids_here, interpreter_for, kernels_with
from simulator.agents import absolute_agent
from simulator.base.documents import read_file
from simulator.base.json_values import JsonObject
from simulator.kernel.agent_kernels import KernelExecutor
from simulator.kernel.kernel import KernelError, RefusedError

_OPTIONS = "--goldens-options"
_RECORDED = f'{ANSWERED_BY["recorded"]}. {_OPTIONS}="--models auto" asks the agents\' own models where they are reachable'


class GoldenCases(NamedTuple):
    """The cases of a file: their ids in its order, and the tags of some."""

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
        self._verifying: dict[str, CaseByCase] = {}

    def collected(self, path: str) -> list[JsonObject]:
        """Return the cases of a file: the id and the tags of each.

        Raises:
            VerifyError: The file cannot be read, or an option cannot be used.
        """
        read = next(reader for ending, reader in FORMS.items() if path.endswith(ending))
        found = read(Path(path), self)
        if found.eval_ids:
            self._of(path)
        return [{"eval_id": each, "tags": list(found.tags.get(each, ()))} for each in found.eval_ids]

    def verified(self, path: str, place: int, eval_id: str) -> JsonObject:
        """Return what became of a case: whether it passed, why it is skipped, or why it failed and the run to accept.

        Raises:
            VerifyError: It cannot be replayed.
        """
        with _told():
            verification = self._of(path).verified(place, eval_id)
        (found,) = verification.cases
        failed = next((run for run in found.runs if not run.passed), None)
        return {
            "passed": found.status == "passed",
            "skipped": found.error if found.error.startswith(UNCHECKED) else "",
            "text": "\n".join(reasons(found)),
            "told": [
                *([_RECORDED] if self._given.models == "recorded" else verification.models),
                *network_words(verification),
            ],
            "run": failed.model_dump(mode="json") if failed else None,
        }

    def accept(self, path: str, eval_id: str, run: Any) -> None:
        """Let a run be the golden of its case.

        Raises:
            VerifyError: It cannot be, or the file cannot be written.
        """
        with _told():
            self.executor(Path(path)).submit(accept_here, path=path, eval_id=eval_id, run=run).result()

    def executor(self, path: Path) -> KernelExecutor:
        """Return what runs functions where the agents of a file are at home: one process for each interpreter.

        Raises:
            VerifyError: There is no such interpreter.
        """
        given = self._given
        found = interpreter_for(path, given.agent, given.agents_dir, given.python or "")
        python = found or Path(sys.executable)
        if python not in self._executors:
            self._executors[python] = kernels_with(python, 1, given.models)
        return self._executors[python]

    def _of(self, path: str) -> CaseByCase:
        if path not in self._verifying:
            given, executor = self._given, self.executor(Path(path))
            request = VerifyRequest(
                eval_set=Path(path),
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
            self._verifying[path] = CaseByCase(executor, request)
        return self._verifying[path]

    def end(self) -> None:
        """End the processes."""
        for executor in self._executors.values():
            executor.shutdown()


GoldenReader: TypeAlias = Callable[[Path, GoldenAgents], GoldenCases]
"""Reads the cases of a file; raises a VerifyError that names the file and the place."""


def read_golden_set(path: Path, agents: GoldenAgents) -> GoldenCases:
    """Read the cases of an eval set.

    Raises:
        VerifyError: The set, or the recording beside it, cannot be read; the text says why and where.
    """
    try:
        eval_ids: Sequence[str] = ids_in_order(path, read_file(path))
    except EvalSetError as error:  # ADK's old form, or no eval set
        eval_ids = _ids_there(path, agents)
        if not eval_ids:
            raise VerifyError(str(error)) from error
    except OSError as error:
        raise VerifyError(f"{path}: cannot be read: {error.strerror or error}") from error
    return GoldenCases(tuple(eval_ids), _tags(path))


def read_golden_dataset(path: Path, agents: GoldenAgents) -> GoldenCases:
    """Read the goldens of a dataset; a file of another kind has none.

    Raises:
        VerifyError: As for `read_golden_set`.
    """
    try:
        content = read_file(path)
    except OSError as error:
        raise VerifyError(f"{path}: cannot be read: {error.strerror or error}") from error
    if b'"eval_cases"' not in content and b'"evalCases"' not in content:
        return GoldenCases((), {})
    return GoldenCases(tuple(_ids_there(path, agents)), _tags(path))


FORMS: Mapping[str, GoldenReader] = {".evalset.json": read_golden_set, ENDING: read_golden_dataset}
"""What reads a file that holds cases, by the ending of its name."""


def _ids_there(path: Path, agents: GoldenAgents) -> list[str]:
    with _told():
        return list(agents.executor(path).submit(eval_ids_here, path=str(path)).result())


def _tags(path: Path) -> dict[str, tuple[str, ...]]:
    recording = recording_of(path)
    try:
        notes = read_environment(recording).notes if recording.exists() else {}
    except RecordedEnvironmentError as error:
        raise VerifyError(str(error)) from error
    except OSError as error:
        raise VerifyError(f"{recording}: cannot be read: {error.strerror or error}") from error
    return {eval_id: note.tags for eval_id, note in notes.items() if note.tags}


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Let what a process refuses be a `VerifyError`."""
    try:
        yield
    except (KernelError, RefusedError) as error:
        raise VerifyError(str(error)) from error


def options(words: str, folder: str) -> argparse.Namespace:
    """Return the options for verify, with absolute paths.

    Args:
        words: The options as typed.
        folder: Where their paths start.

    Raises:
        VerifyError: There is no such option.
    """
    try:
        parser = replay_parser(_OPTIONS)
        parser.set_defaults(models=IN_TESTS)
        given = parser.parse_args(shlex.split(words))
    except (SystemExit, ValueError) as error:
        raise VerifyError(f"{words!r} are not options of `golden-trace verify`") from error
    with contextlib.chdir(folder):
        for name in ("agents_dir", "config"):
            path: Path | None = getattr(given, name)
            setattr(given, name, path.expanduser().absolute() if path is not None else None)
        given.agent = absolute_agent(given.agent) if given.agent else None
    return given


def main() -> None:
    """Answer until the input ends; what is printed goes to the standard error."""
    outgoing = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    agents: GoldenAgents | None = None
    try:
        for line in sys.stdin:
            name, given = json.loads(line)
            try:
                if name == "begin":
                    agents = GoldenAgents(options(**given))
                result = _done(agents, name, given)
            except VerifyError as error:
                reply: JsonObject = {"error": str(error)}
            else:
                reply = {"result": result}
            outgoing.write(json.dumps(reply) + "\n")
            outgoing.flush()
    finally:
        if agents is not None:
            agents.end()


def _done(agents: GoldenAgents | None, name: str, given: dict[str, Any]) -> Any:
    match name, agents:
        case "collect", GoldenAgents():
            return agents.collected(**given)
        case "verify", GoldenAgents():
            return agents.verified(**given)
        case "accept", GoldenAgents():
            return agents.accept(**given)
        case _:
            return list(FORMS)
