"""Says which criteria cannot be measured from here, because a model or Vertex AI cannot be asked. Nothing is sent anywhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from evalset.eval_config.adk_criteria import CRITERIA
from evalset.eval_config.config_edits import criteria_in, option, value_at
from simulator.base.json_values import JsonObject
from simulator.base.model_settings import CLOUD_VOICE
from simulator.session.user_fold import ADKS_SPEAKER

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
