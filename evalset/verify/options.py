"""The options of `python -m evalset verify`; importing this imports no ADK."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from evalset.verify.criteria import DEFAULT_RESPONSE, Match

CODES = (
    "Exit codes: 0 all cases passed; 1 some failed; 2 some could not be run and none failed, or bad usage, or a file that "
    "cannot be read; 130 interrupted."
)
_SKIPPED = ("trajectory", "response", "state", "responses")

_MODELS = """Who answers for the agents' models. `real`: they do. `recorded`: the recording, which needs no key and is the same
every time, and shows what changed in the tools, the callbacks and the agents' structure, but not in their prompts. `auto`, the
default: the recording where a model of the agent cannot be asked from here (its key is not set, for one) and the case holds
recorded turns, and otherwise the models themselves. What was used stands in the output."""


def parser(prog: str = "python -m evalset verify") -> argparse.ArgumentParser:
    """Make the parser of the options behind `verify`; `prog` is what started it."""
    made = argparse.ArgumentParser(
        prog=prog,
        description="Replays the cases of an eval set with what was recorded beside it, so that no real tool runs, and compares "
        "each with its golden: the calls and the final responses with ADK's own evaluators, the session's final state, and the "
        "tool responses that the eval set holds. Says of each case that fails where it first goes another way, and why.",
        epilog=CODES,
        allow_abbrev=False,
    )
    made.add_argument("set", type=Path, metavar="SET", help="the eval set")
    _add_agents(made)
    made.add_argument(
        "--environment",
        type=Path,
        metavar="FILE",
        help="what was recorded; by default the file beside the set",
    )
    made.add_argument(
        "--case", action="append", default=[], metavar="ID", help="verify this case alone; may be repeated"
    )
    _add_ways(made)
    _add_comparison(made)
    _add_output(made)
    return made


def _add_agents(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--agents-dir",
        type=Path,
        metavar="DIR",
        help="a folder of agents, or of one; by default the one that the set lies in, or the demo agents",
    )
    parser.add_argument(
        "--agent",
        metavar="AGENT",
        help="the agent of all cases, in place of the one that each names: a folder, a file of configs (each with #name), or a "
        "demo agent",
    )
    parser.add_argument(
        "--rename-agent",
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="an agent, or its app, was renamed since the recording; may be repeated. The files stay as they are: "
        "`doctor --rename-agent` renames it there",
    )


def _add_ways(parser: argparse.ArgumentParser) -> None:
    runs = "replay each case K times: it passes if all do (pass^K)"
    parser.add_argument("--runs", type=_count, default=1, metavar="K", help=runs)
    parser.add_argument("--models", choices=("auto", "real", "recorded"), default="auto", help=_MODELS)
    parser.add_argument(
        "--unrecorded",
        choices=("fail", "rules", "generate"),
        default="fail",
        help="what becomes of a call that was not recorded: it fails (the default), or the case's rules answer it, or else an "
        "offline draft",
    )
    parser.add_argument(
        "--latencies",
        action="store_true",
        help="let each tool take as long as it did when it was recorded; how long a person took is not waited for",
    )
    parser.add_argument(
        "--at-once",
        type=_count,
        default=4,
        metavar="N",
        help="how many cases are replayed at a time; 4 by default",
    )
    parser.add_argument(
        "--processes",
        type=_count,
        metavar="N",
        help="in how many processes; by default one for each core, where there are cases enough (on Linux alone)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=300.0,
        metavar="SECONDS",
        help="the most that a run may take; 300 by default",
    )


def _add_comparison(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        type=Path,
        metavar="EVALCONFIG",
        help="take the criteria of an `EvalConfig`: the tool trajectory, ADK's or ours, the response match, and metrics of one's own. "
        "One that asks a judge is skipped, and named. The options below stand above it",
    )
    parser.add_argument(
        "--match",
        choices=get_args(Match),
        help="ADK's match type of the calls; exact by default",
    )
    parser.add_argument("--ignore-args", action="store_true", help="let the arguments of calls be any")
    parser.add_argument(
        "--exactly", action="store_true", help="heed no tolerances of the recorded environment"
    )
    parser.add_argument(
        "--response",
        type=_share,
        metavar="SCORE",
        help=f"the least score of the final responses (ROUGE-1; {DEFAULT_RESPONSE} by default). Without google-adk[eval] the "
        "words in common are counted instead, and the check is named response_word_overlap",
    )
    parser.add_argument(
        "--skip", action="append", default=[], choices=_SKIPPED, help="leave a check out; may be repeated"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--propose-tolerances",
        action="store_true",
        help="propose, from several --runs in which arguments may be any, what may differ and how far; and, for what varies by itself "
        "(a time, an id, a random value), from one",
    )
    parser.add_argument(
        "--keep-tolerances",
        action="store_true",
        help="propose them, and keep them in the recorded environment",
    )
    parser.add_argument(
        "--write-eval-config",
        type=Path,
        metavar="FILE",
        help="write the `EvalConfig` with which plain `adk eval` compares in the same way, tolerances too",
    )
    parser.add_argument("--json", action="store_true", help="write the results as one JSON object")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the results as JUnit XML, too")
    parser.add_argument(
        "--csv", type=Path, metavar="FILE", help="write the results as CSV, a line for each run, too"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--verbose", action="store_true", help="show the warnings of ADK and of the agent")


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def _share(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return number
