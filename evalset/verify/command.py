"""The command `python -m evalset verify`: replays the cases of an eval set without their world, and compares them with their goldens."""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from evalset.recorded.tolerances import Tolerance
from evalset.verify.criteria import Criteria
from evalset.verify.errors import VerifyError
from evalset.verify.options import parser

if TYPE_CHECKING:
    from evalset.progress import Progress
    from evalset.verify.results import Verification, VerifyProgress

_BAD, _INTERRUPTED = 2, 130
_SELDOM = (50_000, 20, 100)


def main(argv: Sequence[str], *, prog: str = "python -m evalset verify") -> int:
    """Run the command, and give its exit code.

    Args:
        argv: The arguments behind `verify`.
        prog: What started it, for the help.
    """
    given = parser(prog).parse_args(argv)
    from evalset.progress import Progress  # noqa: PLC0415 - `--help` waits for no ADK

    if not given.verbose:
        _hush()
    progress = Progress(sys.stderr, quiet=given.quiet)
    with _seldom_collected(), _stopped_by_interrupt(progress) as stop:
        try:
            return _carried_out(given, progress, stop)
        except VerifyError as error:
            progress.say(f"error: {error}")
            return _BAD


def _carried_out(given: argparse.Namespace, progress: Progress, stop: threading.Event) -> int:
    from evalset.progress import plain  # noqa: PLC0415 - `--help` waits for no ADK
    from evalset.tables import table_csv  # noqa: PLC0415 - as above
    from evalset.verify.junit import junit  # noqa: PLC0415 - as above
    from evalset.verify.metric import eval_config  # noqa: PLC0415 - as above
    from evalset.verify.report import as_json, report  # noqa: PLC0415 - as above

    criteria = _criteria(given)
    if given.write_eval_config is not None:
        config = eval_config(given.set, environment=given.environment, criteria=criteria)
        _write(given.write_eval_config, json.dumps(config, indent=2).encode())
    verification = _verified(given, criteria, progress, stop)
    progress.clear()
    if given.junit is not None:
        _write(given.junit, junit(verification))
    if given.csv is not None:
        _write(given.csv, table_csv(verification).encode())
    proposed = _proposed(given, verification)
    write: Callable[[Verification, Mapping[str, Sequence[Tolerance]]], str] = (
        as_json if given.json else report
    )
    text = write(verification, proposed)
    sys.stdout.write(text if given.json else plain(text))
    return verification.exit_code


def _verified(
    given: argparse.Namespace, criteria: Criteria, progress: Progress, stop: threading.Event
) -> Verification:
    from evalset.verify.verifying import verify  # noqa: PLC0415 - `--help` waits for no ADK

    return verify(
        given.set,
        agent=given.agent,
        agents_dir=given.agents_dir,
        environment=given.environment,
        cases=given.case,
        runs=given.runs,
        models=given.models,
        unrecorded=given.unrecorded,
        criteria=criteria,
        at_once=given.at_once,
        timeout=given.timeout,
        processes=given.processes,
        renamed=_renames(given.rename_agent),
        on_progress=lambda now: progress.line(_progress_words(now)),
        stop=stop,
        latencies=given.latencies,
    )


def _renames(words: list[str]) -> dict[str, str]:
    from evalset.renaming import renames_from  # noqa: PLC0415 - as above

    try:
        return renames_from(words)
    except ValueError as error:
        raise VerifyError(str(error)) from error


def _proposed(given: argparse.Namespace, verification: Verification) -> Mapping[str, Sequence[Tolerance]]:
    """Propose tolerances for each case that has some, and keep them, as the options say."""
    from evalset.verify.proposing import add_tolerances, propose_tolerances  # noqa: PLC0415 - as above

    if not (given.propose_tolerances or given.keep_tolerances):
        return {}
    found = {case.eval_id: propose_tolerances(case.runs) for case in verification.cases}
    proposed = {eval_id: tolerances for eval_id, tolerances in found.items() if tolerances}
    if given.keep_tolerances:
        for eval_id, tolerances in proposed.items():
            add_tolerances(given.set, eval_id, tolerances, given.environment)
    return proposed


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise VerifyError(f"{path}: cannot be written: {error.strerror or error}") from error


def _progress_words(now: VerifyProgress) -> str:
    return f"{now.done} of {now.total}: {'pass' if now.passed else 'FAIL'} {now.eval_id}"


def _criteria(given: argparse.Namespace) -> Criteria:
    """Take the criteria of the `EvalConfig`, and in place of each what an option says."""
    from evalset.verify.configured import criteria_of  # noqa: PLC0415 - `--help` waits for no ADK

    criteria = criteria_of(given.config) if given.config is not None else Criteria()
    said = {"match": given.match, "response": given.response, "ignore_args": given.ignore_args or None}
    changes: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    changes |= {name: None for name in ("trajectory", "response") if name in given.skip}
    changes |= {name: False for name in ("state", "responses") if name in given.skip}
    if given.propose_tolerances or given.keep_tolerances:
        changes["ignore_args"] = True
    if given.exactly:
        changes["tolerances"] = False
    return criteria.model_copy(update=changes)


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


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Let the garbage collector look seldom: a replay leaves little, and each look at all that ADK has imported takes a while."""
    before = gc.get_threshold()
    gc.set_threshold(*_SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _hush() -> None:
    """Keep ADK's warnings away from the progress line; what an agent is missing is told by its case."""
    logging.basicConfig(level=logging.CRITICAL, format="%(message)s")
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
