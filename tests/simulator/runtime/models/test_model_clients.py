"""Proves the real clients of models under the seats: google-genai and LiteLLM, over real HTTP to a loopback server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from simulator.runtime import Simulation
from simulator.session import SessionState
from tests.harness import loopback as wire
from tests.harness.loopback import HANGS, Loopback, Reply, loopback
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


def gemini_at(url: str) -> BaseLlm:
    """Make ADK's Gemini with google-genai's real client."""
    return Gemini(model="gemini-test", base_url=url, client_kwargs={"api_key": "dummy"})


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


def test_a_providers_error_ends_in_the_timeline_and_the_session_goes_on(client: Client) -> None:
    """An HTTP error is an entry of the model and a failed turn; the next query reaches the provider again."""
    with loopback(client.fails(500), client.says("Back.")) as server, session_with(client, server) as sim:
        assert sim.query("go", wait=PATIENCE)
        assert "too much" in entries(sim, "model_error")[0].error_message
        assert len(entries(sim, "turn_failed")) == 1
        assert not sim.pending
        assert sim.query("again", wait=PATIENCE)
        assert [entry.content for entry in entries(sim, "final_response")] == ["Back."]
        assert len(server.asked) == 2


def test_on_model_error_sees_the_clients_own_error_with_its_status(client: Client) -> None:
    """The agent's callback is given the client's class of error and its HTTP status, as without the seats."""
    seen: list[tuple[str, Any]] = []

    def rescue(callback_context: Any, llm_request: Any, error: Exception) -> LlmResponse:
        seen.append(
            (type(error).__name__, getattr(error, "code", None) or getattr(error, "status_code", None))
        )
        return LlmResponse(content=types.Content(role="model", parts=[types.Part(text="rescued")]))

    with (
        loopback(client.fails(429)) as server,
        session_with(client, server, on_model_error_callback=rescue) as sim,
    ):
        assert sim.query("go", wait=PATIENCE)
        assert [entry.content for entry in entries(sim, "final_response")] == ["rescued"]
    ((name, status),) = seen
    assert name in {"_ResourceExhaustedError", "RateLimitError"}
    assert str(status) == "429"


def test_a_model_that_hangs_can_be_stopped(client: Client) -> None:
    """Stop ends the turn while the provider keeps silent; the next query works."""
    with loopback(HANGS, client.says("Back.")) as server, session_with(client, server) as sim:
        assert not sim.query("go", wait=0.0)
        assert server.arrived.wait(PATIENCE)
        assert [running.kind for running in sim.view().running] == ["model"]
        sim.stop()
        assert entries(sim, "turn_failed")[0].stopped
        assert sim.query("again", wait=PATIENCE)
        assert [entry.content for entry in entries(sim, "final_response")] == ["Back."]


def test_geminis_stream_is_heard_and_ends_as_one_answer() -> None:
    """Streamed chunks arrive from the real client and end as one final response."""
    chunks = Reply(stream=(wire.gemini_chunk("It is ", finish=None), wire.gemini_chunk("open.")))
    with loopback(chunks) as server, session_with(CLIENTS["google-genai"], server) as sim:
        assert sim.query("go", wait=PATIENCE, streaming=True)
        assert [entry.content for entry in entries(sim, "final_response")] == ["It is open."]
        assert "streamGenerateContent" in server.asked[0].path
