"""The command `python -m evalset verify`: replays the cases of an eval set without their world, and compares them with their goldens."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, get_args

from evalset.cli.agent_and_file import agent_and_file
from evalset.cli.output_files import Kind, write_output
from evalset.cli.terminal_output import output
from evalset.recorded.tolerances import Tolerance
from evalset.replay.model_choice import BY_HAND
from evalset.verify.criteria import DEFAULT_RESPONSE, Criteria, Match
from evalset.verify.errors import UnreadableSetError, VerifyError

if TYPE_CHECKING:
    from evalset.cli.progress_line import ProgressLine
    from evalset.replay.model_choice import Models
    from evalset.verify.results import Verification, VerifyProgress
    from simulator.kernel.kernel_executor import KernelExecutor


_BAD, _INTERRUPTED = 2, 130


def main(argv: Sequence[str], *, prog: str = "python -m evalset verify") -> int:
    """Run the command, and return its exit code.

    Args:
        argv: The arguments behind `verify`.
        prog: What started it, for the help.
    """
    given = _read(parser(prog), argv)
    from evalset.cli.progress_line import ProgressLine, hush  # noqa: PLC0415 - `--help` waits for no ADK

    if not given.verbose:
        hush()
    progress = ProgressLine(sys.stderr, quiet=given.quiet)
    with _stopped_by_interrupt(progress) as stop:
        try:
            return _carried_out(given, progress, stop)
        except VerifyError as error:
            advice = _doctor_advice(error.eval_set) if isinstance(error, UnreadableSetError) else ""
            progress.say(f"error: {error}{advice}")
            return _BAD


def _doctor_advice(path: Path) -> str:
    """Return a sentence to append to the error on an eval set; empty where the doctor finds nothing."""
    from evalset.doctor import examine  # noqa: PLC0415 - most files need no doctor

    found = [each for file in examine([path]).files if file.file == path for each in file.findings]
    errors = [each for each in found if each.severity == "error"]
    if not errors:
        return ""
    if all(each.mendable for each in errors):
        return f". `golden-trace doctor --fix {shlex.quote(str(path))}` fixes it"
    return f". `golden-trace doctor {shlex.quote(str(path))}` shows the details"


def _read(reader: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """Read the arguments; the agent may stand next to the set, before or after it."""
    given = reader.parse_intermixed_args(argv)
    if given.next_to_set is not None:
        if given.agent is not None:
            reader.error(f"argument AGENT: not allowed with --agent: {given.next_to_set}")
        given.agent, given.set = agent_and_file(given.next_to_set, str(given.set))
    return given


def _carried_out(given: argparse.Namespace, progress: ProgressLine, stop: threading.Event) -> int:
    verification = _verified(given, progress, stop)
    from evalset.cli.progress_line import plain  # noqa: PLC0415 - `--help` waits for nothing
    from evalset.result_tables import table_csv  # noqa: PLC0415 - as above
    from evalset.verify.report import as_json, junit, report  # noqa: PLC0415 - imports ADK: what cannot be verified is told before

    progress.clear()
    if given.write_eval_config is not None:
        _write_eval_config(given, verification.criteria)
    if given.junit is not None:
        _write(given.junit, junit(verification), "JUnit")
    if given.csv is not None:
        _write(given.csv, table_csv(verification).encode(), "CSV")
    if given.save:
        progress.say(f"kept: {_saved(given, verification)}")
    proposed = _proposed(given, verification)
    write: Callable[[Verification, Mapping[str, Sequence[Tolerance]]], str] = (
        as_json if given.json else report
    )
    text = write(verification, proposed)
    output().write(text if given.json else plain(text))
    return verification.exit_code


def _verified(given: argparse.Namespace, progress: ProgressLine, stop: threading.Event) -> Verification:
    """Verify in as many kernels as pay; in this process only where one would do, and the models need the network anyway."""
    from evalset.verify.verify_workers import interpreter_for, workers_for  # noqa: PLC0415 - `--help` waits for nothing

    python = interpreter_for(given.set, given.agent, given.agents_dir, given.python or "")
    workers = given.processes or workers_for(len(_chosen_ids(given)) * given.runs)
    if python is None and workers == 1 and given.models == "real":
        return _verified_by(given, criteria_from(given), progress, stop)
    with _kernels(python or Path(sys.executable), workers, given.models) as executor:
        criteria = criteria_from(given, executor, workers)
        return _verified_by(given, criteria, progress, stop, processes=workers, executor=executor)


def _chosen_ids(given: argparse.Namespace) -> list[str]:
    from evalset.verify.verify_run import chosen_ids  # noqa: PLC0415 - `--help` waits for nothing

    return chosen_ids(given.set, given.case)


@contextmanager
def _kernels(python: Path, workers: int, models: Models) -> Iterator[KernelExecutor]:
    from evalset.verify.verify_workers import kernels_with  # noqa: PLC0415 - `--help` waits for nothing

    executor = kernels_with(python, workers, models)
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
        renamed=renames_of(given.rename_agent),
        on_progress=lambda now: progress.line(_progress_words(now)),
        stop=stop,
        latencies=given.latencies,
    )


def renames_of(words: list[str]) -> dict[str, str]:
    """Return the new names of agents by their old ones, of words like `old=new`.

    Raises:
        VerifyError: A word is none.
    """
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
    _write(given.write_eval_config, json.dumps(config, indent=2).encode(), "EvalConfig")


def _saved(given: argparse.Namespace, verification: Verification) -> Path:
    from evalset.kept_runs.run_files import KeptRunError, keep_run, kept_run_of  # noqa: PLC0415 - `--help` waits for nothing

    run = kept_run_of(verification, time.time(), is_partial=bool(given.case))
    try:
        return keep_run(given.set, run)
    except KeptRunError as error:
        raise VerifyError(str(error)) from error


def _write(path: Path, content: bytes, kind: Kind) -> None:
    try:
        write_output(path, content, kind)
    except OSError as error:
        raise VerifyError(f"{path}: cannot be written: {error.strerror or error}") from error


_DONE_WORDS = {True: "pass", False: "FAIL", None: "skip"}


def _progress_words(now: VerifyProgress) -> str:
    word = _DONE_WORDS[now.passed] if now.could_run else "ERROR"
    return f"{now.done} of {now.total}: {word} {now.eval_id}"


def criteria_from(
    given: argparse.Namespace, executor: KernelExecutor | None = None, workers: int = 1
) -> Criteria:
    """Return the criteria of the `EvalConfig`, and in place of each what an option says.

    Args:
        given: What `parser` or `replay_parser` has parsed.
        executor: Its workers read the `EvalConfig`; None for this process, which imports ADK then.
        workers: How many it has.

    Raises:
        VerifyError: The `EvalConfig` cannot be read, or is none.
    """
    criteria = Criteria()
    if given.config is not None:
        criteria = _configured(given.config, executor, workers)
    said = {"match": given.match, "response": given.response, "ignore_args": given.ignore_args or None}
    changes: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    changes |= {name: None for name in ("trajectory", "response") if name in given.skip}
    changes |= {name: False for name in ("state", "responses") if name in given.skip}
    if getattr(given, "propose_tolerances", False) or getattr(given, "keep_tolerances", False):
        # One run is compared in full: what its own replays find to vary is proposed where it fails.
        changes["ignore_args"] = given.ignore_args or given.runs > 1
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
        progress.say("interrupted; showing the results so far. Interrupt again to quit immediately.")

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


# The options of `python -m evalset verify`; importing this imports no ADK.


CODES = (
    "Exit codes: 0 all cases passed, or are scenarios, which are skipped; 1 some failed; 2 some could not be run and none failed, or bad usage, or a file that "
    "cannot be read; 130 interrupted."
)
_SKIPPED = ("trajectory", "response", "state", "responses")

_MODELS = (
    "what answers model calls. `real`: the agents' models. `recorded`: the recording, which needs no key and is the same "
    "on every run. It shows changes in tools, callbacks and agent structure, but not in prompts. `auto` (default): the "
    "recording if a model is not reachable (for example, its key is not set) and the case has recorded model turns; "
    "otherwise the agents' models. The output says which was used."
)


def parser(prog: str = "python -m evalset verify") -> argparse.ArgumentParser:
    """Make the parser of the options behind `verify`; `prog` is what started it."""
    made = argparse.ArgumentParser(
        prog=prog,
        description="Replay the cases of an eval set with its recorded tool responses, so that no real tool runs, and compare each case "
        "with its golden: calls and final responses with ADK's own evaluators, the final session state, and the tool responses "
        "in the eval set. For each failed case, show the first divergence and its cause.",
        epilog=CODES,
        allow_abbrev=False,
    )
    made.add_argument("set", type=Path, metavar="SET", help="the eval set")
    made.add_argument(
        "next_to_set", nargs="?", metavar="AGENT", help="the same as --agent; may also be before SET"
    )
    _add_agents(made)
    made.add_argument(
        "--environment",
        type=Path,
        metavar="FILE",
        help="the recorded environment (default: the file next to the set)",
    )
    made.add_argument(
        "--case", action="append", default=[], metavar="ID", help="verify only this case; repeatable"
    )
    _add_ways(made)
    _add_comparison(made)
    _add_output(made)
    return made


def replay_parser(prog: str) -> argparse.ArgumentParser:
    """Make the parser of the options that say how cases are replayed and compared, without the set and the output."""
    made = argparse.ArgumentParser(prog=prog, add_help=False, allow_abbrev=False)
    _add_agents(made)
    _add_ways(made)
    _add_comparison(made)
    return made


def _add_agents(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--agents-dir",
        type=Path,
        metavar="DIR",
        help="a folder of one or more agents (default: the folder that contains the set, or the demo agents)",
    )
    parser.add_argument(
        "--agent",
        metavar="AGENT",
        help="the agent of all cases, instead of the one that each case names: a folder, a file of configs (with #name if there are "
        "several), or a demo agent",
    )
    parser.add_argument(
        "--python",
        metavar="PATH",
        help="the Python interpreter that runs the agents in separate processes: a file, or the folder of an environment (default: "
        "GOLDEN_TRACE_PYTHON, or the environment of their project if it has one)",
    )
    parser.add_argument(
        "--rename-agent",
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="the new name of an agent, or of its app, that was renamed after the recording; repeatable. The files are not changed: "
        "use `doctor --rename-agent` for that",
    )


def _add_ways(parser: argparse.ArgumentParser) -> None:
    runs = "replay each case K times; it passes if all runs pass (pass^K)"
    parser.add_argument("--runs", type=_count, default=1, metavar="K", help=runs)
    parser.add_argument("--models", choices=("auto", "real", "recorded"), default=BY_HAND, help=_MODELS)
    parser.add_argument(
        "--unrecorded",
        choices=("fail", "rules", "generate"),
        default="fail",
        help="what answers a call that was not recorded: nothing, it fails (`fail`, default); the case's rules (`rules`); or the "
        "rules, then a generated draft (`generate`)",
    )
    parser.add_argument(
        "--latencies",
        action="store_true",
        help="delay each tool response as recorded; the time a person took to answer is not included",
    )
    parser.add_argument(
        "--at-once",
        type=_count,
        default=4,
        metavar="N",
        help="how many cases are replayed at the same time (default: 4)",
    )
    parser.add_argument(
        "--processes",
        type=_count,
        metavar="N",
        help="how many processes to use (default: one for each core, if there are enough cases)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=300.0,
        metavar="SECONDS",
        help="the time limit of a run (default: 300)",
    )


def _add_comparison(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        type=Path,
        metavar="EVALCONFIG",
        help="use the criteria of an `EvalConfig`: the tool trajectory (ADK's or ours), the response match, and your own metrics. A "
        "criterion that needs a judge model is skipped and listed. The options below override it",
    )
    parser.add_argument(
        "--match",
        choices=get_args(Match),
        help="ADK's match type for the calls (default: exact)",
    )
    parser.add_argument("--ignore-args", action="store_true", help="accept any arguments of calls")
    parser.add_argument(
        "--exactly", action="store_true", help="ignore the tolerances of the recorded environment"
    )
    parser.add_argument(
        "--response",
        type=_share,
        metavar="SCORE",
        help=f"the minimum score of final responses (ROUGE-1; default: {DEFAULT_RESPONSE}). Without google-adk[eval] it counts "
        "common words instead, and the check is named response_word_overlap. With the default or more, the words of responses that "
        "the agent's code wrote are compared, too",
    )
    parser.add_argument(
        "--skip", action="append", default=[], choices=_SKIPPED, help="skip a check; repeatable"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--propose-tolerances",
        action="store_true",
        help="compare several --runs, ignoring arguments, and propose which values may differ and by how much; for values that "
        "always change (a time, an id, a random value), one run is enough",
    )
    parser.add_argument(
        "--keep-tolerances",
        action="store_true",
        help="propose tolerances and add them to the recorded environment",
    )
    parser.add_argument(
        "--write-eval-config",
        type=Path,
        metavar="FILE",
        help="write an `EvalConfig` with which plain `adk eval` compares in the same way, including the tolerances",
    )
    parser.add_argument("--json", action="store_true", help="write the results as one JSON object")
    parser.add_argument(
        "--junit", type=Path, metavar="FILE", help="also write the results to a JUnit XML file"
    )
    parser.add_argument(
        "--csv", type=Path, metavar="FILE", help="also write the results to a CSV file, one row for each run"
    )
    parser.add_argument(
        "--save",
        action="store_true",
        help="also keep the results next to the set, in .golden-trace/runs, for `golden-trace compare` and the page",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--verbose", action="store_true", help="show warnings of ADK and of the agent")


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
