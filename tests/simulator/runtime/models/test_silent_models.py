"""A model that says nothing ends its turn with a step that says so."""

from __future__ import annotations

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from tests.simulator.runtime.stage import PATIENCE, StandIn, entries, opened, say


def _content(*parts: types.Part) -> types.Content:
    return types.Content(role="model", parts=list(parts))


@pytest.mark.parametrize(
    ("responses", "words"),
    [
        ([], "without yielding"),
        ([LlmResponse()], "is empty"),
        ([LlmResponse(content=_content(), finish_reason=types.FinishReason.MAX_TOKENS)], "MAX_TOKENS"),
        ([LlmResponse(content=_content(say("Hel")), partial=True)], "complete"),
        ([LlmResponse(content=_content(say("Hello.")))], None),
        ([LlmResponse(content=_content(types.Part(text="Hm.", thought=True)))], None),
        ([LlmResponse(content=_content(types.Part.from_bytes(data=b"x", mime_type="image/png")))], None),
        ([LlmResponse(error_code="SAFETY", error_message="blocked")], None),
    ],
)
def test_a_model_that_says_nothing_is_a_step_with_its_reason(
    responses: list[LlmResponse], words: str | None
) -> None:
    """Nothing, an empty response, or a beginning only, each time; a text, a thought, an image or an error is something."""
    with opened(LlmAgent(name="clerk", model=StandIn(does=lambda _: responses)), agents="model") as sim:
        assert sim.query("hello", wait=PATIENCE)
        assert sim.query("again", wait=PATIENCE)
        silent = [each for each in entries(sim, "model_error") if each.error_type == "NoResponse"]
        assert len(silent) == (2 if words else 0)
        assert all(each.agent == "clerk" and str(words) in each.error_message for each in silent)
