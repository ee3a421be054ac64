"""Proves that the model generator has no part in the turn that waits for it, stops when it is told to, and never raises."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.platform import time as platform_time
from google.adk.platform import uuid as platform_uuid
from google.genai import types
from pydantic import ValidationError

from simulator.runtime.adk.boundaries import install
from simulator.runtime.adk.turn_context import CURRENT_TURN, INSIDE_REAL_CALL, SCOPE
from simulator.runtime.models.model_generator import generate
from tests.harness.loopback import HANGS, Reply, loopback
from tests.simulator.runtime.models.model_servers import (
    CALL,
    GOOD,
    KEY,
    PROVIDERS,
    Provider,
    Told,
    generated,
    on_loop,
)
from tests.simulator.runtime.stage import PATIENCE, StandIn

# google-genai's own client does so.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI")


def doing(does: Callable[[LlmRequest], Any] = lambda _: None) -> StandIn:
    """Make a model that does something before it answers, in part and then whole."""

    async def answer(request: LlmRequest) -> list[LlmResponse]:
        done = does(request)
        if asyncio.iscoroutine(done):
            await done
        content = types.ModelContent(json.dumps(GOOD))
        return [LlmResponse(content=content, partial=True), LlmResponse(content=content)]

    return StandIn(does=answer)


def test_a_turn_in_progress_has_no_part_in_it() -> None:
    """A seated model answers itself; no seat is asked, and no id and no time of the turn is used up."""

    def used(*_: object) -> Any:
        raise AssertionError("something of the turn was used")

    def does(request: LlmRequest) -> None:
        assert CURRENT_TURN.get() is None
        assert INSIDE_REAL_CALL.get() is None
        assert SCOPE.get() == ""
        assert platform_time.get_time() > 0
        assert platform_uuid.new_uuid()
        loop = asyncio.get_running_loop()
        loop.call_later(0.0, lambda: None).cancel()  # the turn would note whose timer it is

    class Turn:
        settling = property(used)
        ask_model = ask_tool = ask_code = used

    agent = LlmAgent(name="clerk", model=doing(does))
    install(agent)
    told = Told()

    async def in_a_turn() -> Any:
        CURRENT_TURN.set(Turn())  # type: ignore[arg-type] # it must not be used at all
        SCOPE.set(">inner")
        platform_time.set_time_provider(used)
        platform_uuid.set_id_provider(used)
        model = agent.model
        return await generate(CALL, model, clock=told.clock, on_progress=told.progress.append)

    done = on_loop(in_a_turn())
    assert done.reason == ""
    assert done.value == GOOD


def test_a_person_stops_it_at_once(provider: Provider) -> None:
    """While a provider keeps silent the request is cancelled; the cancellation passes."""
    told = Told()

    async def stopped() -> bool:
        model = provider.model(server.url)
        asking = asyncio.create_task(
            generate(CALL, model, clock=told.clock, on_progress=told.progress.append)
        )
        assert await asyncio.to_thread(server.arrived.wait, PATIENCE)
        asking.cancel()
        await asyncio.wait({asking}, timeout=PATIENCE)
        return asking.cancelled()

    with loopback(HANGS) as server:
        assert on_loop(stopped())
        assert not server.let_go.is_set()


@pytest.mark.parametrize("stop", ["cancel", "timeout"])
def test_a_model_that_swallows_its_cancellation_keeps_nobody_waiting(stop: str) -> None:
    """It is left behind, and what it says afterwards is not heard."""
    told = Told()

    async def deaf() -> bool:
        begun, end = asyncio.Event(), asyncio.Event()

        async def swallow() -> None:
            begun.set()
            while not end.is_set():
                try:
                    await end.wait()
                except asyncio.CancelledError:
                    continue

        seconds = 60.0 if stop == "cancel" else 0.05
        work = generate(
            CALL,
            doing(lambda _: swallow()),
            clock=told.clock,
            on_progress=told.progress.append,
            timeout_seconds=seconds,
        )
        asking = asyncio.create_task(work)
        await begun.wait()
        if stop == "cancel":
            asking.cancel()
        await asyncio.wait({asking}, timeout=PATIENCE)
        end.set()
        return asking.cancelled() if stop == "cancel" else "0.05 s" in asking.result().reason

    assert on_loop(deaf())


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), ValueError("no")]
)
def test_whatever_a_model_raises_is_a_reason(error: BaseException) -> None:
    """The loop that runs all agents goes on."""

    def does(request: LlmRequest) -> None:
        raise error

    done = generated(doing(does))
    assert done.value is None
    assert done.reason
    assert generated(doing(lambda _: None)).value == GOOD


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no-such-model-1", "cannot be created"),
        ("", "cannot be created"),
        pytest.param("nobody/knows-this", "cannot be created", marks=pytest.mark.long),
        ("gemini-2.5-flash", "GOOGLE_API_KEY"),
        ("openai/gpt-4o", "OPENAI_API_KEY"),
    ],
)
def test_a_model_that_cannot_be_asked_is_a_reason(
    name: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unknown name and a missing key are told before anything is sent."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    told = Told()
    done = generated(name, told)
    assert done.attempts == ()
    assert done.value is None
    assert says in done.reason
    assert done.reason in told.words


def test_a_model_is_made_of_its_name_with_the_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """ADK's registry resolves it; another environment gives another client, and an old model is not asked to think."""
    gemini = PROVIDERS["google-genai"]
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    for number, name in ((1, "gemini-2.5-flash"), (2, "gemini-2.5-flash"), (2, "gemini-2.0-flash")):
        with loopback(gemini.says(json.dumps(GOOD))) as server:
            monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
            monkeypatch.setenv("GOOGLE_API_KEY", f"{KEY}-{number}")
            assert generated(name).value == GOOD
            assert server.asked[0].headers["x-goog-api-key"] == f"{KEY}-{number}"
            assert f"models/{name}:generateContent" in server.asked[0].path
            assert (gemini.thinking(server.asked[0].body) is None) is (name == "gemini-2.0-flash")


@pytest.mark.long
@pytest.mark.usefixtures("_local_prices")
def test_litellm_is_reached_by_a_providers_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with a provider goes to LiteLLM, with the key and the address of the environment."""
    openai = PROVIDERS["litellm"]
    with loopback(openai.says(json.dumps(GOOD))) as server:
        monkeypatch.setenv("OPENAI_API_BASE", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        assert generated("openai/m").value == GOOD
        assert openai.json_mode(server.asked[0].body)


@pytest.mark.long
@pytest.mark.usefixtures("_local_prices")
def test_ollama_is_asked_for_json_with_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model on one's own machine needs no key; its client passes the schema on as Ollama's format."""
    said = {"role": "assistant", "content": json.dumps(GOOD)}
    reply = {"model": "m", "message": said, "done": True, "done_reason": "stop", "prompt_eval_count": 7}
    # Its client also asks several times what the model can do.
    with loopback(*[Reply({**reply, "eval_count": 2})] * 12) as server:
        monkeypatch.setenv("OLLAMA_API_BASE", server.url)
        done = generated("ollama_chat/m")
        (chat,) = [asked for asked in server.asked if asked.path == "/api/chat"]
    assert done.value == GOOD
    assert done.tokens.asked == 7
    assert chat.body["format"]["properties"]["status"]["enum"] == ["open", "shipped"]


def test_a_listener_that_raises_loses_no_answer() -> None:
    """What goes wrong in telling is logged, and the answer stands."""

    def listens(_: object) -> None:
        raise RuntimeError("the page is gone")

    told = Told()
    done = on_loop(generate(CALL, doing(lambda _: None), clock=told.clock, on_progress=listens))
    assert done.value == GOOD


def test_numbers_out_of_bounds_are_refused() -> None:
    """That is a mistake of the caller, and nothing is asked."""
    with pytest.raises(ValidationError):
        generated(doing(), timeout_seconds=0)
