"""ADK's `EvalConfig` on both sides of a verification: metrics for plain `adk eval`, and the criteria that a config asks of a replay.

The metrics are ADK's tool trajectory and response match, with the tolerances that are kept beside the eval set. In an `EvalConfig`, as `eval_config` gives it:

    {"criteria": {"tolerant_trajectory": {"threshold": 1.0, "environment": "/path/x.environment.json", "match_type": "IN_ORDER"}},
     "custom_metrics": {"tolerant_trajectory": {"code_config": {"name": "evalset.verify.metric.tolerant_trajectory"}}}}

`criteria_of` reads a config for a replay, where `run_checks` asks a metric of somebody's own as ADK does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from google.adk.evaluation.conversation_scenarios import ConversationScenario
from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_config import EvalConfig
from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric, ToolTrajectoryCriterion
from google.adk.evaluation.evaluator import EvaluationResult
from pydantic import ValidationError

from evalset.errors import first_flaw
from evalset.eval_config.config_checks import check
from evalset.eval_config.config_edits import starting_document
from evalset.recorded.recording import RecordedCase, RecordedEnvironment
from evalset.recorded.recording_files import read_environment, recording_of
from evalset.replay.case_following import is_said_alike
from evalset.replay.session_following import running_eval_id
from evalset.verify.results import VerifyError
from evalset.verify.run_checks import compared_calls, matched_responses, responses_as_golden
from evalset.verify.verify_request import RESPONSE, TRAJECTORY, Criteria, Match, Metric
from simulator.base.documents import read_file
from simulator.base.json_text import JsonTextError, read_json
from simulator.base.json_values import JsonObject, place_words
from simulator.base.validation_words import first_of, validated

NAME = "tolerant_trajectory"
PATH = f"{__name__}.{NAME}"
"""Where the metric's function is found."""

RESPONSE_NAME = "tolerant_response"
RESPONSE_PATH = f"{__name__}.{RESPONSE_NAME}"
"""The other metric, which an `EvalConfig` has where tolerances of final responses are kept."""

_ENVIRONMENT = "environment"
MATCHES: dict[ToolTrajectoryCriterion.MatchType, Match] = {
    ToolTrajectoryCriterion.MatchType.EXACT: "exact",
    ToolTrajectoryCriterion.MatchType.IN_ORDER: "in_order",
    ToolTrajectoryCriterion.MatchType.ANY_ORDER: "any_order",
}


def tolerant_trajectory(
    eval_metric: EvalMetric,
    actual_invocations: list[Invocation],
    expected_invocations: list[Invocation] | None,
    conversation_scenario: ConversationScenario | None = None,
) -> EvaluationResult:
    """Score the calls of a case as ADK's `tool_trajectory_avg_score` does, but for what its tolerances let differ.

    Args:
        eval_metric: The metric; its criterion names the `environment`, and may have `match_type` and `ignore_args`.
        actual_invocations: What happened.
        expected_invocations: The golden.
        conversation_scenario: Not used.

    Raises:
        ValueError: There is no golden, the criterion names no recorded environment, or that does not tell which of its cases
            this is.
    """
    del conversation_scenario
    if expected_invocations is None:
        raise ValueError(f"{NAME} compares with a golden, but this case has none")
    given = _criterion(eval_metric, NAME)
    asked = ToolTrajectoryCriterion.model_validate(given)
    criteria = Criteria(
        match=MATCHES[asked.match_type], ignore_args=asked.ignore_args, trajectory=asked.threshold
    )
    recorded = _case(_environment(str(given[_ENVIRONMENT])), expected_invocations)
    return compared_calls(actual_invocations, expected_invocations, criteria, recorded.tolerances)


def tolerant_response(
    eval_metric: EvalMetric,
    actual_invocations: list[Invocation],
    expected_invocations: list[Invocation] | None,
    conversation_scenario: ConversationScenario | None = None,
) -> EvaluationResult:
    """Score the final responses of a case as ADK's `response_match_score` does, but for what its tolerances let differ. Each one has to pass.

    Args:
        eval_metric: The metric; its criterion names the `environment`.
        actual_invocations: What happened.
        expected_invocations: The golden.
        conversation_scenario: Not used.

    Raises:
        ValueError: As for `tolerant_trajectory`.
    """
    del conversation_scenario
    if expected_invocations is None:
        raise ValueError(f"{RESPONSE_NAME} compares with a golden, but this case has none")
    given = _criterion(eval_metric, RESPONSE_NAME)
    recorded = _case(_environment(str(given[_ENVIRONMENT])), expected_invocations)
    shown = responses_as_golden(actual_invocations, expected_invocations, recorded.tolerances)
    return matched_responses(shown, expected_invocations, given.get("threshold"))


def _criterion(metric: EvalMetric, name: str) -> dict[str, Any]:
    given: dict[str, Any] = metric.criterion.model_dump() if metric.criterion else {}
    if not given.get(_ENVIRONMENT):
        raise ValueError(f"the criterion of {name} names no recorded environment; add `{_ENVIRONMENT}`")
    return given


@lru_cache(maxsize=8)
def _environment(path: str) -> RecordedEnvironment:
    return read_environment(path)


def _case(environment: RecordedEnvironment, expected: list[Invocation]) -> RecordedCase:
    """Find the case that is evaluated: by its id where ADK tells, or else by what the user says in it."""
    eval_id = running_eval_id()
    if eval_id is not None and eval_id in environment.cases:
        return environment.cases[eval_id]
    said = [turn.user_content.model_dump(mode="json", exclude_none=True) for turn in expected]
    alike = [case for case in environment.cases.values() if _says(case, said)]
    if not alike or any(case.tolerances != alike[0].tolerances for case in alike):
        which = f"the case {eval_id!r}" if eval_id else "this case"
        raise ValueError(
            f"the recorded environment has no clear match for {which}, so its tolerances are unknown"
        )
    return alike[0]


def _says(case: RecordedCase, said: list[JsonObject]) -> bool:
    return len(case.turns) == len(said) and all(
        is_said_alike(turn.query, query) for turn, query in zip(case.turns, said, strict=True)
    )


def eval_config(
    eval_set: Path | str, *, environment: Path | str | None = None, criteria: Criteria | None = None
) -> JsonObject:
    """Return the `EvalConfig` with which plain `adk eval` compares as a verification does: calls with tolerances, and responses.

    Args:
        eval_set: The eval set.
        environment: Its recorded environment; by default the one beside it.
        criteria: How the calls are compared, and the least score of the responses.
    """
    asked = criteria or Criteria()
    path = Path(environment) if environment is not None else recording_of(eval_set)
    metric: JsonObject = {
        "threshold": 1.0 if asked.trajectory is None else asked.trajectory,
        _ENVIRONMENT: str(path.absolute()),
        "match_type": asked.match.upper(),
        "ignore_args": asked.ignore_args,
    }
    functions: JsonObject = {NAME: _described(PATH, "Tool calls, except for tolerated differences.")}
    response: JsonObject = {} if asked.response is None else {RESPONSE: asked.response}
    if asked.response is not None and _tolerates_responses(path):
        response = {RESPONSE_NAME: {"threshold": asked.response, _ENVIRONMENT: str(path.absolute())}}
        functions[RESPONSE_NAME] = _described(
            RESPONSE_PATH, "Final responses, except for tolerated differences."
        )
    return {"criteria": {NAME: metric, **response}, "custom_metrics": functions}


def usual_config(
    eval_set: Path | str,
    environment: Path | str,
    recorded: RecordedEnvironment | None,
    eval_ids: Iterable[str],
) -> JsonObject:
    """Return the criteria of `adk eval` where none are given: ADK's own, with the tolerances of the recording where one of the cases has some.

    Args:
        eval_set: The eval set.
        environment: Its recorded environment.
        recorded: What is in that; None where it is not used.
        eval_ids: The ids of the cases.
    """
    cases = recorded.cases if recorded is not None else {}
    if any(each in cases and cases[each].tolerances for each in eval_ids):
        return eval_config(eval_set, environment=environment)
    return starting_document()


def _described(path: str, description: str) -> JsonObject:
    return {"code_config": {"name": path}, "description": description}


def _tolerates_responses(path: Path) -> bool:
    """Return whether a recorded environment lets final responses differ; one that cannot be read is named when it is needed."""
    try:
        cases = read_environment(path).cases.values()
    except (OSError, ValueError):
        return False
    return any(each.of == "final_response" for case in cases for each in case.tolerances)


def criteria_of(path: Path | str) -> Criteria:
    """Read an `EvalConfig`.

    The tool trajectory (ADK's, or ours with tolerances) and the response match are taken over, and metrics of one's own are asked;
    one that has to ask a judge is not for a replay, and is named as skipped. What ADK does not look at is looked at all the same.

    Raises:
        VerifyError: The file cannot be read, is no `EvalConfig`, or `adk eval` would not evaluate with it: it has no metric, one
            that ADK does not have, or one that may not be called. Or a replay could evaluate none of its metrics.
    """
    document, config = _document(Path(path))
    if flaw := next((each for each in check(document) if each.severity == "error"), None):
        raise VerifyError(f"{path}: {flaw.place or 'top level'}: {flaw.sentence}")
    own = {name: custom.code_config.name for name, custom in (config.custom_metrics or {}).items()}
    try:
        found = _criteria(config, own)
    except ValidationError as error:
        raise VerifyError(f"{path}: {first_flaw(error)}") from error
    if found.trajectory is found.response is None and not any(metric.function for metric in found.metrics):
        names = ", ".join(metric.name for metric in found.metrics)
        why = f"a replay can evaluate none of them, because it calls no judge model: {names}"
        raise VerifyError(f"{path}: criteria: {why}. Run `golden-trace eval`")
    return found


def _criteria(config: EvalConfig, own: Mapping[str, str]) -> Criteria:
    made: dict[str, Any] = {"trajectory": None, "response": None}
    metrics: list[Metric] = []
    for name, given in config.criteria.items():
        criterion = given if isinstance(given, BaseCriterion) else BaseCriterion(threshold=given)
        if name == TRAJECTORY or own.get(name) == PATH:
            made |= _trajectory(criterion)
        elif name == RESPONSE or own.get(name) == RESPONSE_PATH:
            made["response"] = criterion.threshold
        else:
            written = criterion.model_dump(mode="json", exclude_none=True)
            metrics.append(Metric(name=name, function=own.get(name, ""), criterion=written))
    return Criteria(**made, metrics=tuple(metrics))


def _document(path: Path) -> tuple[JsonObject, EvalConfig]:
    """Return the document, and what ADK makes of it."""
    try:
        document = read_json(read_file(path, "settings").decode(), constants=True)
        return document, validated(EvalConfig, document)
    except OSError as error:
        raise VerifyError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (JsonTextError, UnicodeDecodeError) as error:
        raise VerifyError(f"{path}: not an EvalConfig: not valid JSON: {error}") from error
    except ValidationError as error:
        first = first_of(error)
        place = place_words(first["loc"])
        raise VerifyError(f"{path}: not an EvalConfig: {place or 'top level'}: {first['msg']}") from error


def _trajectory(criterion: BaseCriterion) -> dict[str, Any]:
    asked: ToolTrajectoryCriterion = validated(ToolTrajectoryCriterion, criterion.model_dump())
    return {
        "trajectory": asked.threshold,
        "match": MATCHES[asked.match_type],
        "ignore_args": asked.ignore_args,
    }
