"""Small agents with scripted models, and the sessions that people play with them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import Field

from simulator.agent_config import SimulatedAgentConfig
from simulator.runtime import Simulation

PATIENCE = 60.0
"""Seconds after which a session that does not come to rest has failed its test."""


class Scripted(BaseLlm):
    """A model that makes its turns one after another, whatever it is asked; after the last it says "done"."""

    model: str = "scripted"
    turns: list[list[types.Part]] = Field(default_factory=list)
    made: int = 0

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Make the next turn."""
        parts = self.turns[self.made] if self.made < len(self.turns) else [say("done")]
        self.made += 1
        yield LlmResponse(
            content=types.Content(role="model", parts=[part.model_copy(deep=True) for part in parts])
        )


def say(text: str) -> types.Part:
    """Make a part that says something."""
    return types.Part(text=text)


def call(name: str, **arguments: Any) -> types.Part:
    """Make a part that calls a tool."""
    return types.Part(function_call=types.FunctionCall(name=name, args=arguments))


def agent(*turns: list[types.Part], **more: Any) -> LlmAgent:
    """Make an agent whose model makes these turns."""
    return LlmAgent(name=more.pop("name", "order_desk"), model=Scripted(turns=list(turns)), **more)


def find_order(order_id: str) -> dict[str, Any]:
    """Find an order."""
    return {"order_id": order_id, "status": "real"}


def refund(order_id: str, amount: float) -> dict[str, Any]:
    """Pay money back."""
    return {"refunded": amount, "order_id": order_id}


def opened(of: Any, **more: Any) -> Simulation:
    """Open a session with an agent."""
    config = SimulatedAgentConfig("Order Desk", of, "orders.evalset.json", app_name="order_desk")
    return Simulation.open(config, seed="seed", clock=more.pop("clock", lambda: 1_700_000_000.125), **more)


def answer(sim: Simulation, *answers: Any) -> None:
    """Answer what waits for a person, the oldest first, one after another."""
    for each in answers:
        assert sim.answer(sim.pending[0], each, wait=PATIENCE)


def ask(sim: Simulation, text: str, *answers: Any) -> None:
    """Let the user ask, and answer the tools."""
    assert sim.query(text, wait=PATIENCE)
    answer(sim, *answers)
