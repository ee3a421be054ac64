"""What is at work says since when, not since when it was asked for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from itertools import count
from threading import Event

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from simulator.agent_config import SimulatedAgentConfig
from simulator.runtime import Simulation
from tests.harness.processes import wait_until
from tests.simulator.runtime.stage import PATIENCE


class CallsOnce(BaseLlm):
    """Calls the tool, then speaks."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Make the next turn."""
        parts = llm_request.contents[-1].parts or []
        call = types.Part(function_call=types.FunctionCall(name="dig", args={}))
        said = types.Part(text="done") if any(part.function_response for part in parts) else call
        yield LlmResponse(content=types.Content(role="model", parts=[said]))


def test_the_time_that_a_person_thought_is_not_counted() -> None:
    """A real tool that was started long after the call is at work since its start."""
    seconds: Iterator[int] = count(1000)
    later = [0.0]
    go_on = Event()

    def dig() -> dict[str, str]:
        """Dig until it is enough."""
        go_on.wait(PATIENCE)
        return {"found": "gold"}

    agent = LlmAgent(name="digger", model=CallsOnce(model="own"), tools=[dig])
    config = SimulatedAgentConfig("Digger", agent, "digger.evalset.json")
    with Simulation.open(config, clock=lambda: next(seconds) + later[0]) as simulation:
        simulation.query("Dig")
        later[0] = 50_000.0
        simulation.run_real(simulation.pending[0], wait=0.0)
        wait_until(lambda: bool(simulation.view().running), what="the digging", seconds=PATIENCE)
        (running,) = simulation.view().running
        go_on.set()
        assert simulation.wait(PATIENCE)
    assert running.name == "dig"
    assert running.since > 50_000
