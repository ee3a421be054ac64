"""Makes a model of one's own beside those of the agents, and the request that asks it for JSON as it can be asked."""

from __future__ import annotations

import asyncio
import functools
import importlib
import os
import re
from typing import Any, NamedTuple

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.registry import LLMRegistry
from google.genai import types

from simulator.base.json_values import JsonObject, digest
from simulator.environment.prompts.provider_schemas import (
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
