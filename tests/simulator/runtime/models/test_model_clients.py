"""Proves the real clients of models under the seats: google-genai and LiteLLM, over real HTTP to a loopback server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from simulator.runtime import Simulation
from simulator.session import SessionState
from tests.harness import loopback as wire
from tests.harness.loopback import HANGS, Loopback, Reply, loopback
from tests.simulator.runtime.models.model_servers import gemini_at
from tests.simulator.runtime.stage import PATIENCE, entries, opened, tool_requests

# google-genai's own client does so.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")


class Client(NamedTuple):
    """A real client and how its provider says things."""

    model: Callable[[str], BaseLlm]
    calls: Reply
    says: Callable[[str], Reply]
    fails: Callable[[int], Reply]
    answered: Callable[[Any], Any]
    """Reads the tool's answer out of the second request's body."""


def litellm_at(url: str) -> BaseLlm:
    """Make ADK's LiteLlm with LiteLLM's real client for OpenAI's wire format."""
    from google.adk.models.lite_llm import LiteLlm  # noqa: PLC0415 - takes seconds, and half of the tests need it

    return LiteLlm(model="openai/m", api_base=f"{url}/v1", api_key="dummy", num_retries=0, max_retries=0)


CLIENTS = {
    "google-genai": Client(
        gemini_at,
        wire.gemini(wire.gemini_call("find", order_id="A-1")),
        wire.gemini,
        lambda status: wire.gemini_error(status, "RESOURCE_EXHAUSTED", "too much"),
        lambda body: body["contents"][-1]["parts"][0]["functionResponse"]["response"],
    ),
    "litellm": Client(
        litellm_at,
        wire.openai(calls=[("call_1", "find", {"order_id": "A-1"})]),
        wire.openai,
        lambda status: wire.openai_error(status, "too much"),
        lambda body: next(m["content"] for m in body["messages"] if m["role"] == "tool"),
    ),
}


@pytest.fixture(params=["google-genai", pytest.param("litellm", marks=pytest.mark.long)])
def client(request: pytest.FixtureRequest, _local_prices: None) -> Client:
    """Each of the real clients."""
    return CLIENTS[request.param]


def find(order_id: str) -> dict[str, str]:
    """Find an order."""
    raise AssertionError(order_id)


def session_with(client: Client, server: Loopback, *, agents: Any = None, **more: Any) -> Simulation:
    """Open a session with an agent whose model is the real client, and a person for its tool."""
    agent = LlmAgent(
        name="clerk", model=client.model(server.url), tools=[find], instruction="Be brief.", **more
    )
    return opened(agent, agents=agents)


@pytest.mark.usefixtures("_local_prices")
@pytest.mark.parametrize("name", CLIENTS)
def test_a_whole_session_with_a_tool_over_the_real_client(name: str) -> None:
    """The wire carries a call, a person's answer to it and the text; Gemini sees no id of ours, OpenAI's API that of its own call."""
    client = CLIENTS[name]
    with loopback(client.calls, client.says("It is open.")) as server, session_with(client, server) as sim:
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
        assert "open" in str(client.answered(second.body))
    if name == "litellm":
        messages = second.body["messages"]
        assert [m["tool_call_id"] for m in messages if m["role"] == "tool"] == ["call_1"]
    else:
        parts = [part for content in second.body["contents"] for part in content["parts"]]
        assert all("id" not in value for part in parts for value in part.values() if isinstance(value, dict))


def test_a_session_goes_on_after_a_providers_errors_and_its_silence(client: Client) -> None:
    """A failed turn, an error that the agent's callback handles, a stop while nothing comes: the next query works each time."""
    seen: list[tuple[str, Any]] = []

    def rescue(callback_context: Any, llm_request: Any, error: Exception) -> LlmResponse | None:
        code = str(getattr(error, "code", None) or getattr(error, "status_code", None))
        seen.append((type(error).__name__, code))
        rescued = LlmResponse(content=types.Content(role="model", parts=[types.Part(text="rescued")]))
        return rescued if code == "429" else None

    replies = (client.fails(500), client.fails(429), HANGS, client.says("Back."))
    with (
        loopback(*replies) as server,
        session_with(client, server, on_model_error_callback=rescue) as sim,
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
    with loopback(chunks) as server, session_with(CLIENTS["google-genai"], server) as sim:
        assert sim.query("go", wait=PATIENCE, streaming=True)
        assert [entry.content for entry in entries(sim, "final_response")] == ["It is open."]
        assert "streamGenerateContent" in server.asked[0].path
