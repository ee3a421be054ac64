"""The command `python -m evalset verify`: replays the cases of an eval set without their world, and compares them with their goldens."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, get_args

from evalset.verify.criteria import DEFAULT_RESPONSE, Criteria, Match
from evalset.verify.errors import VerifyError

if TYPE_CHECKING:
    from evalset.progress import Progress
    from evalset.verify.results import VerifyProgress

CODES = (
    "Exit codes: 0 all cases passed; 1 some failed; 2 some could not be run and none failed, or bad usage, or a file that "
    "cannot be read; 130 interrupted."
)
_BAD, _INTERRUPTED = 2, 130
_SKIPPED = ("trajectory", "response", "state", "responses")

_MODELS = """Who answers for the agents' models. `real`: they do. `recorded`: the recording, which needs no key and is the same
every time, and shows what changed in the tools, the callbacks and the agents' structure, but not in their prompts. `auto`, the
default: the recording where a model of the agent cannot be asked from here (its key is not set, for one) and the case holds
recorded turns, and otherwise the models themselves. What was used stands in the output."""


def main(argv: Sequence[str]) -> int:
    """Run the command, and give its exit code.

    Args:
        argv: The arguments behind `verify`.
    """
    given = _parser().parse_args(argv)
    from evalset.progress import Progress  # noqa: PLC0415 - `--help` waits for no ADK

    if not given.verbose:
        _hush()
    progress = Progress(sys.stderr, quiet=given.quiet)
    with _stopped_by_interrupt(progress) as stop:
        try:
            return _verified(given, progress, stop)
        except VerifyError as error:
            progress.say(f"error: {error}")
            return _BAD


def _verified(given: argparse.Namespace, progress: Progress, stop: threading.Event) -> int:
    from evalset.progress import plain  # noqa: PLC0415 - `--help` waits for no ADK
    from evalset.verify.junit import junit  # noqa: PLC0415 - as above
    from evalset.verify.report import as_json, report  # noqa: PLC0415 - as above
    from evalset.verify.verifying import verify  # noqa: PLC0415 - as above

    verification = verify(
        given.set,
        agent=given.agent,
        agents_dir=given.agents_dir,
        environment=given.environment,
        cases=given.case,
        runs=given.runs,
        models=given.models,
        unrecorded=given.unrecorded,
        criteria=_criteria(given),
        at_once=given.at_once,
        timeout=given.timeout,
        processes=given.processes,
        on_progress=lambda now: progress.line(_progress_words(now)),
        stop=stop,
    )
    progress.clear()
    if given.junit is not None:
        try:
            given.junit.write_bytes(junit(verification))
        except OSError as error:
            raise VerifyError(
                f"--junit: {given.junit}: cannot be written: {error.strerror or error}"
            ) from error
    sys.stdout.write(as_json(verification) if given.json else plain(report(verification)))
    return verification.exit_code


def _progress_words(now: VerifyProgress) -> str:
    return f"{now.done} of {now.total}: {'pass' if now.passed else 'FAIL'} {now.eval_id}"


def _criteria(given: argparse.Namespace) -> Criteria:
    return Criteria(
        match=given.match,
        ignore_args=given.ignore_args,
        trajectory=None if "trajectory" in given.skip else 1.0,
        response=None if "response" in given.skip else given.response,
        state="state" not in given.skip,
        responses="responses" not in given.skip,
        tolerances=not given.exactly,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m evalset verify",
        description="Replays the cases of an eval set with what was recorded beside it, so that no real tool runs, and compares "
        "each with its golden: the calls and the final responses with ADK's own evaluators, the session's final state, and the "
        "tool responses that the eval set holds. Says of each case that fails where it first goes another way, and why.",
        epilog=CODES,
        allow_abbrev=False,
    )
    parser.add_argument("set", type=Path, metavar="SET", help="the eval set")
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
        "--environment",
        type=Path,
        metavar="FILE",
        help="what was recorded; by default the file beside the set",
    )
    parser.add_argument(
        "--case", action="append", default=[], metavar="ID", help="verify this case alone; may be repeated"
    )
    _add_ways(parser)
    _add_comparison(parser)
    _add_output(parser)
    return parser


def _add_ways(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runs",
        type=_count,
        default=1,
        metavar="K",
        help="replay each case K times: it passes if all do (pass^K)",
    )
    parser.add_argument("--models", choices=("auto", "real", "recorded"), default="auto", help=_MODELS)
    parser.add_argument(
        "--unrecorded",
        choices=("fail", "rules", "generate"),
        default="fail",
        help="what becomes of a call that was not recorded: it fails (the default), or the case's rules answer it, or else an "
        "offline draft",
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
        "--match",
        choices=get_args(Match),
        default="exact",
        help="ADK's match type of the calls; exact by default",
    )
    parser.add_argument("--ignore-args", action="store_true", help="let the arguments of calls be any")
    parser.add_argument(
        "--exactly", action="store_true", help="heed no tolerances of the recorded environment"
    )
    parser.add_argument(
        "--response",
        type=_share,
        default=DEFAULT_RESPONSE,
        metavar="SCORE",
        help=f"the least score of the final responses (ROUGE-1; {DEFAULT_RESPONSE} by default). Without google-adk[eval] the "
        "words in common are counted instead, and the check is named response_word_overlap",
    )
    parser.add_argument(
        "--skip", action="append", default=[], choices=_SKIPPED, help="leave a check out; may be repeated"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="write the results as one JSON object")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the results as JUnit XML, too")
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


@contextmanager
def _stopped_by_interrupt(progress: Progress) -> Iterator[threading.Event]:
    """Let the first interrupt stop after what is known, and a second one end the process at once."""
    stop = threading.Event()

    def interrupt(_: int, __: FrameType | None) -> None:
        if stop.is_set():
            os._exit(_INTERRUPTED)
        stop.set()
        progress.say("interrupted; here is what was done by then. Interrupt again to end at once.")

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def _hush() -> None:
    """Keep ADK's warnings away from the progress line; what an agent is missing is told by its case."""
    logging.basicConfig(level=logging.CRITICAL, format="%(message)s")
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
