"""Takes what a run has to fulfil from ADK's `EvalConfig`: the criteria that a replay can be held to, and metrics of one's own."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_config import EvalConfig
from google.adk.evaluation.eval_metrics import (
    BaseCriterion,
    EvalMetric,
    EvalStatus,
    ToolTrajectoryCriterion,
)
from google.adk.evaluation.evaluator import EvaluationResult
from pydantic import ValidationError

from evalset.errors import first_flaw
from evalset.eval_config.config_checks import check
from evalset.verify.criteria import RESPONSE, TRAJECTORY, Criteria, Metric
from evalset.verify.errors import VerifyError
from evalset.verify.metric import MATCHES, PATH, RESPONSE_PATH
from evalset.verify.results import Check, CheckStatus
from simulator.base.documents import read_file
from simulator.base.json_text import JsonTextError, read_json
from simulator.base.json_values import JsonObject, place_words
from simulator.base.secret_masking import error_words
from simulator.base.validation_words import first_of, validated

_STATUS: dict[EvalStatus, CheckStatus] = {EvalStatus.PASSED: "passed", EvalStatus.FAILED: "failed"}


def criteria_of(path: Path | str) -> Criteria:
    """Read an `EvalConfig`.

    The tool trajectory (ADK's, or ours with tolerances) and the response match are taken over, and metrics of one's own are asked;
    one that has to ask a judge is not for a replay, and is named as skipped. What ADK does not look at is looked at all the same.

    Raises:
        VerifyError: The file cannot be read, is no `EvalConfig`, or `adk eval` would not evaluate with it: it has no metric, one
            that ADK does not have, or one that may not be called. Or a replay could evaluate none of its metrics.
    """
    document, config = _read(Path(path))
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


def _read(path: Path) -> tuple[JsonObject, EvalConfig]:
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


async def asked_metric(metric: Metric, actual: Sequence[Invocation], expected: Sequence[Invocation]) -> Check:
    """Ask a metric of one's own, as ADK does; what it raises is told."""
    if not metric.function:
        words = "needs a judge model, which a replay does not call; run `adk eval` for it"
        return Check(name=metric.name, status="skipped", detail=words)
    criterion = BaseCriterion.model_validate(metric.criterion)
    asked = EvalMetric(metric_name=metric.name, criterion=criterion, custom_function_path=metric.function)
    try:
        found = _function(metric.function)(asked, list(actual), list(expected), None)
        result: EvaluationResult = await found if inspect.isawaitable(found) else found
    except Exception as error:  # noqa: BLE001 - somebody's own code may raise anything; it is told
        return Check(name=metric.name, status="error", detail=error_words(error))
    return Check(
        name=metric.name,
        status=_STATUS.get(result.overall_eval_status, "skipped"),
        score=result.overall_score,
        threshold=criterion.threshold,
        turns=tuple(each.score for each in result.per_invocation_results),
    )


def _function(path: str) -> Callable[..., Any]:
    module, _, name = path.rpartition(".")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found
