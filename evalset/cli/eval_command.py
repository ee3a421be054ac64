"""The command `golden-trace eval`: ADK's own `adk eval` as a process, with the recorded tool responses, and no line changed in the agent."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evalset.cli.command_frame import (
    AGENT_WORDS,
    ENVIRONMENT,
    LATENCIES,
    PYTHON,
    QUIET,
    RESULTS,
    ShellCommand,
    UsageError,
    agent_and_file,
    check_readable,
    file_option,
    flag,
    option,
    repeated,
    unrecorded,
    write_output,
)
from evalset.cli.terminal_output import BAD_INPUT, INTERRUPTED, ProgressLine, output, plain
from evalset.replay.model_choice import ANSWERED_BY, BY_HAND, model_choice

if TYPE_CHECKING:
    from google.adk.evaluation.eval_case import EvalCase

    from evalset.adk_runs.eval_process import AdkEvalRun, RunView
    from evalset.adk_runs.eval_results import RunResults
    from evalset.adk_runs.run_spec import AgentPlace, EvalRunSpec
    from evalset.eval_config.config_checks import PlannedRun
    from evalset.recorded.recording import RecordedEnvironment
    from simulator.agent_config import SimulatedAgentConfig
    from simulator.base.json_values import JsonObject

PASSED, NOT_PASSED = 0, 1
CODES = (
    "Exit codes, as for `adk eval`: 0 all cases passed; 1 some did not pass, or `adk eval` ended without results; 2 bad "
    "input or usage, or a missing package; 130 interrupted."
)
_MODELS = (
    "what answers model calls. `real`: the agent's models. `recorded`: the recording, which needs no key. `auto` "
    "(default): the recording if a model is not reachable (for example, its key is not set) and all cases have recorded "
    "model turns; otherwise the agent's models. The output says which was used."
)
_LOOK_SECONDS = 0.2
_TAIL = 15
_REAL_TOOLS = (
    "warning: the agent's real tools run, once for each case, with all their side effects. A case passes only if they "
    "respond as they did when it was recorded."
)


class _Ready(NamedTuple):
    """What is run, in a line who answers for tools and models, without which packages the agent was loaded, and whether the recorded models could answer in the place of its own."""

    spec: EvalRunSpec
    about: str
    absent: str
    is_replayable: bool


def _run(given: argparse.Namespace, progress: ProgressLine) -> int:
    given.agent, given.set = agent_and_file(given.agent, str(given.set))
    check_readable(given.set)
    _check_installed()
    ready = _ready(given)
    if given.real_tools:
        progress.say(_REAL_TOOLS)
    return _evaluated(given, ready, progress)


def _check_installed() -> None:
    from evalset.adk_runs.installed import install_command, missing  # noqa: PLC0415 - `--help` waits for no ADK

    if lacking := missing():
        raise UsageError(
            f"`adk eval` needs packages that are not installed here: {', '.join(lacking)}. Install them:\n    "
            f"{install_command()}\n`golden-trace verify` replays the set without them."
        )


def _ready(given: argparse.Namespace) -> _Ready:
    """Read what was asked for, and check it before a process is started.

    Raises:
        ValueError: Something of it cannot be used.
    """
    from evalset.adk_runs.run_spec import EvalRunSpec, named_place  # noqa: PLC0415 - as above
    from evalset.files.eval_names import no_case  # noqa: PLC0415 - as above
    from evalset.verify.cases_to_verify import read_eval_set  # noqa: PLC0415 - as above
    from simulator.agents.agent_settings import interpreter_named  # noqa: PLC0415 - as above
    from simulator.agents.load_failure import absent_words, without_absent_packages  # noqa: PLC0415 - as above

    held = read_eval_set(given.set)
    known = [case.eval_id for case in held]
    if unknown := sorted(set(given.case) - set(known)):
        raise UsageError(f"--case: {no_case(given.set, unknown[0], known)}")
    cases = [each for each in held if not given.case or each.eval_id in given.case]
    may_do_without = given.models != "real" and not given.real_tools
    with without_absent_packages() if may_do_without else nullcontext():
        place, config = named_place(given.agent, interpreter_named(given.python))
    planned = _planned(given, config, cases)
    models, why = _models(given, config, planned)
    spec = EvalRunSpec(
        eval_set=given.set.absolute(),
        agent=place,
        cases=tuple(planned.cases) if given.case else (),
        config=planned.config,
        environment=None if planned.recorded is None else planned.recording,
        models=models,
        unrecorded=given.unrecorded,
        latencies=given.latencies,
        patience=given.timeout,
        history=_history(place, config, given.set),
    )
    about = f"{config.name}: {_answering(planned)}, {why}"
    is_replayable = models == "real" and planned.recorded is not None and not _lacking(planned)
    return _Ready(spec, about, absent_words(config.absent), is_replayable)


def _planned(
    given: argparse.Namespace, config: SimulatedAgentConfig, cases: Sequence[EvalCase]
) -> PlannedRun:
    """Gather what a run needs.

    Raises:
        ValueError: It lacks something.
    """
    from evalset.eval_config.config_checks import PlannedRun, Remedies, refusal  # noqa: PLC0415 - as above
    from simulator.kernel.kernel_agent import model_problem  # noqa: PLC0415 - as above
    from simulator.runtime.models.reachability import model_reachability  # noqa: PLC0415 - as above

    path, recorded = _environment(given)
    chosen = [case.eval_id for case in cases]
    scenarios = [case.eval_id for case in cases if case.conversation_scenario is not None]
    planned = PlannedRun(
        cases=chosen,
        scenarios=scenarios,
        recording=path,
        recorded=recorded,
        unrecorded=given.unrecorded,
        recorded_models=given.models == "recorded",
        config=_criteria(given, path, recorded, chosen),
        models_lack=(model_reachability(config) or "") if scenarios and given.models == "auto" else "",
    )
    remedies = Remedies(
        answers="Name a recording with --environment, evaluate other cases with --case, generate responses with --unrecorded generate, or run the "
        "agent's real tools with --real-tools",
        models="Use --models real",
        criteria="Name a file of criteria with --config",
    )
    if why := refusal(planned, remedies, partial(model_problem, config=config)):
        raise UsageError(why)
    return planned


def _answering(run: PlannedRun) -> str:
    """Say what answers the tools."""
    if run.recorded is None:
        return "real tools"
    if not run.recording.is_file():
        return "generated tool responses"
    is_enough = all(each in run.recorded.cases for each in run.cases)
    generated = "" if is_enough or run.unrecorded != "generate" else ", otherwise generated"
    return f"tool responses from {run.recording.name}{generated}"


def _environment(given: argparse.Namespace) -> tuple[Path, RecordedEnvironment | None]:
    """Return the file that answers for the tools, and what it holds; None where the real tools run."""
    from evalset.recorded.recording_files import recording_of  # noqa: PLC0415 - as above
    from evalset.verify.cases_to_verify import read_recorded  # noqa: PLC0415 - as above

    path: Path = (given.environment or recording_of(given.set)).absolute()
    if given.environment is not None and not path.is_file():
        raise UsageError(f"--environment: no such file: {path}")
    return path, None if given.real_tools else read_recorded(path)


def _lacking(planned: PlannedRun) -> list[str]:
    """Return the cases whose models the recording does not answer for."""
    from evalset.recorded.recorded_turns import needs_no_model  # noqa: PLC0415 - as above

    recorded = planned.recorded.cases if planned.recorded else {}
    return [each for each in planned.cases if each not in recorded or not needs_no_model(recorded[each])]


def _models(given: argparse.Namespace, config: SimulatedAgentConfig, planned: PlannedRun) -> tuple[str, str]:
    """Decide who answers for the models, and say it."""
    from evalset.recorded.recorded_turns import written_turns  # noqa: PLC0415 - as above
    from evalset.verify.results import NO_MODEL_TURNS  # noqa: PLC0415 - as above
    from simulator.agents.load_failure import absent_words  # noqa: PLC0415 - as above
    from simulator.runtime.models.reachability import model_reachability  # noqa: PLC0415 - as above

    recorded = planned.recorded
    if recorded is None:
        if given.models == "recorded":
            raise UsageError("--models recorded needs the recording, which --real-tools does not use")
        return "real", ANSWERED_BY["real"]
    lacking = _lacking(planned)
    if given.models == "recorded" and lacking:
        raise UsageError(f"{lacking[0]}: {NO_MODEL_TURNS}")
    reason = None
    if given.models == "auto":
        reason = absent_words(config.absent) or model_reachability(config)
    if config.absent and lacking:
        raise UsageError(f"{lacking[0]}: {reason}. {NO_MODEL_TURNS}")
    choice = model_choice(given.models, reason, is_recorded=not lacking)
    if choice is not None and given.models == "auto" and not reason:
        found = ((each, recorded.cases.get(each)) for each in planned.cases)
        written = next((eval_id for eval_id, case in found if case and written_turns(case)), "")
        more = (
            f"; a person or a script wrote moves of {written}, and --models recorded replays those"
            if written
            else ""
        )
        choice = choice._replace(why=f"{choice.why}{more}")
    if choice is not None:
        return choice.players, choice.words
    return "real", f"{ANSWERED_BY['real']} (not all cases have recorded model turns, although {reason})"


def _criteria(
    given: argparse.Namespace,
    environment: Path,
    recorded: RecordedEnvironment | None,
    chosen: Sequence[str],
) -> JsonObject:
    """Read the criteria; where none are given, take ADK's own, with the tolerances of the recording where it has some."""
    from evalset.eval_config.config_checks import check  # noqa: PLC0415 - as above
    from evalset.eval_config.config_edits import (  # noqa: PLC0415 - as above
        config_of,
        load,
        read_document,
    )
    from evalset.verify.metric import usual_config  # noqa: PLC0415 - as above

    path: Path = given.config or config_of(given.set)
    text = load(path)
    if text is None:
        if given.config is not None:
            raise UsageError(f"--config: no such file: {path}")
        return usual_config(given.set, environment, recorded, chosen)
    try:
        document = read_document(text.removeprefix("\ufeff"))
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    if flaws := [flaw for flaw in check(document) if flaw.severity == "error"]:
        raise UsageError("\n".join(f"{path}: {flaw.place}: {flaw.sentence}" for flaw in flaws))
    return document


def _history(place: AgentPlace, config: SimulatedAgentConfig, eval_set: Path) -> Path | None:
    """Say where the results are kept: with the agent, as `adk eval` does, where its set lies there too."""
    from evalset.adk_runs.eval_results import HISTORY  # noqa: PLC0415 - as above

    home = place.folder or config.resolve_eval_set_path().parent
    return home / HISTORY if home.resolve() in eval_set.resolve().parents else None


def _evaluated(given: argparse.Namespace, ready: _Ready, progress: ProgressLine) -> int:
    from evalset.adk_runs.eval_process import AdkEvalRun  # noqa: PLC0415 - as above

    with tempfile.TemporaryDirectory(prefix="golden-trace-eval-") as folder:
        run = AdkEvalRun(ready.spec, Path(folder))
        run.start()
        try:
            view = _waited(run, progress)
        except (KeyboardInterrupt, BrokenPipeError) as error:
            run.forget()
            if isinstance(error, BrokenPipeError):
                raise
            progress.say("interrupted; `adk eval` was stopped")
            return INTERRUPTED
        progress.clear()
        if given.verbose and run.output_file.is_file():
            sys.stderr.write(run.output_file.read_text(encoding="utf-8", errors="replace"))
        return _told(given, ready, run, view, progress)


def _waited(run: AdkEvalRun, progress: ProgressLine) -> RunView:
    shown = ""
    while True:
        view = run.wait(_LOOK_SECONDS)
        if view.is_over:
            return view
        if view.words != shown and view.state == "running":
            progress.line(view.words)
            shown = view.words


def _told(
    given: argparse.Namespace, ready: _Ready, run: AdkEvalRun, view: RunView, progress: ProgressLine
) -> int:
    """Write the outcome, and return the exit code."""
    from evalset.adk_runs.eval_results import report  # noqa: PLC0415 - as above

    if view.results is None:
        if not given.verbose:
            sys.stderr.writelines(f"{plain(line)}\n" for line in view.output.splitlines()[-_TAIL:])
        progress.say(f"error: {view.problem}")
        return NOT_PASSED if run.output_file.is_file() else BAD_INPUT
    if ready.absent and view.state != "passed":
        progress.say(f"error: {ready.absent}. Not all cases pass, and with it they may. Nothing was judged")
        return BAD_INPUT
    kept = view.kept if ready.spec.history and view.kept else None
    _write_files(given, view.results, view)
    if given.json:
        written = {
            "passed": view.results.passed,
            "total": len(view.results.cases),
            "how": ready.about,
            "models": ready.spec.models,
            "real_tools": ready.spec.environment is None,
            "network": view.network.model_dump(mode="json") if view.network else None,
            "seconds": round(view.seconds, 3),
            "results_file": str(kept) if kept else None,
            "results": view.results.model_dump(mode="json"),
        }
        output().write(json.dumps(written, ensure_ascii=False, indent=2) + "\n")
    else:
        output().write(plain(f"{report(view.results)}{_answered(ready, view.results)}"))
        if view.network and view.network.sentence:
            output().write(plain(f"{view.network.sentence}\n"))
        if kept:
            output().write(plain(f"ADK results: {kept}\n"))
    return PASSED if view.state == "passed" else NOT_PASSED


def _answered(ready: _Ready, results: RunResults) -> str:
    """Say in lines who answered, and who else can where that failed."""
    from evalset.verify.results import PLAY_RECORDED  # noqa: PLC0415 - as above

    absent = f"{ready.absent}\n" if ready.absent and ready.absent not in ready.about else ""
    is_told = ready.is_replayable and any(case.problem for case in results.cases)
    return f"{ready.about}\n{absent}{PLAY_RECORDED if is_told else ''}".rstrip() + "\n"


def _write_files(given: argparse.Namespace, results: RunResults, view: RunView) -> None:
    """Write the files that were asked for."""
    from evalset.adk_runs.eval_results import junit  # noqa: PLC0415 - as above
    from evalset.result_tables import table_csv  # noqa: PLC0415 - as above

    if given.junit is not None:
        network = view.network.sentence if view.network else ""
        write_output("--junit", given.junit, junit(results, view.seconds, network), "JUnit")
    if given.csv is not None:
        write_output("--csv", given.csv, table_csv(results).encode(), "CSV")


main = ShellCommand(
    prog="golden-trace eval",
    about="Run ADK's own `adk eval` in a separate process with the tool responses recorded next to the eval set. No real tool "
    "runs, and the agent's code is not changed.",
    codes=CODES,
    options={
        "agent": option(AGENT_WORDS, "AGENT"),
        "set": file_option("the eval set; may also be before AGENT", "SET"),
        "--case": repeated("evaluate only this case", "ID"),
        "--config": file_option(
            "the criteria (an EvalConfig file; default: test_config.json next to the set, otherwise ADK's default criteria)",
            "EVALCONFIG",
        ),
        **ENVIRONMENT,
        "--models": option(_MODELS, choices=("auto", "real", "recorded"), default=BY_HAND),
        **unrecorded(", which cases without a recording and scenarios need"),
        **LATENCIES,
        "--timeout": option(
            "end the run if no further turn is done in this time (default: 600)",
            "SECONDS",
            type=float,
            default=600.0,
        ),
        "--real-tools": flag("run the agent's real tools instead of the recording"),
        **PYTHON,
        **RESULTS,
        "--csv": file_option("also write the results to a CSV file, one row for each metric"),
        **QUIET,
        "--verbose": flag("show the complete output of `adk eval`"),
    },
    work=_run,
    logged=logging.CRITICAL,
)
