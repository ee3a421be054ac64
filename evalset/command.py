"""The command `python -m simulator run`: plays a script without a screen, and writes the golden trace of the session.

It exits with 0 when the case is written; 1 where the script has no answer, or (with `--strict`) a line too many or in
the wrong place; 2 for bad input; 3 when the agent failed or a turn ended with an error; 130 when it is interrupted.
Whatever is not 0 has written nothing.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from evalset.errors import EvalSetError, GoldenTraceError
from evalset.golden_trace import GoldenTraceBuilder
from evalset.names import flaw_of_eval_id, unique_eval_id
from evalset.progress import Progress, plain
from evalset.writer import EvalSetWriter
from simulator.agent_config import AgentConfigError, SimulatedAgentConfig
from simulator.agents import AgentLoadError, UnknownAgentError, agent_named
from simulator.runtime import SimulationError
from simulator.scripts import Played, ScriptError, ScriptText, play_script, read_script

DONE, NO_ANSWER, BAD_INPUT, FAILED, INTERRUPTED = 0, 1, 2, 3, 130
"""The exit codes."""


class _Ends(Exception):  # noqa: N818 - it ends the command, in one of its ways
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit code.

    Args:
        argv: The arguments without the program's name; those of the process by default.
    """
    given = _parser().parse_args(argv)
    if not given.verbose:
        _hush()
    progress = Progress(sys.stderr)
    try:
        _run(given, progress, sys.stdout)
    except _Ends as end:
        progress.say(str(end))
        return end.code
    except KeyboardInterrupt:
        progress.say("interrupted; nothing was written")
        return INTERRUPTED
    return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m simulator", allow_abbrev=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser(
        "run",
        help="play a script with an agent, and write the golden trace into an eval set",
        description="Plays a script with an agent, without a screen, and writes the golden trace into an eval set.",
        epilog="Exit codes: 0 done; 1 the script has no answer, or with --strict a line too many; 2 bad input; "
        "3 the agent failed; 130 interrupted.",
        allow_abbrev=False,
    )
    run.add_argument(
        "agent",
        metavar="AGENT",
        help="a folder of agents, a file of configs (each with #name), or a demo agent",
    )
    run.add_argument("--script", required=True, type=Path, metavar="FILE", help="the script, YAML or JSON")
    run.add_argument(
        "--out",
        required=True,
        type=Path,
        metavar="SET",
        help="the eval set that gets the case; made if need be",
    )
    run.add_argument(
        "--eval-id", metavar="ID", help="the case's id; by default the agent's name and the session's start"
    )
    run.add_argument(
        "--strict", action="store_true", help="fail where a line was not used, or not where it stands"
    )
    run.add_argument("--verbose", action="store_true", help="show the warnings of ADK and of the agent")
    return parser


def _hush() -> None:
    """Keep ADK's warnings, which come with each request, away from the progress line."""
    logging.basicConfig(level=logging.ERROR, format="%(message)s")
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


def _run(given: argparse.Namespace, progress: Progress, out: TextIO) -> None:
    script = _read(given.script)
    config = _load(given.agent)
    writer = EvalSetWriter(given.out, config.name)
    _check(writer, given.eval_id)
    played = _played(config, script, progress)
    progress.clear()
    for problem in played.problems:
        progress.say(f"warning: {problem}")
    _check_played(played, script, given.script)
    _check_leftovers(played, script, given, progress)
    path, eval_id = _written(played, writer, given.eval_id)
    out.write(plain(f"{path}: {eval_id}") + "\n")


def _read(path: Path) -> ScriptText:
    try:
        return read_script(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _Ends(BAD_INPUT, f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise _Ends(BAD_INPUT, f"{path}: is no text in UTF-8: byte {error.start} cannot be read") from error
    except ScriptError as error:
        raise _Ends(BAD_INPUT, "\n".join(f"{path}: {line}" for line in str(error).splitlines())) from error


def _load(words: str) -> SimulatedAgentConfig:
    try:
        return agent_named(words)
    except (UnknownAgentError, AgentLoadError, AgentConfigError) as error:
        raise _Ends(BAD_INPUT, f"AGENT: {error}") from error


def _check(writer: EvalSetWriter, eval_id: str | None) -> None:
    """Check that the case can be written, before anything is played."""
    try:
        taken = writer.eval_ids()
    except EvalSetError as error:
        raise _Ends(BAD_INPUT, f"--out: {error}") from error
    if eval_id is not None and (flaw := flaw_of_eval_id(eval_id)):
        raise _Ends(BAD_INPUT, f"--eval-id: {flaw}")
    if eval_id in taken:
        raise _Ends(BAD_INPUT, f"--eval-id: {writer.path} already holds a case with the eval id {eval_id!r}")


def _played(config: SimulatedAgentConfig, script: ScriptText, progress: Progress) -> Played:
    try:
        return play_script(config, script.script, progress.step)
    except SimulationError as error:
        raise _Ends(BAD_INPUT, f"the session cannot be opened: {error}") from error
    except Exception as error:
        raise _Ends(FAILED, f"the agent failed: {type(error).__name__}: {error}") from error


def _check_played(played: Played, script: ScriptText, path: Path) -> None:
    if played.failure:
        raise _Ends(FAILED, f"{played.failure}; nothing was written")
    if played.refused:
        where = script.where(played.refused.place)
        raise _Ends(NO_ANSWER, f"{path}: {where}: {played.refused.words}; nothing was written")
    if not played.waits:
        return
    told = [
        f"{path}: {script.where(wait.place)}: the script has no answer: {wait.words} is wanted"
        for wait in played.waits
    ]
    if script.script.otherwise == "ask":
        first = played.waits[0]
        told.append(
            f"There is nobody to ask. Put a line like this under {'.'.join(map(str, first.place))}:\n{first.snippet}"
        )
    raise _Ends(NO_ANSWER, "\n".join([*told, "nothing was written"]))


def _check_leftovers(
    played: Played, script: ScriptText, given: argparse.Namespace, progress: Progress
) -> None:
    kind = "error" if given.strict else "warning"
    for left in played.leftovers:
        progress.say(f"{kind}: {given.script}: {script.where(left.place)}: {left.words}")
    if played.leftovers and given.strict:
        raise _Ends(NO_ANSWER, "the script and the session do not fit (--strict); nothing was written")


def _written(played: Played, writer: EvalSetWriter, eval_id: str | None) -> tuple[Path, str]:
    try:
        case = GoldenTraceBuilder(played.session, eval_id=eval_id).build()
        if eval_id is None:
            free = unique_eval_id(case.eval_id, writer.eval_ids())
            case = case.model_copy(update={"eval_id": free})
        written = writer.write_eval_case(case)
    except GoldenTraceError as error:
        raise _Ends(FAILED, f"{error}; nothing was written") from error
    except EvalSetError as error:
        raise _Ends(BAD_INPUT, f"--out: {error}") from error
    return written.path, written.eval_id
