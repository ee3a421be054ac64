"""The command `python -m evalset verify`: replays the cases of an eval set without their world, and compares them with their goldens."""

from __future__ import annotations

import argparse
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
from typing import TYPE_CHECKING, Any, get_args

from evalset.recorded.tolerances import Tolerance
from evalset.verify.criteria import DEFAULT_RESPONSE, Criteria, Match
from evalset.verify.errors import VerifyError

if TYPE_CHECKING:
    from evalset.cli.progress_line import ProgressLine
    from evalset.verify.results import Verification, VerifyProgress
    from simulator.kernel.kernel_executor import KernelExecutor


_BAD, _INTERRUPTED = 2, 130


def main(argv: Sequence[str], *, prog: str = "python -m evalset verify") -> int:
    """Run the command, and return its exit code.

    Args:
        argv: The arguments behind `verify`.
        prog: What started it, for the help.
    """
    given = parser(prog).parse_args(argv)
    from evalset.cli.progress_line import ProgressLine  # noqa: PLC0415 - `--help` waits for no ADK

    if not given.verbose:
        _hush()
    progress = ProgressLine(sys.stderr, quiet=given.quiet)
    with _stopped_by_interrupt(progress) as stop:
        try:
            return _carried_out(given, progress, stop)
        except VerifyError as error:
            progress.say(f"error: {error}")
            return _BAD


def _carried_out(given: argparse.Namespace, progress: ProgressLine, stop: threading.Event) -> int:
    from evalset.cli.progress_line import plain  # noqa: PLC0415 - `--help` waits for nothing
    from evalset.result_tables import table_csv  # noqa: PLC0415 - as above
    from evalset.verify.report import as_json, junit, report  # noqa: PLC0415 - as above

    verification = _verified(given, progress, stop)
    progress.clear()
    if given.write_eval_config is not None:
        _write_eval_config(given, verification.criteria)
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


def _verified(given: argparse.Namespace, progress: ProgressLine, stop: threading.Event) -> Verification:
    """Verify in this process, or in as many kernels as pay: this one imports no ADK then, while they do."""
    from evalset.verify.verify_workers import interpreter_for, workers_for  # noqa: PLC0415 - `--help` waits for nothing

    python = interpreter_for(given.set, given.agent, given.agents_dir, given.python or "")
    workers = given.processes or workers_for(len(_chosen_ids(given)) * given.runs)
    if python is None and workers == 1:
        return _verified_by(given, _criteria(given), progress, stop)
    with _kernels(python or Path(sys.executable), workers) as executor:
        criteria = _criteria(given, executor, workers)
        return _verified_by(given, criteria, progress, stop, processes=workers, executor=executor)


def _chosen_ids(given: argparse.Namespace) -> list[str]:
    from evalset.verify.verify_run import chosen_ids  # noqa: PLC0415 - `--help` waits for nothing

    return chosen_ids(given.set, given.case)


@contextmanager
def _kernels(python: Path, workers: int) -> Iterator[KernelExecutor]:
    from evalset.verify.verify_workers import kernels_with  # noqa: PLC0415 - `--help` waits for nothing

    executor = kernels_with(python, workers)
    try:
        yield executor
    finally:
        executor.shutdown(wait=False)


def _verified_by(
    given: argparse.Namespace,
    criteria: Criteria,
    progress: ProgressLine,
    stop: threading.Event,
    *,
    processes: int = 1,
    executor: KernelExecutor | None = None,
) -> Verification:
    from evalset.verify.verify_run import verify  # noqa: PLC0415 - `--help` waits for nothing

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
        processes=processes,
        executor=executor,
        renamed=_renames(given.rename_agent),
        on_progress=lambda now: progress.line(_progress_words(now)),
        stop=stop,
        latencies=given.latencies,
    )


def _renames(words: list[str]) -> dict[str, str]:
    from evalset.recorded.agent_renaming import renames_from  # noqa: PLC0415 - as above

    try:
        return renames_from(words)
    except ValueError as error:
        raise VerifyError(str(error)) from error


def _proposed(given: argparse.Namespace, verification: Verification) -> Mapping[str, Sequence[Tolerance]]:
    """Propose tolerances for each case that has some, and keep them, as the options say."""
    if not (given.propose_tolerances or given.keep_tolerances):
        return {}
    from evalset.verify.proposed_tolerances import add_tolerances, propose_tolerances  # noqa: PLC0415 - imports ADK

    found = {case.eval_id: propose_tolerances(case.runs) for case in verification.cases}
    proposed = {eval_id: tolerances for eval_id, tolerances in found.items() if tolerances}
    if given.keep_tolerances:
        for eval_id, tolerances in proposed.items():
            add_tolerances(given.set, eval_id, tolerances, given.environment)
    return proposed


def _write_eval_config(given: argparse.Namespace, criteria: Criteria) -> None:
    from evalset.verify.metric import eval_config  # noqa: PLC0415 - imports ADK

    config = eval_config(given.set, environment=given.environment, criteria=criteria)
    _write(given.write_eval_config, json.dumps(config, indent=2).encode())


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise VerifyError(f"{path}: cannot be written: {error.strerror or error}") from error


def _progress_words(now: VerifyProgress) -> str:
    return f"{now.done} of {now.total}: {'pass' if now.passed else 'FAIL'} {now.eval_id}"


def _criteria(
    given: argparse.Namespace, executor: KernelExecutor | None = None, workers: int = 1
) -> Criteria:
    """Take the criteria of the `EvalConfig`, and in place of each what an option says."""
    criteria = Criteria()
    if given.config is not None:
        criteria = _configured(given.config, executor, workers)
    said = {"match": given.match, "response": given.response, "ignore_args": given.ignore_args or None}
    changes: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    changes |= {name: None for name in ("trajectory", "response") if name in given.skip}
    changes |= {name: False for name in ("state", "responses") if name in given.skip}
    if given.propose_tolerances or given.keep_tolerances:
        changes["ignore_args"] = True
    if given.exactly:
        changes["tolerances"] = False
    return criteria.model_copy(update=changes)


def _configured(config: Path, executor: KernelExecutor | None, workers: int) -> Criteria:
    """Read an `EvalConfig` as ADK does: here, or by a worker, while all of them start."""
    if executor is None:
        from evalset.verify.config_criteria import criteria_of  # noqa: PLC0415 - imports ADK

        return criteria_of(config)
    from evalset.verify.work_sharing import configured_by  # noqa: PLC0415 - `--help` waits for nothing
    from simulator.kernel.kernel import KernelError, RefusedError  # noqa: PLC0415 - as above

    try:
        return configured_by(executor, config, workers)
    except (KernelError, RefusedError) as error:
        raise VerifyError(str(error)) from error


@contextmanager
def _stopped_by_interrupt(progress: ProgressLine) -> Iterator[threading.Event]:
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


# The options of `python -m evalset verify`; importing this imports no ADK.


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
        "--python",
        metavar="PATH",
        help="the interpreter that runs the agents, in processes of their own: a file, or an environment's folder; by default "
        "GOLDEN_TRACE_PYTHON, or that of their project, where it has an environment of its own",
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
        help="in how many processes; by default one for each core, where there are cases enough",
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
