"""The command `python -m evalset verify`: replays the cases of an eval set without their world, and compares them with their goldens."""

from __future__ import annotations

import argparse
import json
import logging
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, get_args

from evalset.cli.command_frame import (
    ENVIRONMENT,
    LATENCIES,
    QUIET,
    RESULTS,
    Options,
    ShellCommand,
    agent_and_file,
    file_option,
    flag,
    option,
    repeated,
    unrecorded,
    with_options,
    write_output,
)
from evalset.cli.terminal_output import INTERRUPTED, ProgressLine, output, plain
from evalset.files.datasets import eval_folders
from evalset.files.eval_names import files_below, renames_from
from evalset.recorded.tolerances import Tolerance
from evalset.replay.model_choice import BY_HAND
from evalset.verify.results import VerifyError
from evalset.verify.verify_request import DEFAULT_RESPONSE, Criteria, Match

if TYPE_CHECKING:
    from evalset.replay.model_choice import Models
    from evalset.verify.results import Verification
    from evalset.verify.verify_request import VerifyProgress
    from simulator.kernel.agent_kernels import KernelExecutor


_MOST_FILES, _MOST_SETS = 10_000, 8
"""So many files are looked at, and so many sets are named, where a set was expected."""


def _run(given: argparse.Namespace, progress: ProgressLine) -> int:
    if given.set is None:
        agent = given.agent or ""
        near = _near_sets(Path(agent.partition("#")[0]), agent)
        raise VerifyError(f"{f'--agent {agent}' if agent else 'verify'} needs an eval set. {near}")
    if given.set.is_dir() or not (given.set.exists() or given.set.suffix):
        raise VerifyError(f"{given.set} is not an eval set. {_near_sets(given.set)}")
    with _stopped_by_interrupt(progress) as stop:
        return _carried_out(given, progress, stop)


def _near_sets(named: Path, agent: str = "") -> str:
    """Name the command for each set in a folder and next to it; those of an agent of this name come first."""
    homes = [named, *eval_folders(named.absolute())] if named.is_dir() else [Path()]
    below = islice((each for home in homes for each in files_below(home)), _MOST_FILES)
    found = dict.fromkeys(each for each in below if each.name.endswith(".evalset.json"))
    sets = sorted(found, key=lambda each: named.name not in each.parts)
    with_agent = f" --agent {shlex.quote(agent)}" if agent else ""
    names = (shlex.quote(str(each)) for each in sets[:_MOST_SETS])
    commands = ", ".join(f"`golden-trace verify {name}{with_agent}`" for name in names)
    return f"These sets are near: {commands}" if sets else f"No *.evalset.json is in {homes[0].absolute()}"


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
    from evalset.result_tables import table_csv  # noqa: PLC0415 - `--help` waits for nothing
    from evalset.verify.report import as_json, junit, report  # noqa: PLC0415 - imports ADK: what cannot be verified is told before

    progress.clear()
    if given.write_eval_config is not None:
        _write_eval_config(given, verification.criteria)
    if given.junit is not None:
        write_output("--junit", given.junit, junit(verification), "JUnit")
    if given.csv is not None:
        write_output("--csv", given.csv, table_csv(verification).encode(), "CSV")
    if given.save:
        progress.say(f"kept: {_saved(given, verification)}")
    proposed = _proposed(given, verification, progress)
    write: Callable[[Verification, Mapping[str, Sequence[Tolerance]]], str] = (
        as_json if given.json else report
    )
    text = write(verification, proposed)
    output().write(text if given.json else plain(text))
    return verification.exit_code


def _verified(given: argparse.Namespace, progress: ProgressLine, stop: threading.Event) -> Verification:
    """Verify in as many kernels as pay; in this process only where one would do, and the models need the network anyway."""
    from evalset.verify.verify_run import (  # noqa: PLC0415 - as above
        chosen_ids,
        interpreter_for,
        workers_for,
    )

    python = interpreter_for(given.set, given.agent, given.agents_dir, given.python or "")
    workers = given.processes or workers_for(len(chosen_ids(given.set, given.case)) * given.runs)
    if python is None and workers == 1 and given.models == "real":
        return _verified_by(given, criteria_from(given), progress, stop)
    with _kernels(python or Path(sys.executable), workers, given.models) as executor:
        criteria = criteria_from(given, executor, workers)
        return _verified_by(given, criteria, progress, stop, processes=workers, executor=executor)


@contextmanager
def _kernels(python: Path, workers: int, models: Models) -> Iterator[KernelExecutor]:
    from evalset.verify.verify_run import kernels_with  # noqa: PLC0415 - `--help` waits for nothing

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
    try:
        return renames_from(words)
    except ValueError as error:
        raise VerifyError(str(error)) from error


def _proposed(
    given: argparse.Namespace, verification: Verification, progress: ProgressLine
) -> Mapping[str, Sequence[Tolerance]]:
    """Propose tolerances for each case that has some, and keep them, as the options say."""
    if not (given.propose_tolerances or given.keep_tolerances):
        return {}
    from evalset.verify import proposed_tolerances as of_runs  # noqa: PLC0415 - imports ADK

    proposed: dict[str, Sequence[Tolerance]] = {}
    for case in verification.cases:
        found = of_runs.propose_tolerances(case.runs)
        without = of_runs.lacking(found, case.golden)
        if without:
            progress.say(f"{case.eval_id}: {of_runs.lacking_words(without)}")
        if helping := [each for each in found if each not in without]:
            proposed[case.eval_id] = helping
    if given.keep_tolerances:
        for eval_id, tolerances in proposed.items():
            of_runs.add_tolerances(given.set, eval_id, tolerances, given.environment)
    return proposed


def _write_eval_config(given: argparse.Namespace, criteria: Criteria) -> None:
    from evalset.verify.metric import eval_config  # noqa: PLC0415 - imports ADK

    config = eval_config(given.set, environment=given.environment, criteria=criteria)
    text = json.dumps(config, indent=2)
    write_output("--write-eval-config", given.write_eval_config, text.encode(), "EvalConfig")


def _saved(given: argparse.Namespace, verification: Verification) -> Path:
    from evalset.kept_runs import keep_run, kept_run_of  # noqa: PLC0415 - `--help` waits for nothing

    run = kept_run_of(verification, time.time(), is_partial=bool(given.case))
    return keep_run(given.set, run)


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
        from evalset.verify.metric import criteria_of  # noqa: PLC0415 - imports ADK

        return criteria_of(config)
    from evalset.verify.verify_run import configured_by  # noqa: PLC0415 - `--help` waits for nothing
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
            os._exit(INTERRUPTED)
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


_REPLAY: Options = {
    "--agents-dir": file_option(
        "a folder of one or more agents (default: the folder that contains the set, or the demo agents)",
        "DIR",
    ),
    "--agent": option(
        "the agent of all cases, instead of the one that each case names: a folder, a file of configs (with #name if there are "
        "several), or a demo agent",
        "AGENT",
    ),
    "--python": option(
        "the Python interpreter that runs the agents in separate processes: a file, or the folder of an environment (default: "
        "GOLDEN_TRACE_PYTHON, or the environment of their project if it has one)",
        "PATH",
    ),
    "--rename-agent": option(
        "the new name of an agent, or of its app, that was renamed after the recording; repeatable. The files are not changed: "
        "use `doctor --rename-agent` for that",
        "OLD=NEW",
        action="append",
        default=[],
    ),
}
_WAYS: Options = {
    "--runs": option(
        "replay each case K times; it passes if all runs pass (pass^K)", "K", type=_count, default=1
    ),
    "--models": option(_MODELS, choices=("auto", "real", "recorded"), default=BY_HAND),
    **unrecorded(),
    **LATENCIES,
    "--at-once": option(
        "how many cases are replayed at the same time (default: 4)", "N", type=_count, default=4
    ),
    "--processes": option(
        "how many processes to use (default: one for each core, if there are enough cases)", "N", type=_count
    ),
    "--timeout": option("the time limit of a run (default: 300)", "SECONDS", type=float, default=300.0),
    "--config": file_option(
        "use the criteria of an `EvalConfig`: the tool trajectory (ADK's or ours), the response match, and your own metrics. A "
        "criterion that needs a judge model is skipped and listed. The options below override it",
        "EVALCONFIG",
    ),
    "--match": option("ADK's match type for the calls (default: exact)", choices=get_args(Match)),
    "--ignore-args": flag("accept any arguments of calls"),
    "--exactly": flag("ignore the tolerances of the recorded environment"),
    "--response": option(
        f"the minimum score of final responses (ROUGE-1; default: {DEFAULT_RESPONSE}). Without google-adk[eval] it counts "
        "common words instead, and the check is named response_word_overlap. With the default or more, the words of responses that "
        "the agent's code wrote are compared, too",
        "SCORE",
        type=_share,
    ),
    "--skip": repeated("skip a check", choices=_SKIPPED),
}


def replay_parser(prog: str) -> argparse.ArgumentParser:
    """Make the parser of the options that say how cases are replayed and compared, without the set and the output."""
    return with_options(
        argparse.ArgumentParser(prog=prog, add_help=False, allow_abbrev=False), {**_REPLAY, **_WAYS}
    )


main = ShellCommand(
    prog="python -m evalset verify",
    about="Replay the cases of an eval set with its recorded tool responses, so that no real tool runs, and compare each case "
    "with its golden: calls and final responses with ADK's own evaluators, the final session state, and the tool responses "
    "in the eval set. For each failed case, show the first divergence and its cause.",
    codes=CODES,
    options={
        "set": file_option("the eval set", "SET", nargs="?"),
        "next_to_set": option("the same as --agent; may also be before SET", "AGENT", nargs="?"),
        **_REPLAY,
        **ENVIRONMENT,
        "--case": repeated("verify only this case", "ID"),
        **_WAYS,
        "--propose-tolerances": flag(
            "compare several --runs, ignoring arguments, and propose which values may differ and by how much; for values that "
            "always change (a time, an id, a random value), one run is enough"
        ),
        "--keep-tolerances": flag("propose tolerances and add them to the recorded environment"),
        "--write-eval-config": file_option(
            "write an `EvalConfig` with which plain `adk eval` compares in the same way, including the tolerances"
        ),
        **RESULTS,
        "--csv": file_option("also write the results to a CSV file, one row for each run"),
        "--save": flag(
            "also keep the results next to the set, in .golden-trace/runs, for `golden-trace compare` and the page"
        ),
        **QUIET,
        "--verbose": flag("show warnings of ADK and of the agent"),
    },
    work=_run,
    read=_read,
    logged=logging.CRITICAL,
)
