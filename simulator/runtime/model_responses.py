"""Asks a model once, and puts together what its responses say."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from simulator.facts import Value

CUT_OFF = types.FinishReason.MAX_TOKENS.value
"""Why a model stopped that had no room for the rest of its answer."""


class Tokens(Value):
    """How many tokens a model has read, written and thought; None where it does not say."""

    asked: int | None = None
    answered: int | None = None
    thought: int | None = None

    def plus(self, more: Tokens) -> Tokens:
        """Add up two counts."""
        return Tokens(
            asked=_sum(self.asked, more.asked),
            answered=_sum(self.answered, more.answered),
            thought=_sum(self.thought, more.thought),
        )


def _sum(one: int | None, other: int | None) -> int | None:
    return one if other is None else other + (one or 0)


class Heard(NamedTuple):
    """What a model said, without its thoughts; why it stopped, empty where it said all; and its tokens."""

    text: str
    stopped: str
    tokens: Tokens


async def heard_from(model: BaseLlm, request: LlmRequest) -> Heard:
    """Ask a model once, and put what it says together."""
    texts: list[str] = []
    stopped, tokens = "", Tokens()
    try:
        stream: AsyncGenerator[LlmResponse, None] = model.generate_content_async(request, stream=False)
        async with aclosing(stream) as responses:
            async for response in responses:
                if response.partial:
                    continue
                texts.append(_text_of(response))
                stopped = stopped or _stopped(response)
                tokens = tokens.plus(_tokens_of(response))
    except (SystemExit, KeyboardInterrupt) as error:
        # asyncio would let these out of the loop, which serves other sessions too.
        raise RuntimeError(f"the model raised {type(error).__name__}") from error
    return Heard("".join(texts), stopped, tokens)


def _text_of(response: LlmResponse) -> str:
    parts = (response.content.parts if response.content else None) or []
    return "".join(part.text for part in parts if part.text and not part.thought)


def _stopped(response: LlmResponse) -> str:
    """Give why a response is no whole answer: the model's limit, a block, a call of a function; empty if it is one."""
    if response.get_function_calls() and not _text_of(response):
        return "it called a function instead"
    said = response.error_code or (
        response.finish_reason if response.finish_reason != types.FinishReason.STOP else None
    )
    if said is None:
        return ""
    word = str(getattr(said, "value", said)).removeprefix("FinishReason.")
    told = response.error_message
    return word if word == CUT_OFF or not told else f"{word}: {told}"


def _tokens_of(response: LlmResponse) -> Tokens:
    usage = response.usage_metadata
    return Tokens(
        asked=usage.prompt_token_count if usage else None,
        answered=usage.candidates_token_count if usage else None,
        thought=usage.thoughts_token_count if usage else None,
    )
