"""Makes of what was chosen in the tab what a run of `adk eval` is given, and lays its results out for tables; no drawing here."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path

from pydantic import JsonValue

from app.evalsets.choices_panel import MODELS_FROM
from app.evalsets.set_context import facts_of, history_of, place_of
from app.evalsets.workspace import Workspace
from app.forms.safe_labels import literal
from app.server.owners import LOCAL
from evalset.adk_runs.eval_results import AdkCaseResult, CallMade, MetricResult, RunResults, Status
from evalset.adk_runs.run_spec import EvalRunSpec
from evalset.eval_config.config_checks import PlannedRun, Remedies, check, refusal
from evalset.eval_config.config_edits import (
    custom_metrics,
    option,
    starting_document,
    value_at,
    with_criterion,
    with_value,
)
from evalset.files.set_outline import Identity, identity_of
from evalset.recorded.recorded_turns import needs_no_model
from evalset.recorded.recording_files import recording_of, sidecar_of
from evalset.replay.model_choice import BY_HAND, ModelChoice, Models, Policy, model_choice
from evalset.verify.cases_to_verify import read_recorded
from evalset.verify.verify_request import RESPONSE, TRAJECTORY
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents import AgentCatalogue
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.kernel.kernel_agent import model_problem
from simulator.runtime.models.reachability import model_reachability

MARKS: dict[Status, str] = {
    "passed": "✓ passed",
    "failed": "✗ failed",
    "not evaluated": "not evaluated",
    "informational": "informs",
}


def case_rows(cases: Sequence[AdkCaseResult], metric_names: Sequence[str]) -> list[dict[str, str]]:
    """Return a row for each case: its verdict, and each metric's score."""
    return [
        {
            "case": literal(case.eval_id),
            "verdict": MARKS[case.status],
            **{literal(name): _cell(case.metric(name)) for name in metric_names},
        }
        for case in cases
    ]


def unevaluated(results: RunResults) -> dict[str, int]:
    """Count by metric in how many cases it has no score though it has a threshold: ADK passes such a case all the same."""
    missed = (
        metric.name
        for case in results.cases
        for metric in case.metrics
        if metric.status == "not evaluated" and metric.threshold is not None
    )
    return dict(Counter(missed))


def _cell(metric: MetricResult | None) -> str:
    if metric is None:
        return ""
    if metric.score is None:
        return MARKS[metric.status]
    mark = {"passed": "✓ ", "failed": "✗ "}.get(metric.status, "")
    return f"{mark}{_number(metric.score)}"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def metric_rows(metrics: Sequence[MetricResult]) -> list[dict[str, str]]:
    """Return a row for each metric of a case or a turn: score, threshold, verdict, and why it has none."""
    return [
        {
            "metric": literal(metric.name),
            "score": "" if metric.score is None else _number(metric.score),
            "threshold": "" if metric.threshold is None else _number(metric.threshold),
            "verdict": MARKS[metric.status],
            "why": literal(metric.problem or _measured(metric)),
        }
        for metric in metrics
    ]


def _measured(metric: MetricResult) -> str:
    names = (
        (name.removesuffix("_tokens").replace("_", " "), value) for name, value in metric.details.items()
    )
    return ", ".join(f"{name} {_number(value)}" for name, value in names)


def rubric_rows(metrics: Sequence[MetricResult]) -> list[dict[str, str]]:
    """Return a row for each rubric that a judge has spoken of."""
    return [
        {
            "metric": literal(metric.name),
            "rubric": literal(rubric.text or rubric.rubric_id),
            "score": "" if rubric.score is None else _number(rubric.score),
            "reasons": literal(rubric.rationale),
        }
        for metric in metrics
        for rubric in metric.rubrics
    ]


def call_lines(calls: Sequence[CallMade]) -> str:
    """Write calls, one after the other, as they would stand in Python."""
    return "\n".join(f"{call.tool}({_arguments(call)})" for call in calls) or "(no calls)"


def _arguments(call: CallMade) -> str:
    return ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items()
    )


def fitting(results: RunResults, text: str, verdict: str) -> list[AdkCaseResult]:
    """Return the cases whose id holds a text, and that have a verdict; "all" for any."""
    wanted = text.strip().lower()
    return [
        case for case in results.cases if wanted in case.eval_id.lower() and verdict in {"all", case.status}
    ]


TOLERANT = "evalset.verify.metric.tolerant_trajectory"
"""The studio's own metric: the trajectory with the tolerances of a recorded environment."""

TOLERANT_RESPONSE = "evalset.verify.metric.tolerant_response"
"""The same for the response match."""


_REMEDIES = Remedies(
    answers="On the tab Run of the set, under adk eval, unrecorded calls can be generated, or real tools run",
    models=f"Set {MODELS_FROM} to live models",
    criteria="Choose criteria",
)


class AdkEvalOptions(Value):
    """The options of one `adk eval` run: the agent, the cases (none for all), and who stands for the tools and the models."""

    agent: str = ""
    cases: tuple[str, ...] = ()
    hermetic: bool = True
    models: Models = BY_HAND
    unrecorded: Policy = "fail"


def spec_of(workspace: Workspace, choice: AdkEvalOptions, agents: AgentCatalogue) -> EvalRunSpec:
    """Return what is run.

    Raises:
        ValueError: The agent cannot be loaded, the criteria cannot work, or hold what somebody may not run here.
    """
    document = criteria_of(workspace, choice)
    errors = [flaw for flaw in check(document) if flaw.severity == "error"]
    if errors:
        raise ValueError("\n".join(f"{flaw.place}: {flaw.sentence}" for flaw in errors))
    check_metrics(workspace, document)
    config = agents.config_of_now(choice.agent)
    planned = _planned(workspace, choice, config)
    chosen = _models(choice, planned)
    planned = planned._replace(recorded_models=chosen.players == "recorded")
    if why := refusal(planned, _REMEDIES, partial(model_problem, config=config)):
        raise ValueError(why)
    workspace.notes["adk_models"] = _said(chosen, planned.models_lack)
    entry = next(each for each in agents.entries() if each.name == choice.agent)
    return EvalRunSpec(
        eval_set=workspace.eval_set,
        agent=place_of(entry, config, agents.settings_for(Path(entry.location))),
        cases=choice.cases,
        config=document,
        environment=recording_of(workspace.eval_set) if choice.hermetic else None,
        models=chosen.players,
        unrecorded=choice.unrecorded,
        history=_history(workspace, config),
    )


def criteria_of(workspace: Workspace, choice: AdkEvalOptions) -> JsonObject:
    """Return the criteria of a run; those that no file gives heed the tolerances, as for `golden-trace eval`, where nobody changed how calls are compared.

    Raises:
        ValueError: The criteria are invalid, or the recording cannot be read.
    """
    criteria, eval_set = workspace.criteria, workspace.eval_set
    document = criteria.document
    if document is None:
        raise ValueError(f"The criteria are invalid: {criteria.flaw}")
    unchanged = [each for each in (TRAJECTORY, RESPONSE) if _held(document, each) == _held(_STARTING, each)]
    if criteria.has_file or not choice.hermetic or TRAJECTORY not in unchanged:
        return document
    recording = recording_of(eval_set)
    known = identity_of(recording.stat()) if recording.exists() else None
    made: JsonObject = json.loads(
        _usual(eval_set, recording, choice.cases or facts_of(eval_set).eval_ids, known)
    )
    for ours, theirs in zip(custom_metrics(made), (TRAJECTORY, RESPONSE), strict=False):
        if theirs in unchanged:
            document = with_criterion(with_criterion(document, theirs, None), ours, _held(made, ours))
            metric = value_at(made, ("custom_metrics", ours))
            document = with_value(document, ("custom_metrics", ours), metric)
    return document


_STARTING = starting_document()


def _held(document: JsonObject, name: str) -> JsonValue:
    held: JsonValue = value_at(document, ("criteria", name))
    return held


@lru_cache(maxsize=16)
def _usual(eval_set: Path, recording: Path, chosen: tuple[str, ...], _: Identity | None) -> str:
    """Return the usual criteria as JSON, read once as long as the recording stays as it is."""
    # Behind it stands ADK's evaluation, which takes a second to import.
    from evalset.verify.metric import usual_config  # noqa: PLC0415 - as above

    return json.dumps(usual_config(eval_set, recording, read_recorded(recording), chosen))


def _planned(workspace: Workspace, choice: AdkEvalOptions, config: SimulatedAgentConfig) -> PlannedRun:
    facts, recording = facts_of(workspace.eval_set), recording_of(workspace.eval_set)
    chosen = choice.cases or facts.eval_ids
    return PlannedRun(
        cases=chosen,
        scenarios=[each for each in facts.scenarios if each in chosen],
        recording=recording,
        recorded=read_recorded(recording) if choice.hermetic else None,
        unrecorded=choice.unrecorded,
        recorded_models=False,
        config=workspace.criteria.document or {},
        models_lack=model_reachability(config) or "",
    )


def _models(choice: AdkEvalOptions, planned: PlannedRun) -> ModelChoice:
    """Decide who answers for the models, as `golden-trace eval` does."""
    recorded = planned.recorded
    if recorded is None:
        return ModelChoice("real", "the real tools run")
    cases = [recorded.cases.get(each) for each in planned.cases]
    is_recorded = all(case is not None and needs_no_model(case) for case in cases)
    lacks = planned.models_lack
    found = model_choice(choice.models, lacks, is_recorded=is_recorded)
    return found or ModelChoice("real", "not all cases have recorded model turns")


def _said(chosen: ModelChoice, lacks: str) -> str:
    """Say who answers for the models; where they cannot be asked, why, and what to choose."""
    words = f"Run {chosen.words}."
    if chosen.players == "recorded" or not lacks:
        return words
    return f'{words} {lacks}. Set the key, or set "{MODELS_FROM}" to "Recording".'


def check_metrics(workspace: Workspace, document: JsonObject) -> None:
    """Refuse metrics of somebody else, where others use the server too: they run code, here and in the terminal of who has the agent.

    Raises:
        ValueError: There are some; the text names them.
    """
    if workspace.owner != LOCAL and (own := _of_others(document, workspace.eval_set)):
        raise ValueError(
            f"Several people use this server, so it does not run custom metrics: {', '.join(own)}. Run `adk eval` with them in a terminal."
        )


def _history(workspace: Workspace, config: SimulatedAgentConfig) -> Path | None:
    """Say where the results are kept: with the agent, if its set lies with it, and nobody else sees them there."""
    home = config.resolve_eval_set_path().parent
    return history_of(config) if workspace.owner == LOCAL and home in workspace.eval_set.parents else None


def _of_others(document: JsonObject, eval_set: Path) -> list[str]:
    """Name the metrics that run code, or read files, which are not the studio's own for this set."""
    ours = {str(recording_of(eval_set)), str(sidecar_of(eval_set))}
    return [
        name
        for name, path in custom_metrics(document).items()
        if path not in {TOLERANT, TOLERANT_RESPONSE} or option(document, name, ("environment",)) not in ours
    ]
