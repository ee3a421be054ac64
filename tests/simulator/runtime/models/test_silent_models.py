"""A model that says nothing ends its turn with a step that says so."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from tests.simulator.runtime.stage import PATIENCE, entries, opened, say


def _content(*parts: types.Part) -> types.Content:
    return types.Content(role="model", parts=list(parts))


class Gives(BaseLlm):
    """A model that gives these responses, each time."""

    model: str = "gives"
    responses: list[Any]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield them."""
        for response in self.responses:
            yield response.model_copy(deep=True)


@pytest.mark.parametrize(
    ("responses", "words"),
    [
        ([], "without yielding"),
        ([LlmResponse()], "is empty"),
        ([LlmResponse(content=_content())], "is empty"),
        ([LlmResponse(content=_content(say("")))], "is empty"),
        (
            [LlmResponse(content=_content(), finish_reason=types.FinishReason.MAX_TOKENS)],
            "MAX_TOKENS",
        ),
        ([LlmResponse(content=_content(say("Hel")), partial=True)], "complete"),
    ],
)
def test_a_model_that_says_nothing_is_a_step_with_its_reason(
    responses: list[LlmResponse], words: str
) -> None:
    """Whether it yields nothing, an empty response, or a beginning only; the session goes on."""
    with opened(LlmAgent(name="clerk", model=Gives(responses=responses)), agents="model") as sim:
        assert sim.query("hello", wait=PATIENCE)
        (silent,) = entries(sim, "model_error")
        assert (silent.agent, silent.error_type) == ("clerk", "NoResponse")
        assert words in silent.error_message
        assert sim.query("again", wait=PATIENCE)
        assert len(entries(sim, "model_error")) == 2


@pytest.mark.parametrize(
    "response",
    [
        LlmResponse(content=_content(say("Hello."))),
        LlmResponse(content=_content(types.Part(text="Hm.", thought=True))),
        LlmResponse(content=_content(types.Part.from_bytes(data=b"x", mime_type="image/png"))),
        LlmResponse(error_code="SAFETY", error_message="blocked"),
    ],
)
def test_a_model_that_says_something_is_not_called_silent(response: LlmResponse) -> None:
    """A text, a thought, an image, or an error of its own."""
    with opened(LlmAgent(name="clerk", model=Gives(responses=[response])), agents="model") as sim:
        assert sim.query("hello", wait=PATIENCE)
        assert "NoResponse" not in {each.error_type for each in entries(sim, "model_error")}
