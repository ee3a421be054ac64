"""The real clients of two providers, how each provider says things, and where it is told what to answer with."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from google.adk.models.base_llm import BaseLlm
from google.adk.models.google_llm import Gemini

from simulator.environment.prompts.model_prompts import AskedCall
from simulator.runtime.adk.event_loop import LoopThread
from simulator.runtime.models.environment_model import Generation, generate
from simulator.runtime.models.json_client import RequestProgress
from tests.harness import loopback as wire
from tests.harness.loopback import Asked, Reply, loopback
from tests.simulator.runtime.stage import PATIENCE

T = TypeVar("T")

KEY = "kept-secret-0123456789"
"""The key that the clients send to the loopback server, and nowhere else."""

SCHEMA = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "minLength": 2},
        "status": {"type": "string", "enum": ["open", "shipped"]},
    },
    "required": ["order_id", "status"],
}
GOOD = {"order_id": "A-1", "status": "open"}
CALL = AskedCall(
    tool_name="find_order",
    description="Finds an order.",
    output_schema=SCHEMA,
    arguments={"order_id": "A-1"},
)


class Provider(NamedTuple):
    """A real client, and how its provider says things."""

    model: Callable[[str], BaseLlm]
    says: Callable[..., Reply]
    fails: Callable[..., Reply]
    prompt: Callable[[Any], str]
    """Reads the prompt out of a request's body."""
    schema: Callable[[Any], Any]
    """Reads the schema that the answer is to have out of a request's body; None where there is none."""
    json_mode: Callable[[Any], bool]
    thinking: Callable[[Any], Any]
    cut_off: str
    blocked: Reply
    thought: Reply
    """An answer with a thought before it that is JSON too."""


def gemini_at(url: str) -> BaseLlm:
    """Make ADK's Gemini with google-genai's real client."""
    return Gemini(model="gemini-2.5-test", base_url=url, client_kwargs={"api_key": KEY})


def litellm_at(url: str) -> BaseLlm:
    """Make ADK's LiteLlm with LiteLLM's real client for OpenAI's wire format."""
    from google.adk.models.lite_llm import LiteLlm  # noqa: PLC0415 - takes seconds, and half of the tests need it

    return LiteLlm(model="openai/m", api_base=f"{url}/v1", api_key=KEY)


def _gemini_says(text: str, finish: str = "STOP") -> Reply:
    return wire.gemini(*([text] if text else []), finish=finish)


def _gemini_fails(status: int, message: str = "too much", wait: str | None = None) -> Reply:
    details = (
        [] if wait is None else [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": wait}]
    )
    error = {"code": status, "message": message, "status": "RESOURCE_EXHAUSTED", "details": details}
    return Reply({"error": error}, status)


def _openai_says(text: str, finish: str = "stop") -> Reply:
    reply = wire.openai(text)
    reply.body["choices"][0]["finish_reason"] = finish
    return reply


def _openai_fails(status: int, message: str = "too much", wait: str | None = None) -> Reply:
    headers = () if wait is None else (("retry-after", wait.removesuffix("s")),)
    return Reply(wire.openai_error(status, message).body, status, headers=headers)


def _openai_thought() -> Reply:
    reply = wire.openai(json.dumps(GOOD))
    reply.body["choices"][0]["message"]["reasoning_content"] = '{"a plan": 1}'
    reply.body["usage"]["completion_tokens_details"] = {"reasoning_tokens": 2}
    return reply


def _gemini_thought() -> Reply:
    reply = wire.gemini({"text": '{"a plan": 1}', "thought": True}, json.dumps(GOOD))
    reply.body["usageMetadata"]["thoughtsTokenCount"] = 2
    return reply


def _gemini_schema(body: Any) -> Any:
    """Return the schema of an answer that is no error."""
    sent = body["generationConfig"].get("responseJsonSchema")
    return sent["anyOf"][0] if sent and "anyOf" in sent else sent


PROVIDERS = {
    "google-genai": Provider(
        model=gemini_at,
        says=_gemini_says,
        fails=_gemini_fails,
        prompt=lambda body: str(body["contents"][0]["parts"][0]["text"]),
        schema=_gemini_schema,
        json_mode=lambda body: body["generationConfig"].get("responseMimeType") == "application/json",
        thinking=lambda body: body["generationConfig"].get("thinkingConfig"),
        cut_off="MAX_TOKENS",
        blocked=Reply(
            {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 5}}
        ),
        thought=_gemini_thought(),
    ),
    "litellm": Provider(
        model=litellm_at,
        says=_openai_says,
        fails=_openai_fails,
        prompt=lambda body: str(body["messages"][0]["content"]),
        schema=lambda body: body["response_format"].get("json_schema", {}).get("schema"),
        json_mode=lambda body: body["response_format"]["type"] in {"json_object", "json_schema"},
        thinking=lambda body: body.get("reasoning_effort") or body.get("thinking"),
        cut_off="length",
        blocked=_openai_says("", "content_filter"),
        thought=_openai_thought(),
    ),
}


@contextmanager
def unheard() -> Iterator[str]:
    """Give the address of a port at which nobody listens, and which nobody else can be given meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


class Told:
    """Keeps what the person is told, and how long would have been waited; the time is one second later at each look."""

    def __init__(self) -> None:
        self.progress: list[RequestProgress] = []
        self.slept: list[float] = []
        self._now = 1_700_000_000.0

    def clock(self) -> float:
        """Return the time."""
        self._now += 1
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Note it, and do not wait."""
        self.slept.append(seconds)

    @property
    def words(self) -> str:
        """All that was told."""
        return "\n".join(progress.text for progress in self.progress)


def on_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run something where agents run."""
    return LoopThread.shared().start(work).result(PATIENCE)


def generated(
    model: str | BaseLlm, told: Told | None = None, call: AskedCall = CALL, **more: Any
) -> Generation:
    """Let a model draft an answer, without waiting between tries."""
    told = told or Told()
    return on_loop(
        generate(call, model, clock=told.clock, on_progress=told.progress.append, sleep=told.sleep, **more)
    )


def drafted(provider: Provider, *replies: Reply, **more: Any) -> tuple[Generation, list[Asked]]:
    """Let the provider's real client draft an answer, where the provider replies so; return it, and what was asked."""
    with loopback(*replies) as server:
        return generated(provider.model(server.url), **more), server.asked
