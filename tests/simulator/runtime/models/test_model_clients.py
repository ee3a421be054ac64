"""Proves the real clients of models under the seats: google-genai and LiteLLM, over real HTTP to a loopback server."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from simulator.runtime import Simulation
from simulator.session import SessionState
from tests.harness import loopback as wire
from tests.harness.loopback import HANGS, Loopback, Reply, loopback
from tests.simulator.runtime.models.model_servers import PROVIDERS, Provider
from tests.simulator.runtime.stage import PATIENCE, entries, opened, tool_requests

# google-genai's own client does so.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")


CALLS = {
    "google-genai": wire.gemini(wire.gemini_call("find", order_id="A-1")),
    "litellm": wire.openai(calls=[("call_1", "find", {"order_id": "A-1"})]),
}


def find(order_id: str) -> dict[str, str]:
    """Find an order."""
    raise AssertionError(order_id)


def session_with(provider: Provider, server: Loopback, **more: Any) -> Simulation:
    """Open a session with an agent whose model is the real client, which tries nothing again, and a person for its tool."""
    model: Any = provider.model(server.url)
    if provider is PROVIDERS["litellm"]:
        model._additional_args |= {"num_retries": 0, "max_retries": 0}
    return opened(LlmAgent(name="clerk", model=model, tools=[find], instruction="Be brief.", **more))


@pytest.mark.usefixtures("_local_prices")
@pytest.mark.parametrize("name", CALLS)
def test_a_whole_session_with_a_tool_over_the_real_client(name: str) -> None:
    """The wire carries a call, a person's answer to it and the text; Gemini sees no id of ours, OpenAI's API that of its own call."""
    provider = PROVIDERS[name]
    replies = CALLS[name], provider.says("It is open.")
    with loopback(*replies) as server, session_with(provider, server) as sim:
        assert sim.query("Where is A-1?", wait=PATIENCE)
        (request,) = tool_requests(sim)
        assert request.arguments == {"order_id": "A-1"}
        assert sim.answer(request, {"status": "open"}, wait=PATIENCE)
        assert [entry.content for entry in entries(sim, "final_response")] == ["It is open."]
        assert sim.session.state is SessionState.COMPLETED
        first, second = server.asked
        assert "Be brief." in str(first.body)
        assert "Where is A-1?" in str(first.body)
        assert "order_id" in str(first.body)
    if name == "litellm":
        (message,) = [each for each in second.body["messages"] if each["role"] == "tool"]
        assert (message["tool_call_id"], "open" in message["content"]) == ("call_1", True)
    else:
        parts = [part for content in second.body["contents"] for part in content["parts"]]
        assert "open" in str(parts[-1]["functionResponse"]["response"])
        assert all("id" not in value for part in parts for value in part.values() if isinstance(value, dict))


def test_a_session_goes_on_after_a_providers_errors_and_its_silence(provider: Provider) -> None:
    """A failed turn, an error that the agent's callback handles, a stop while nothing comes: the next query works each time."""
    seen: list[tuple[str, Any]] = []

    def rescue(callback_context: Any, llm_request: Any, error: Exception) -> LlmResponse | None:
        code = str(getattr(error, "code", None) or getattr(error, "status_code", None))
        seen.append((type(error).__name__, code))
        rescued = LlmResponse(content=types.Content(role="model", parts=[types.Part(text="rescued")]))
        return rescued if code == "429" else None

    replies = (provider.fails(500), provider.fails(429), HANGS, provider.says("Back."))
    with (
        loopback(*replies) as server,
        session_with(provider, server, on_model_error_callback=rescue) as sim,
    ):
        assert sim.query("go", wait=PATIENCE)
        assert "too much" in entries(sim, "model_error")[0].error_message
        assert len(entries(sim, "turn_failed")) == 1
        assert not sim.pending
        assert sim.query("again", wait=PATIENCE)
        assert [entry.content for entry in entries(sim, "final_response")] == ["rescued"]
        assert len(server.asked) == 2
        server.arrived.clear()
        assert not sim.query("hang", wait=0.0)
        assert server.arrived.wait(PATIENCE)
        assert [running.kind for running in sim.view().running] == ["model"]
        sim.stop()
        assert entries(sim, "turn_failed")[1].stopped
        assert sim.query("and now", wait=PATIENCE)
        assert [entry.content for entry in entries(sim, "final_response")] == ["rescued", "Back."]
    assert [code for _, code in seen] == ["500", "429"]
    assert seen[1][0] in {"_ResourceExhaustedError", "RateLimitError"}


def test_geminis_stream_is_heard_and_ends_as_one_answer() -> None:
    """Streamed chunks arrive from the real client and end as one final response."""
    chunks = Reply(stream=(wire.gemini_chunk("It is ", finish=None), wire.gemini_chunk("open.")))
    with loopback(chunks) as server, session_with(PROVIDERS["google-genai"], server) as sim:
        assert sim.query("go", wait=PATIENCE, streaming=True)
        assert [entry.content for entry in entries(sim, "final_response")] == ["It is open."]
        assert "streamGenerateContent" in server.asked[0].path
