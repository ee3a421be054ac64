"""Checks the document of an `EvalConfig` with ADK's own models, and says what a run of it needs that is not here. Nothing is sent anywhere.

`check` finds what `adk eval` would stumble over, each flaw with its place. `unmet` says which variables a criterion needs, and `refusal`
why a planned run cannot give a result, with what a person can do about it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from google.adk.evaluation.eval_config import EvalConfig
from google.adk.evaluation.eval_metrics import (
    BaseCriterion,
    HallucinationsCriterion,
    LlmAsAJudgeCriterion,
    LlmBackedUserSimulatorCriterion,
    RubricsBasedCriterion,
    ToolTrajectoryCriterion,
)
from pydantic import BaseModel, ValidationError

from evalset.eval_config.config_edits import (
    ALWAYS_REPORTED,
    CRITERIA,
    INTERVAL,
    Criterion,
    Kind,
    criteria_in,
    criterion_named,
    custom_metrics,
    flaw_of_function,
    option,
    threshold,
    value_at,
)
from evalset.recorded.recorded_turns import untold_words
from evalset.recorded.recording import RecordedEnvironment
from evalset.replay.model_choice import Policy
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.base.model_settings import CLOUD_VOICE, server_settings_in
from simulator.base.validation_words import near, validated
from simulator.session.model import ADKS_SPEAKER

CLASSES: Mapping[Kind, type[BaseCriterion]] = {
    "plain": BaseCriterion,
    "trajectory": ToolTrajectoryCriterion,
    "judge": LlmAsAJudgeCriterion,
    "rubrics": RubricsBasedCriterion,
    "hallucinations": HallucinationsCriterion,
    "user_simulator": LlmBackedUserSimulatorCriterion,
}
"""What ADK's evaluators read a criterion with."""

_MATCH_TYPE = (["match_type"], ["matchType"])
_MATCH_TYPES = f"must be one of {', '.join(ToolTrajectoryCriterion.MatchType.__members__)}"


class Flaw(Value):
    """Something of a document: an `error` makes `adk eval` fail or leaves a metric without a score, a `warning` does not.

    `place` is a path in the document, as `criteria.hallucinations_v1.threshold`.
    """

    severity: Literal["error", "warning"]
    place: str
    sentence: str


_MOST_FLAWS = 100


def check(document: JsonObject) -> tuple[Flaw, ...]:
    """Say what is wrong with a document, of many flaws the first; nothing where `adk eval` takes it as it is meant."""
    refused = (
        Flaw(severity="error", place=each.place, sentence=each.sentence)
        for each in server_settings_in(document)
    )
    found = chain(_criteria(document), _custom(document), _rest(document), refused)
    first = tuple(islice(found, _MOST_FLAWS))
    rest = Counter(flaw.severity for flaw in found)
    if not rest:
        return first
    severity: Literal["error", "warning"] = "error" if rest["error"] else "warning"
    return (*first, Flaw(severity=severity, place="", sentence=f"and {rest.total():,} more"))


def _criteria(document: JsonObject) -> Iterator[Flaw]:
    found = value_at(document, ("criteria",))
    if found is not None and not isinstance(found, dict):
        yield Flaw(
            severity="error", place="criteria", sentence="must be an object with a criterion for each metric"
        )
        return
    if not found:
        yield Flaw(
            severity="error", place="criteria", sentence="contains no metric, so every case counts as failed"
        )
        return
    own = custom_metrics(document)
    for name, said in found.items():
        yield from _criterion(f"criteria.{name}", name, said, document, own)


def _criterion(
    place: str, name: str, said: Any, document: JsonObject, own: Mapping[str, str]
) -> Iterator[Flaw]:
    known = criterion_named(name)
    if name in ALWAYS_REPORTED:
        yield Flaw(
            severity="error",
            place=place,
            sentence="is always reported and takes no threshold; as a criterion it makes `adk eval` fail",
        )
        return
    if known is None and name not in own:
        yield Flaw(
            severity="error",
            place=place,
            sentence="ADK has no metric with this name, and a custom metric needs its function in `custom_metrics`; "
            + near(name, [each.name for each in CRITERIA]),
        )
    if isinstance(said, bool) or not isinstance(said, (int, float, dict)):
        yield Flaw(
            severity="error", place=place, sentence="must be a number, or an object with a `threshold`"
        )
        return
    if isinstance(said, dict):
        kind = known.kind if known and name not in own else "plain"
        yield from _misfits(CLASSES[kind], said, place)
        if known or name not in own:
            yield from _unread(CLASSES[kind], said, place)
        if kind == "rubrics":
            yield from _rubrics(said, place)
    if known and name not in own:
        yield from _range(known, threshold(document, name), place)
    if known and known.kind == "rubrics" and not (isinstance(said, dict) and value_at(said, ("rubrics",))):
        yield Flaw(
            severity="warning",
            place=f"{place}.rubrics",
            sentence=f"there are none, so only cases with rubrics of type {known.rubric_type} get a score",
        )


def _range(known: Criterion, said: float | None, place: str) -> Iterator[Flaw]:
    if said is not None and said > known.highest:
        sentence = f"no score is above {known.highest:g}, so {said:g} never passes"
    elif said is not None and said <= known.lowest:
        sentence = f"no score is below {known.lowest:g}, so {said:g} always passes"
    else:
        return
    yield Flaw(severity="warning", place=place, sentence=sentence)


def _rubrics(said: Mapping[str, Any], place: str) -> Iterator[Flaw]:
    """Find what the judges stumble over: they keep rubrics by their id, and ask for the text of each."""
    seen = set[str]()
    rubrics = value_at(said, ("rubrics",))
    for number, rubric in enumerate(rubrics if isinstance(rubrics, list) else ()):
        if not isinstance(rubric, dict):
            continue  # said already
        rubric_id = str(value_at(rubric, ("rubric_id",)))
        if rubric_id in seen:
            yield Flaw(
                severity="error",
                place=f"{place}.rubrics[{number}]",
                sentence=f"the id {rubric_id!r} is already used by an earlier rubric",
            )
        seen.add(rubric_id)
        if not value_at(rubric, ("rubric_content", "text_property")):
            yield Flaw(
                severity="error", place=f"{place}.rubrics[{number}]", sentence="has no `text_property`"
            )


def _custom(document: JsonObject) -> Iterator[Flaw]:
    criteria = value_at(document, ("criteria",))
    for name, path in custom_metrics(document).items():
        place = f"custom_metrics.{name}"
        metric = value_at(document, ("custom_metrics", name))
        yield from _ignored("custom_metrics", metric, place)
        least, most = (value_at(metric, (*INTERVAL, end)) for end in ("min_value", "max_value"))
        if isinstance(least, (int, float)) and isinstance(most, (int, float)) and least > most:
            where, sentence = ".".join(INTERVAL), f"its lowest score {least:g} is above its highest {most:g}"
            yield Flaw(severity="warning", place=f"{place}.{where}", sentence=sentence)
        if path and (flaw := flaw_of_function(path)):
            yield Flaw(severity="error", place=f"{place}.code_config.name", sentence=flaw)
        if isinstance(criteria, dict) and name not in criteria:
            yield Flaw(
                severity="warning",
                place=place,
                sentence="has no threshold in `criteria`, so it is never evaluated",
            )


def _rest(document: JsonObject) -> Iterator[Flaw]:
    """Check all but the criteria, which are checked one by one: ADK's errors about their union name every branch."""
    others = {name: held for name, held in document.items() if name != "criteria"}
    yield from _misfits(EvalConfig, others, "")
    yield from _unread(EvalConfig, others, "")
    live = value_at(document, ("live_model_config",))
    if isinstance(live, dict):
        yield from _ignored("live_model_config", live, "live_model_config")
    simulated = value_at(document, ("user_simulator_config",))
    if isinstance(simulated, dict):
        classes = _user_simulators()
        found = classes.get(str(simulated.get("type") or "llm_backed"))
        if found is not None:
            yield from _unread(found, simulated, "user_simulator_config")


def _ignored(field: str, said: Mapping[str, Any], place: str) -> Iterator[Flaw]:
    """Find what the model ignores that a field of the document holds, where this ADK has that field."""
    known = EvalConfig.model_fields.get(field)
    for model in _models_in(known.annotation) if known else ():
        yield from _unread(model, said, place)


@cache
def _user_simulators() -> Mapping[str, type[BaseModel]]:
    """Return the configs of simulated users by their types, out of ADK's own union."""
    field = EvalConfig.model_fields["user_simulator_config"]
    classes = (one for one in _models_in(field.annotation))
    return {str(each.model_fields["type"].default): each for each in classes}


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from _models_in(inner)


def _misfits(model: type[BaseModel], said: Mapping[str, Any], place: str) -> Iterator[Flaw]:
    try:
        validated(model, said)
    except ValidationError as error:
        for each in error.errors(include_url=False, include_input=False):
            steps = [step for step in each["loc"] if step not in _user_simulators()]
            sentence = (
                _MATCH_TYPES if steps[-1:] in _MATCH_TYPE else each["msg"].removeprefix("Value error, ")
            )
            yield Flaw(severity="error", place=_joined(place, steps), sentence=sentence)


def _joined(place: str, steps: Iterable[int | str]) -> str:
    made = place
    for step in steps:
        made += f"[{step}]" if isinstance(step, int) else f".{step}" if made else str(step)
    return made


def _unread(model: type[BaseModel], said: Mapping[str, Any], place: str) -> Iterator[Flaw]:
    names = {
        spelling
        for name, field in model.model_fields.items()
        for spelling in (name, field.alias, field.validation_alias)
        if isinstance(spelling, str)
    }
    for name in said:
        if name not in names:
            yield Flaw(
                severity="warning",
                place=_joined(place, [name]),
                sentence=f"ADK ignores this field; it reads {', '.join(sorted(model.model_fields))}",
            )


_JUDGE = "gemini-2.5-flash"
"""ADK's judge, and its simulated user, where none is named."""

_PLACE = ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")
VERTEX = ("GOOGLE_API_KEY", *_PLACE)
"""The variables by which Vertex AI can be asked: the first, or all others."""


def unmet(
    document: JsonObject,
    variables: Collection[str],
    *,
    problem_of: Callable[[str], str | None],
    scenarios: int = 0,
) -> Iterator[str]:
    """Name what cannot be asked, in a sentence each.

    Args:
        document: The criteria.
        variables: Those of `VERTEX` that the process has which asks.
        problem_of: Says why a model cannot be asked; None where it can.
        scenarios: How many cases a simulated user plays.
    """
    named = criteria_in(document)
    for criterion in (each for each in CRITERIA if each.name in named):
        if criterion.needs == "judge":
            judge = str(option(document, criterion.name, ("judge_model_options", "judge_model")) or _JUDGE)
            if reason := problem_of(judge):
                yield f"{criterion.name}: {reason}"
        elif criterion.needs == "vertex" and not _has_vertex(variables):
            yield f"{criterion.name}: set GOOGLE_API_KEY, or {' and '.join(_PLACE)}"
    if scenarios:
        for reason in filter(None, map(problem_of, user_models(document))):
            yield f"simulated user ({scenarios} case{'' if scenarios == 1 else 's'}): {reason}"


def user_models(document: JsonObject) -> tuple[str, ...]:
    """Return the models that ADK's simulated user asks: for its words, and for the voice, which speaks messages of conversations, too."""
    settings = value_at(document, ("user_simulator_config",))
    given: JsonObject = settings if isinstance(settings, dict) else {}
    words = str(given.get("model") or _JUDGE)
    return (
        (words, str(value_at(given, ("audio_model",)) or CLOUD_VOICE))
        if given.get("type") == ADKS_SPEAKER
        else (words,)
    )


def _has_vertex(variables: Collection[str]) -> bool:
    return VERTEX[0] in variables or all(name in variables for name in _PLACE)


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
