"""Asks a model once: makes it beside those of the agents, asks it for JSON as it can be asked, and puts together what its responses say."""

from __future__ import annotations

import asyncio
import functools
import importlib
import os
import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.genai import types

from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject, digest
from simulator.base.secret_masking import redacted
from simulator.environment.prompts.json_answers import (
    AnswerSchema,
    SentSchema,
    for_gemini,
    for_strict,
    or_error,
)
from simulator.runtime.models.reachability import model_problem

_JSON = "application/json"
_ONLY_JSON: JsonObject = {"type": "json_object"}
_WITHOUT_THOUGHTS = re.compile(r"(.*/)?(gemini-(1|2\.0)|gemma|learnlm).*")
_GEMINI_BY_LITELLM = re.compile(r"(gemini/.*|vertex_ai(_beta)?/(.*/)?gemini.*)")


class ModelUnavailableError(Exception):
    """A model cannot be made or asked; the text says why, and what it needs."""


class RequestFeatures(NamedTuple):
    """The more demanding features that a request uses; a provider that refuses one is asked without it."""

    json_mode: bool = True
    schema: bool = True
    thoughts: bool = True


class Asking(NamedTuple):
    """A request, and in words how it asks for JSON."""

    request: LlmRequest
    sent: str


async def own_model(model: str | BaseLlm) -> BaseLlm:
    """Return the model of a name, made once and kept for its connections, or the object itself.

    Raises:
        ModelUnavailableError: The name is unknown, a package is not installed, or a key is not set.
    """
    try:
        # The client of some providers takes seconds to import: other sessions go on meanwhile.
        return await asyncio.to_thread(_made, model)
    except ModelUnavailableError:
        raise
    except Exception as error:
        name = model if isinstance(model, str) else model.model
        why = " ".join(str(error).split())
        raise ModelUnavailableError(f"the model {name} cannot be created: {why}") from error


def _made(model: str | BaseLlm) -> BaseLlm:
    problem = model_problem(model, os.environ)
    if problem is not None:
        raise ModelUnavailableError(problem)
    made = (
        model if isinstance(model, BaseLlm) else _kept(model, digest(*map(str, sorted(os.environ.items()))))
    )
    if "LiteLlm" in _classes(made):
        importlib.import_module("litellm")
    return made


@functools.lru_cache(maxsize=16)
def _kept(name: str, _environment_digest: str) -> BaseLlm:
    """Make a model; clients read their keys from the environment, so another one gives another model."""
    return LLMRegistry.new_llm(name)


def asking(
    model: BaseLlm,
    prompt: str,
    schema: AnswerSchema,
    configuration: types.GenerateContentConfig | None,
    wish: RequestFeatures,
) -> Asking:
    """Build the request. `configuration` is read and never changed; what it says about tools and answers does not count."""
    config = _configuration(model, configuration)
    if not wish.thoughts:
        config.thinking_config = None
    sent = _ask_for_json(config, model, schema, wish)
    contents = [types.Content(role="user", parts=[types.Part(text=prompt)])]
    return Asking(LlmRequest(model=model.model, contents=contents, config=config), sent)


def _configuration(model: BaseLlm, given: types.GenerateContentConfig | None) -> types.GenerateContentConfig:
    config = _default(model) if given is None else given.model_copy()
    options = config.http_options.model_copy() if config.http_options else types.HttpOptions()
    options.headers = dict(options.headers or {})
    # The clients would else try again by themselves, unseen: google-genai after up to ten seconds.
    options.retry_options = types.HttpRetryOptions(attempts=0)
    ours = {
        "http_options": options,
        "tools": None,
        "tool_config": None,
        "automatic_function_calling": None,
        "response_mime_type": None,
        "response_schema": None,
        "response_json_schema": None,
    }
    return config.model_copy(update=ours)


def _default(model: BaseLlm) -> types.GenerateContentConfig:
    """Return what ADK's own simulation asks for, of the models that can be asked for it."""
    if not _classes(model) & {"Gemini", "LiteLlm"} or _WITHOUT_THOUGHTS.fullmatch(model.model):
        return types.GenerateContentConfig()
    thoughts = types.ThinkingConfig(include_thoughts=False, thinking_budget=10_240)
    return types.GenerateContentConfig(thinking_config=thoughts)


def _ask_for_json(
    config: types.GenerateContentConfig, model: BaseLlm, schema: AnswerSchema, wish: RequestFeatures
) -> str:
    """Ask for JSON in the configuration, each client in the way that it passes on; say how."""
    if not wish.json_mode or getattr(model, "use_interactions_api", False):
        return "prompt only"
    kinds = _classes(model)
    config.response_mime_type = _JSON
    if "LiteLlm" in kinds:
        config.response_schema = _ONLY_JSON
    if schema.asked is None:
        return f"JSON mode, no schema: {schema.problem}" if schema.problem else "JSON mode"
    if not wish.schema:
        return "JSON mode, schema only in the prompt"
    sent = _sendable(kinds, model.model, schema.asked)
    if sent.schema_sent is None:
        return f"JSON mode, schema only in the prompt: {sent.reason}"
    if "Gemini" in kinds:
        # OpenAI's format has no choice at its root; there, the prompt alone says what an error looks like.
        config.response_json_schema = or_error(sent.schema_sent) if schema.may_fail else sent.schema_sent
    else:
        config.response_schema = sent.schema_sent
    left_out = f" without {', '.join(sent.left_out)}" if sent.left_out else ""
    return f"JSON mode with the schema{left_out}"


def _sendable(kinds: set[str], name: str, schema: JsonObject) -> SentSchema:
    if "Gemini" in kinds or ("LiteLlm" in kinds and _GEMINI_BY_LITELLM.fullmatch(name)):
        return for_gemini(schema)
    if kinds & {"LiteLlm", "OpenAILlm", "OpenAIResponsesLlm"}:
        return for_strict(schema)
    return SentSchema(schema_sent=schema)


def _classes(model: BaseLlm) -> set[str]:
    """Return the names of ADK's classes that a model is of: to import them would import the clients of all providers."""
    return {base.__name__ for base in type(model).__mro__ if base.__module__.startswith("google.adk.")}


def with_less(wish: RequestFeatures, status: int | None, words: str) -> RequestFeatures | None:
    """Return what to ask for instead where a provider refused a request for what it does not know; None if that is not why."""
    told: Any = words.lower()
    if status not in {400, 422, None}:
        return None
    if (
        wish.json_mode
        and re.search(r"json mode|mime.?type|response.?format", told)
        and not _about_schema(told)
    ):
        return wish._replace(json_mode=False, schema=False)
    if wish.thoughts and re.search(r"think|thought|reasoning", told):
        return wish._replace(thoughts=False)
    if wish.schema and wish.json_mode and re.search(r"schema|propert|nesting|too many states", told):
        return wish._replace(schema=False)
    return None


def _about_schema(told: str) -> bool:
    return "schema" in told


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
