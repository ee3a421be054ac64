"""Lets a model draft a tool's answer, with the reason where it cannot and the offline draft stands."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from google.adk.models.base_llm import BaseLlm
from google.genai import types

from simulator.environment.prompts.provider_schemas import answer_schema
from simulator.environment.prompts.tool_prompt import AskedCall, prompt_for
from simulator.runtime.models.json_client import (
    ClientHooks,
    JsonAnswer,
    JsonQuestion,
    RequestAttempt,
    RequestProgress,
    Timeouts,
    ask_for_json,
)
from simulator.runtime.models.model_responses import Tokens

__all__ = ["Generation", "RequestAttempt", "RequestProgress", "Tokens", "generate"]


class Generation(JsonAnswer):
    """What a model made of a tool call.

    `value` is the tool's answer, and fits its output schema or is an error; where there is none, `reason` says why the offline draft
    stands. `problems` are those of the last answer that could not be used. `seconds` and `tokens` are for all attempts.
    """


async def generate(
    asked: AskedCall,
    model: str | BaseLlm,
    *,
    clock: Callable[[], float],
    on_progress: Callable[[RequestProgress], None],
    configuration: types.GenerateContentConfig | None = None,
    timeout_seconds: float = 60.0,
    retries: int = 2,
    retry_delay: float = 1.0,
    longest_wait: float = 30.0,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> Generation:
    """Ask a model for a tool's answer, as JSON that fits the tool's output schema; never crashes a run.

    An answer that cannot be used is asked for once more, with what is wrong with it. It runs apart from the turn that
    is in progress: nobody's seat, plugin or callback is asked, and the turn's ids and times are not used up.

    Args:
        asked: The call, and what is known.
        model: Any name that ADK resolves, or a model object; it may be one that an agent has.
        clock: Gives seconds since the epoch.
        on_progress: Is told in words what goes on; called on the loop's thread.
        configuration: What to ask with, but for tools and schemas; None is ADK's default of its simulation.
        timeout_seconds: How long one request may take.
        retries: How often in all to try again after a passing error: 429, 5xx, a lost connection.
        retry_delay: Seconds before the first retry, doubled before each later one; `Retry-After` counts more.
        longest_wait: The longest `Retry-After` that is waited for, in seconds.
        sleep: Waits so many seconds.

    Raises:
        asyncio.CancelledError: A person has stopped it.
        pydantic.ValidationError: One of the numbers is out of its bounds.
    """
    patience = Timeouts(
        timeout_seconds=timeout_seconds, retries=retries, retry_delay=retry_delay, longest_wait=longest_wait
    )
    schema = answer_schema(asked.output_schema, may_fail=True)
    question = JsonQuestion(partial(prompt_for, asked, schema), schema, model, configuration)
    return Generation(**dict(await ask_for_json(question, patience, ClientHooks(clock, on_progress, sleep))))
