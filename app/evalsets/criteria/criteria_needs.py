"""Says which criteria cannot be measured from here, because a model or Vertex AI cannot be asked. Nothing is sent anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from app.forms.model_names import model_problem
from evalset.eval_config.adk_criteria import CRITERIA
from evalset.eval_config.config_edits import criteria_in, option, value_at
from simulator.base.json_values import JsonObject

_JUDGE = "gemini-2.5-flash"
"""ADK's judge, and its simulated user, where none is named."""

_PLACE = ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")


def unmet(
    document: JsonObject,
    environ: Mapping[str, str],
    *,
    scenarios: int = 0,
    problem_of: Callable[[str], str | None] = model_problem,
) -> Iterator[str]:
    """Name what cannot be asked, in a sentence each.

    Args:
        document: The criteria.
        environ: The environment of the process that asks.
        scenarios: How many cases a simulated user plays.
        problem_of: Says why a model cannot be asked; None where it can.
    """
    named = criteria_in(document)
    for criterion in (each for each in CRITERIA if each.name in named):
        if criterion.needs == "judge":
            judge = str(option(document, criterion.name, ("judge_model_options", "judge_model")) or _JUDGE)
            if reason := problem_of(judge):
                yield f"{criterion.name}: {reason}"
        elif criterion.needs == "vertex" and not _has_vertex(environ):
            yield f"{criterion.name}: set GOOGLE_API_KEY, or {' and '.join(_PLACE)}"
    if scenarios:
        user = str(value_at(document, ("user_simulator_config", "model")) or _JUDGE)
        if reason := problem_of(user):
            yield f"simulated user ({scenarios} case{'' if scenarios == 1 else 's'}): {reason}"


def _has_vertex(environ: Mapping[str, str]) -> bool:
    return bool(environ.get("GOOGLE_API_KEY")) or all(environ.get(name) for name in _PLACE)
