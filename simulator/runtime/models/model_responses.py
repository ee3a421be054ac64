"""Asks a model once, and puts together what its responses say."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from simulator.base.frozen_value import Value
from simulator.base.secret_masking import redacted

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
    """Return why a response is no whole answer: the model's limit, a block, a call of a function; empty if it is one."""
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


# Says in words why a model's provider gave no answer, and whether to ask it again; keys are left out of the words.


_AGAIN = frozenset({408, 425, 429})
_CLIENTS = frozenset({"aiohttp", "httpcore", "httpcore2", "httpx", "httpx2"})
_UNREADABLE = frozenset({"UnicodeDecodeError", "JSONDecodeError", "UnknownApiResponseError"})
_MOST_WORDS = 400


class ModelFailure(NamedTuple):
    """The reason why a model gave no answer. `wait` is how many seconds the provider asks to wait; None where it says nothing."""

    words: str
    status: int | None = None
    again: bool = False
    wait: float | None = None


def failure_of(error: BaseException, *, now: float, secrets: Iterable[str] = ()) -> ModelFailure:
    """Read what a client raised.

    Args:
        error: What it raised.
        now: Seconds since the epoch, for a `Retry-After` that is a date.
        secrets: Texts that must not stand in the words.
    """
    status = _status(error)
    kind = type(error).__name__.lstrip("_")
    told = getattr(error, "message", None)
    said = " ".join((told if isinstance(told, str) and told else str(error)).split())
    words = redacted(f"{status or kind}: {said}" if said else f"{status or kind}", secrets)
    if len(words) > _MOST_WORDS:
        words = f"{words[:_MOST_WORDS]} ..."
    return ModelFailure(words, status, _is_passing(error, status), _wait(error, now))


def _status(error: BaseException) -> int | None:
    for name in ("code", "status_code"):
        value = getattr(error, name, None)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _is_passing(error: BaseException, status: int | None) -> bool:
    """Return whether the same request may well succeed a little later."""
    if status is not None:
        return status in _AGAIN or status >= 500  # noqa: PLR2004 - HTTP's errors of servers begin there
    names = {base.__name__ for base in type(error).__mro__}
    roots = {base.__module__.partition(".")[0] for base in type(error).__mro__}
    return isinstance(error, (ConnectionError, TimeoutError)) or bool(roots & _CLIENTS or names & _UNREADABLE)


def _wait(error: BaseException, now: float) -> float | None:
    response: Any = getattr(error, "response", None)
    headers: Any = getattr(response, "headers", None) or getattr(error, "litellm_response_headers", None)
    said = headers.get("retry-after") if hasattr(headers, "get") else None
    wait = _seconds(said, now) if isinstance(said, str) else None
    return _of_google(getattr(error, "details", None)) if wait is None else wait


def _seconds(said: str, now: float) -> float | None:
    """Read a `Retry-After`: seconds, or a date."""
    if re.fullmatch(r"\s*\d{1,9}(\.\d+)?\s*", said):
        return float(said)
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _of_google(details: Any) -> float | None:
    """Read Google's `RetryInfo` out of the body of an error."""
    error = details.get("error") if isinstance(details, Mapping) else None
    listed = error.get("details") if isinstance(error, Mapping) else None
    for one in listed if isinstance(listed, list) else ():
        delay = one.get("retryDelay") if isinstance(one, Mapping) else None
        if isinstance(delay, str) and re.fullmatch(r"\d{1,9}(\.\d+)?s", delay):
            return float(delay[:-1])
    return None
