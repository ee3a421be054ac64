"""The options of the command `run`, and what can be refused before ADK is imported, which takes seconds."""

from __future__ import annotations

import argparse
import logging
from typing import get_args

from evalset.cli.command_frame import (
    ONE_OF,
    PYTHON,
    RESULT,
    ShellCommand,
    UsageError,
    agent_and_file,
    file_option,
    flag,
    option,
)
from evalset.cli.terminal_output import BAD_INPUT, CODES, WORDS, Ends, ProgressLine
from evalset.verify.results import UnreadableSetError
from simulator.agents import UnknownAgentError
from simulator.agents.named_agent import require_agent
from simulator.scripts.script import Otherwise


def _run(given: argparse.Namespace, progress: ProgressLine) -> int:
    if given.file is not None:
        given.agent, given.script = agent_and_file(given.agent, given.file)
    if given.scenario is None and (given.config is not None or given.user_simulator):
        raise Ends(BAD_INPUT, "--config and --user-simulator need --scenario")
    try:
        require_agent(given.agent)
    except UnknownAgentError as error:
        raise Ends(BAD_INPUT, f"AGENT: {error}") from error
    from evalset.cli.run_command import run_script  # noqa: PLC0415 - it imports ADK

    return run_script(given, progress)


main = ShellCommand(
    prog="golden-trace run",
    about="Play a script with an agent, without the page, and write the golden trace into an eval set. If the script has no "
    "answer and is set to 'ask', you are asked on the terminal.",
    codes=CODES,
    options={
        "agent": option(
            "a folder of agents, a file of configs (with #name if there are several), or a demo agent",
            "AGENT",
        ),
        "file": option("the same as --script; may also be before AGENT", "FILE", nargs="?", group=ONE_OF),
        "--script": file_option(
            "a script in YAML or JSON; or an eval set, or a downloaded archive of one, from which one case is played",
            group=ONE_OF,
        ),
        "--scenario": file_option(
            "a file of ADK conversation scenarios, or an eval set with scenarios, from which one is played; a user simulator plays the user",
            group=ONE_OF,
        ),
        "--out": file_option(
            "the eval set to add the case to; created if it does not exist", "SET", required=True
        ),
        "--case": option(
            "the case to play, if the file has several; for scenarios, the id that ADK gives it, or its number",
            "ID",
            default="",
        ),
        "--config": file_option(
            "with --scenario: the configuration of the user simulator, or an ADK EvalConfig that contains one, as JSON"
        ),
        "--user-simulator": option(
            "with --scenario: your own user simulator, as package.module.Class", "PATH", default=""
        ),
        "--eval-id": option(
            "the id of the new case (default: the agent's name and the start time of the session)", "ID"
        ),
        "--replace": flag(
            "replace the case with the id of --eval-id; its notes, review, rubrics and tolerances stay"
        ),
        "--drop-edits": flag(
            "with --replace: remove what was edited in the case after it was written (default: kept where the session has the same there)"
        ),
        "--otherwise": option(
            "what to do if the script has no answer; overrides the script's own setting",
            choices=get_args(Otherwise),
        ),
        "--record": file_option("write the played session as a script, including the answers you gave"),
        "--strict": flag(
            "fail if a line of the script was not used, or was used out of order, or a response has a blank or an uncertain value"
        ),
        "--no-replay": flag(
            "do not replay the written case. By default it is replayed immediately: times, ids and random values from the agent's "
            "own code get a tolerance in the recorded environment, and the output lists them"
        ),
        **PYTHON,
        "--quiet": flag("show no steps"),
        **RESULT,
        "--verbose": flag("show warnings of ADK and of the agent"),
    },
    work=_run,
    told=(UsageError, UnreadableSetError),
    logged=logging.CRITICAL,
    interrupted=WORDS,
)
