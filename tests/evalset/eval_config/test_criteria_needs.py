"""Which criteria cannot be measured from here: said before a run, since ADK passes a case without their scores."""

from __future__ import annotations

from typing import Any

from evalset.eval_config.config_edits import starting_document
from evalset.eval_config.criteria_needs import unmet

DOCUMENT: dict[str, Any] = {
    "criteria": {
        "response_match_score": 0.8,
        "hallucinations_v1": 0.5,
        "final_response_match_v2": {"threshold": 0.5, "judgeModelOptions": {"judgeModel": "local/judge"}},
        "safety_v1": 0.5,
    },
    "user_simulator_config": {"model": "local/user"},
}


def problem_of(name: str) -> str | None:
    """Say that Gemini has no key."""
    return None if name.startswith("local/") else f"{name}: no key"


def found(environ: dict[str, str], scenarios: int = 0, document: Any = DOCUMENT) -> list[str]:
    """Return what is named."""
    return list(unmet(document, environ, problem_of=problem_of, scenarios=scenarios))


def test_a_judge_and_vertex_are_named_where_they_cannot_be_asked() -> None:
    """A judge of one's own is not Gemini; nothing is needed for what runs on this machine."""
    assert found({}) == [
        "hallucinations_v1: gemini-2.5-flash: no key",
        "safety_v1: set GOOGLE_API_KEY, or GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION",
    ]
    assert len(found({"GOOGLE_CLOUD_PROJECT": "p"})) == 2
    assert len(found({"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l"})) == 1
    assert found({}, document=starting_document()) == []


def test_scenarios_need_a_model_that_plays_the_user() -> None:
    """The one that is named, or ADK's own."""
    assert found({"GOOGLE_API_KEY": "k"}, 3)[1:] == []
    assert found({}, 2, starting_document()) == ["simulated user (2 cases): gemini-2.5-flash: no key"]
