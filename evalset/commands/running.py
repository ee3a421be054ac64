"""The command `run`: plays a script without the page, and writes the golden trace of the session."""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, get_args

from google.adk.evaluation.eval_case import EvalCase

from evalset.case_script import read_cases, script_of_case
from evalset.commands.asking import TerminalAsks
from evalset.commands.ending import BAD_INPUT, CODES, FAILED, NO_ANSWER, Ends
from evalset.editing.confirmed import with_confirmations
from evalset.errors import EvalSetError, GoldenTraceError, ScenarioError
from evalset.golden_trace import GoldenTraceBuilder
from evalset.kinds import holds_cases
from evalset.names import flaw_of_eval_id, unique_eval_id
from evalset.progress import Progress, plain
from evalset.recorded.export import record
from evalset.recorded.files import RecordedEnvironmentError, read_environment, sidecar_of
from evalset.writer import EvalSetWriter
from simulator.agent_config import AgentConfigError, SimulatedAgentConfig
from simulator.agents import AgentLoadError, UnknownAgentError, agent_named
from simulator.runtime import Simulation, SimulationError
from simulator.runtime.nested import agents_as_tools
from simulator.scripts import (
    Asks,
    Played,
    ScriptedSession,
    ScriptError,
    ScriptText,
    read_script,
    script_of,
    write_script,
)
from simulator.scripts.script import Otherwise

if TYPE_CHECKING:
    from collections.abc import Callable


def add_run(commands: Any) -> None:
    """Add the command to those of the program."""
    run = commands.add_parser(
        "run",
        help="play a script with an agent, and write the golden trace into an eval set",
        description="Plays a script with an agent, without the page, and writes the golden trace into an eval set. Where the "
        "script has no answer and says 'ask', it asks on the terminal.",
        epilog=CODES,
        allow_abbrev=False,
    )
    run.add_argument(
        "agent",
        metavar="AGENT",
        help="a folder of agents, a file of configs (each with #name), or a demo agent",
    )
    run.add_argument(
        "--script",
        required=True,
        type=Path,
        metavar="FILE",
        help="the script, YAML or JSON; or an eval set, of which one case is played",
    )
    run.add_argument(
        "--out",
        required=True,
        type=Path,
        metavar="SET",
        help="the eval set that gets the case; made if need be",
    )
    _add_ways(run)
    run.set_defaults(work=run_script)


def _add_ways(run: Any) -> None:
    run.add_argument(
        "--case", default="", metavar="ID", help="which case of an eval set is played, where it has several"
    )
    run.add_argument(
        "--eval-id", metavar="ID", help="the case's id; by default the agent's name and the session's start"
    )
    run.add_argument(
        "--otherwise",
        choices=get_args(Otherwise),
        help="what to do where the script has no answer, in place of what it says itself",
    )
    run.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="write what was played as a script, with the answers that were asked for",
    )
    run.add_argument(
        "--strict", action="store_true", help="fail where a line was not used, or not where it stands"
    )
    run.add_argument("--quiet", action="store_true", help="show no steps")
    run.add_argument("--json", action="store_true", help="write the result as one JSON object")
    run.add_argument("--verbose", action="store_true", help="show the warnings of ADK and of the agent")


def run_script(given: argparse.Namespace, typed: TextIO, progress: Progress, out: TextIO) -> None:
    """Carry the command out.

    Raises:
        Ends: It ends otherwise than well.
    """
    config = _load(given.agent)
    script, losses = _read(given.script, given.case, config)
    if given.otherwise:
        script = script._replace(script=script.script.model_copy(update={"otherwise": given.otherwise}))
    writer = EvalSetWriter(given.out, config.name)
    _check(writer, given.eval_id)
    asks = partial(_asks, typed, progress, script.where) if typed.isatty() else None
    played = _played(config, script, asks, given.record, progress)
    progress.clear()
    for problem in (*losses, *played.problems):
        progress.say(f"warning: {problem}")
    _check_played(played, script, given.script, has_terminal=asks is not None)
    _check_leftovers(played, script, given, progress)
    path, eval_id = _written(played, writer, given.eval_id)
    environment = _recorded(played, path, eval_id, config)
    if given.json:
        result = {
            "path": str(path),
            "environment": str(environment),
            "eval_id": eval_id,
            "session_id": played.session.session_id,
            "turns": len(played.session.turns),
            "problems": [*losses, *played.problems],
            "leftovers": [f"{script.where(left.place)}: {left.words}" for left in played.leftovers],
        }
        out.write(json.dumps(result) + "\n")
    else:
        out.write(plain(f"{path}: {eval_id}") + "\n")


def _read(path: Path, case: str, config: SimulatedAgentConfig) -> tuple[ScriptText, tuple[str, ...]]:
    """Read the script, or that of an eval set's case; and what the case does not tell."""
    try:
        text = path.read_text(encoding="utf-8")
        if not holds_cases(text):
            return read_script(text), ()
        chosen = _with_answers(path, _chosen(path, read_cases(text), case))
        made = script_of_case(chosen, agents_as_tools(config.root_agent))
        return read_script(write_script(made.script)), made.losses
    except OSError as error:
        raise Ends(BAD_INPUT, f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Ends(BAD_INPUT, f"{path}: is no text in UTF-8: byte {error.start} cannot be read") from error
    except RecordedEnvironmentError as error:
        raise Ends(BAD_INPUT, str(error)) from error
    except (ScriptError, ScenarioError) as error:
        raise Ends(BAD_INPUT, "\n".join(f"{path}: {line}" for line in str(error).splitlines())) from error


def _with_answers(path: Path, case: EvalCase) -> EvalCase:
    """Put back what a person had said to confirmations, which only the recorded environment beside the set knows."""
    sidecar = sidecar_of(path)
    recorded = read_environment(sidecar).cases.get(case.eval_id) if sidecar.is_file() else None
    return with_confirmations(case, recorded) if recorded is not None else case


def _chosen(path: Path, cases: dict[str, EvalCase], case: str) -> EvalCase:
    names = ", ".join(cases) or "none"
    if case and case not in cases:
        raise Ends(BAD_INPUT, f"{path}: has no case {case!r}; it has {names}")
    if not case and len(cases) != 1:
        raise Ends(BAD_INPUT, f"{path}: say with --case which one is played; it has {names}")
    return cases[case] if case else next(iter(cases.values()))


def _load(words: str) -> SimulatedAgentConfig:
    try:
        return agent_named(words)
    except (UnknownAgentError, AgentLoadError, AgentConfigError) as error:
        raise Ends(BAD_INPUT, f"AGENT: {error}") from error


def _check(writer: EvalSetWriter, eval_id: str | None) -> None:
    """Check that the case can be written, before anything is played."""
    try:
        taken = writer.eval_ids()
    except EvalSetError as error:
        raise Ends(BAD_INPUT, f"--out: {error}") from error
    if eval_id is not None and (flaw := flaw_of_eval_id(eval_id)):
        raise Ends(BAD_INPUT, f"--eval-id: {flaw}")
    if eval_id in taken:
        raise Ends(BAD_INPUT, f"--eval-id: {writer.path} already holds a case with the eval id {eval_id!r}")


def _asks(
    typed: TextIO, progress: Progress, where: Callable[[tuple[str | int, ...]], str], simulation: Simulation
) -> Asks:
    return TerminalAsks(simulation, typed, progress, where)


def _played(
    config: SimulatedAgentConfig,
    script: ScriptText,
    asks: Callable[[Simulation], Asks] | None,
    record: Path | None,
    progress: Progress,
) -> Played:
    try:
        with ScriptedSession(config, script.script, asks=asks) as scripted:
            played = scripted.play(progress.step)
            if record is not None:
                record.write_text(write_script(script_of(scripted.simulation)), encoding="utf-8")
    except OSError as error:
        raise Ends(BAD_INPUT, f"--record: {record}: cannot be written: {error.strerror or error}") from error
    except ScriptError as error:
        raise Ends(FAILED, f"--record: {error}") from error
    except SimulationError as error:
        raise Ends(BAD_INPUT, f"the session cannot be opened: {error}") from error
    except Exception as error:
        raise Ends(FAILED, f"the agent failed: {type(error).__name__}: {error}") from error
    return played


def _check_played(played: Played, script: ScriptText, path: Path, *, has_terminal: bool) -> None:
    if played.failure:
        raise Ends(FAILED, f"{played.failure}; nothing was written")
    if played.refused:
        where = script.where(played.refused.place)
        raise Ends(NO_ANSWER, f"{path}: {where}: {played.refused.words}; nothing was written")
    if not played.waits:
        return
    told = [
        f"{path}: {script.where(wait.place)}: the script has no answer: {wait.words} is wanted"
        for wait in played.waits
    ]
    if script.script.otherwise == "ask":
        first = played.waits[0]
        nobody = "" if has_terminal else "There is nobody to ask, as the standard input is no terminal. "
        told.append(f"{nobody}Put a line like this under {'.'.join(map(str, first.place))}:\n{first.snippet}")
    raise Ends(NO_ANSWER, "\n".join([*told, "nothing was written"]))


def _check_leftovers(
    played: Played, script: ScriptText, given: argparse.Namespace, progress: Progress
) -> None:
    kind = "error" if given.strict else "warning"
    for left in played.leftovers:
        progress.say(f"{kind}: {given.script}: {script.where(left.place)}: {left.words}")
    if played.leftovers and given.strict:
        raise Ends(NO_ANSWER, "the script and the session do not fit (--strict); nothing was written")


def _written(played: Played, writer: EvalSetWriter, eval_id: str | None) -> tuple[Path, str]:
    try:
        case = GoldenTraceBuilder(played.session, eval_id=eval_id, confirmations="beside").build()
        if eval_id is None:
            free = unique_eval_id(case.eval_id, writer.eval_ids())
            case = case.model_copy(update={"eval_id": free})
        written = writer.write_eval_case(case)
    except GoldenTraceError as error:
        raise Ends(FAILED, f"{error}; nothing was written") from error
    except EvalSetError as error:
        raise Ends(BAD_INPUT, f"--out: {error}") from error
    return written.path, written.eval_id


def _recorded(played: Played, eval_set: Path, eval_id: str, config: SimulatedAgentConfig) -> Path:
    try:
        return record(eval_set, eval_id, played.session, played.facts, config.root_agent)
    except (RecordedEnvironmentError, OSError) as error:
        raise Ends(BAD_INPUT, f"the case was written, and its environment was not: {error}") from error
