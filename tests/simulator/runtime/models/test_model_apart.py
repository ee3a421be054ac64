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
from simulator.runtime.models.environment_model import generate
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


async def asking(model: Any, on_progress: Callable[[Any], None] = lambda _: None, **more: Any) -> Any:
    """Ask a model on the loop."""
    return await generate(CALL, model, clock=Told().clock, on_progress=on_progress, **more)


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

    async def in_a_turn() -> Any:
        CURRENT_TURN.set(Turn())  # type: ignore[arg-type] # it must not be used at all
        SCOPE.set(">inner")
        platform_time.set_time_provider(used)
        platform_uuid.set_id_provider(used)
        return await asking(agent.model)

    done = on_loop(in_a_turn())
    assert (done.reason, done.value) == ("", GOOD)


def test_a_person_stops_it_at_once(provider: Provider) -> None:
    """While a provider keeps silent the request is cancelled; the cancellation passes."""

    async def stopped() -> bool:
        task = asyncio.create_task(asking(provider.model(server.url)))
        assert await asyncio.to_thread(server.arrived.wait, PATIENCE)
        task.cancel()
        await asyncio.wait({task}, timeout=PATIENCE)
        return task.cancelled()

    with loopback(HANGS) as server:
        assert on_loop(stopped())
        assert not server.let_go.is_set()


@pytest.mark.parametrize("stop", ["cancel", "timeout"])
def test_a_model_that_swallows_its_cancellation_keeps_nobody_waiting(stop: str) -> None:
    """It is left behind, and what it says afterwards is not heard."""

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
        task = asyncio.create_task(asking(doing(lambda _: swallow()), timeout_seconds=seconds))
        await begun.wait()
        if stop == "cancel":
            task.cancel()
        await asyncio.wait({task}, timeout=PATIENCE)
        end.set()
        return task.cancelled() if stop == "cancel" else "0.05 s" in task.result().reason

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
    assert generated(doing()).value == GOOD


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


@pytest.mark.long
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


def test_a_listener_that_raises_loses_no_answer_and_numbers_out_of_bounds_are_refused() -> None:
    """What goes wrong in telling is logged, and the answer stands; a mistake of the caller is told before anything is asked."""

    def listens(_: object) -> None:
        raise RuntimeError("the page is gone")

    assert on_loop(asking(doing(), on_progress=listens)).value == GOOD
    with pytest.raises(ValidationError):
        generated(doing(), timeout_seconds=0)
