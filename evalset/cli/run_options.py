"""The options of the command `run`, and what can be refused before ADK is imported, which takes seconds."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, TextIO, get_args

from evalset.cli.agent_and_file import agent_and_file
from evalset.cli.eval_command import PYTHON_HELP
from evalset.cli.exit_codes import BAD_INPUT, CODES, Ends
from evalset.cli.progress_line import ProgressLine
from simulator.agents import UnknownAgentError
from simulator.agents.named_agent import require_agent
from simulator.scripts.script import Otherwise


def add_run(commands: Any, about: str) -> None:
    """Add the command to those of the program, with what it does in a line."""
    run = commands.add_parser(
        "run",
        help=about,
        description="Play a script with an agent, without the page, and write the golden trace into an eval set. If the script has no "
        "answer and is set to 'ask', you are asked on the terminal.",
        epilog=CODES,
        allow_abbrev=False,
    )
    run.add_argument(
        "agent",
        metavar="AGENT",
        help="a folder of agents, a file of configs (with #name if there are several), or a demo agent",
    )
    played = run.add_mutually_exclusive_group(required=True)
    played.add_argument(
        "file", nargs="?", metavar="FILE", help="the same as --script; may also be before AGENT"
    )
    played.add_argument(
        "--script",
        type=Path,
        metavar="FILE",
        help="a script in YAML or JSON; or an eval set, or a downloaded archive of one, from which one case is played",
    )
    played.add_argument(
        "--scenario",
        type=Path,
        metavar="FILE",
        help="a file of ADK conversation scenarios, or an eval set with scenarios, from which one is played; a user simulator plays the user",
    )
    run.add_argument(
        "--out",
        required=True,
        type=Path,
        metavar="SET",
        help="the eval set to add the case to; created if it does not exist",
    )
    _add_ways(run)
    run.set_defaults(work=_run)


def _add_ways(run: Any) -> None:
    run.add_argument(
        "--case",
        default="",
        metavar="ID",
        help="the case to play, if the file has several; for scenarios, the id that ADK gives it, or its number",
    )
    _add_user(run)
    _add_id(run)
    run.add_argument(
        "--otherwise",
        choices=get_args(Otherwise),
        help="what to do if the script has no answer; overrides the script's own setting",
    )
    run.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="write the played session as a script, including the answers you gave",
    )
    run.add_argument(
        "--strict",
        action="store_true",
        help="fail if a line of the script was not used, or was used out of order, or a response has a blank or an uncertain value",
    )
    run.add_argument(
        "--no-replay",
        action="store_true",
        help="do not replay the written case. By default it is replayed immediately: times, ids and random values from the agent's "
        "own code get a tolerance in the recorded environment, and the output lists them",
    )
    run.add_argument("--python", default="", metavar="PATH", help=PYTHON_HELP)
    run.add_argument("--quiet", action="store_true", help="show no steps")
    run.add_argument("--json", action="store_true", help="write the result as one JSON object")
    run.add_argument("--verbose", action="store_true", help="show warnings of ADK and of the agent")


def _add_id(run: Any) -> None:
    """Add the options of the written case: its id, and whether it takes another one's place."""
    run.add_argument(
        "--eval-id",
        metavar="ID",
        help="the id of the new case (default: the agent's name and the start time of the session)",
    )
    run.add_argument(
        "--replace",
        action="store_true",
        help="replace the case with the id of --eval-id; its notes, review, rubrics and tolerances stay",
    )
    run.add_argument(
        "--drop-edits",
        action="store_true",
        help="with --replace: remove what was edited in the case after it was written (default: kept where the session has the same there)",
    )


def _add_user(run: Any) -> None:
    """Add the options of a scenario: who speaks for the user."""
    run.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="with --scenario: the configuration of the user simulator, or an ADK EvalConfig that contains one, as JSON",
    )
    run.add_argument(
        "--user-simulator",
        default="",
        metavar="PATH",
        help="with --scenario: your own user simulator, as package.module.Class",
    )


def _run(given: argparse.Namespace, typed: TextIO, progress: ProgressLine, out: TextIO) -> None:
    """Carry the command out.

    Raises:
        Ends: It ends otherwise than well.
    """
    if given.file is not None:
        given.agent, given.script = agent_and_file(given.agent, given.file)
    if given.scenario is None and (given.config is not None or given.user_simulator):
        raise Ends(BAD_INPUT, "--config and --user-simulator need --scenario")
    try:
        require_agent(given.agent)
    except UnknownAgentError as error:
        raise Ends(BAD_INPUT, f"AGENT: {error}") from error
    from evalset.cli.run_command import run_script  # noqa: PLC0415 - it imports ADK

    run_script(given, typed, progress, out)
