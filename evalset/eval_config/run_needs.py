"""Says why an `adk eval` cannot begin: calls that nothing answers, and what a case needs that a simulated user plays. Nothing is sent anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from evalset.eval_config.adk_criteria import CRITERIA, criterion_named
from evalset.eval_config.config_edits import criteria_in, custom_metrics
from evalset.eval_config.criteria_needs import user_models
from evalset.recorded.recorded_turns import untold_words
from evalset.recorded.recording import RecordedEnvironment
from evalset.replay.unrecorded_calls import Policy
from simulator.base.json_values import JsonObject

OUR_METRICS = "evalset.verify.metric."
"""Where the studio's own metrics are: they compare with a golden."""


class Remedies(NamedTuple):
    """What to do, in the words of who asks: options of a command, or fields of a page.

    Attributes:
        answers: About calls that nothing answers.
        models: About recorded models.
        criteria: About criteria, and the model of the simulated user.
    """

    answers: str
    models: str
    criteria: str


class PlannedRun(NamedTuple):
    """What is to run.

    Attributes:
        cases: The ids of its cases.
        scenarios: Those of them that a simulated user plays.
        recording: The file that the tools are answered from.
        recorded: What it holds, nothing where it is not there; None where the real tools run.
        unrecorded: What becomes of a call that was not recorded.
        recorded_models: Whether the recording answers for the models, too.
        config: The document of an `EvalConfig`.
        models_lack: Why the agent's own models cannot be asked; empty where they can.
    """

    cases: Sequence[str]
    scenarios: Sequence[str]
    recording: Path
    recorded: RecordedEnvironment | None
    unrecorded: Policy
    recorded_models: bool
    config: JsonObject
    models_lack: str = ""


def refusal(run: PlannedRun, remedies: Remedies, model_problem: Callable[[str], str | None]) -> str:
    """Return why a run cannot begin, and what to do about it; empty where it can.

    Args:
        run: What is to run.
        remedies: What to do, in the words of who asks.
        model_problem: Says why a model cannot be asked where the run is; None where it can.
    """
    lacks = chain([(_unanswered(run), remedies.answers)], _of_users(run, remedies, model_problem))
    return next((f"{why}. {remedy}".rstrip(" .") for why, remedy in lacks if why), "")


def _of_users(
    run: PlannedRun, remedies: Remedies, model_problem: Callable[[str], str | None]
) -> Iterator[tuple[str, str]]:
    """Yield what is lacking where a simulated user plays, or a voice speaks, each with what to do."""
    words, *voice = user_models(run.config)
    for reason in filter(None, map(model_problem, voice)):
        yield f"the user's messages cannot be spoken: {reason}", _with_another(remedies)
    if not run.scenarios:
        return
    scenario = f"the scenario {run.scenarios[0]!r}"
    if run.models_lack:
        yield f"{scenario} needs the agent's own model. {run.models_lack}", ""
    if run.recorded_models:
        yield f"{scenario} has no recorded model turns, because its user is simulated", remedies.models
    if lacks := model_problem(words):
        yield f"the simulated user of {scenario} cannot be played: {lacks}", _with_another(remedies)
    names = criteria_in(run.config)
    if all(_needs_golden(run.config, name) for name in names):
        verb = "needs" if len(names) == 1 else "need"
        yield (
            f"{scenario} has no expected response, which {' and '.join(names)} {verb}",
            f"{remedies.criteria} that need none: {', '.join(_WITHOUT_GOLDEN)}",
        )


def _with_another(remedies: Remedies) -> str:
    return f"{remedies.criteria} with another model in `user_simulator_config`"


_WITHOUT_GOLDEN = tuple(each.name for each in CRITERIA if not each.needs_golden)


def _needs_golden(document: JsonObject, name: str) -> bool:
    path = custom_metrics(document).get(name)
    known = criterion_named(name)
    return path.startswith(OUR_METRICS) if path is not None else known is not None and known.needs_golden


def _unanswered(run: PlannedRun) -> str:
    if run.recorded is None or run.unrecorded == "generate":
        return ""
    lacking = [each for each in run.cases if each not in run.recorded.cases and each not in run.scenarios]
    if not run.recording.is_file():
        return f"no recorded environment at {run.recording}"
    if lacking:
        return f"{run.recording} has no recording of the case {lacking[0]!r}"
    if run.scenarios and not run.recorded.cases:
        return f"{run.recording} has no recorded response for the scenario {run.scenarios[0]!r}"
    return next(_untold(run), "") if run.unrecorded == "fail" else ""


def _untold(run: PlannedRun) -> Iterator[str]:
    """Say of each case which of its responses its source does not tell."""
    known = run.recorded.cases if run.recorded is not None else {}
    for eval_id in run.cases:
        for what in untold_words(known[eval_id]) if eval_id in known else ():
            yield f"the case {eval_id!r}: {what} is unknown"
