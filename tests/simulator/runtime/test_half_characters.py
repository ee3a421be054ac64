"""Half of a surrogate pair, from wherever it comes, becomes a question mark: the journal can be written, and read again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from simulator.base.json_values import write
from simulator.runtime import Simulation
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, entries, opened, say

HALF = "half \ud800"


def look(what: str) -> dict[str, str]:
    """Look for something."""
    return {"found": what}


def fails(what: str) -> dict[str, str]:
    """Fail."""
    raise ValueError(f"{what} {HALF}")


async def keeps(what: str, tool_context: ToolContext) -> str:
    """Keep a file, and a word in the state."""
    await tool_context.save_artifact(HALF, types.Part(text=f"{what} {HALF}"))
    tool_context.state[HALF] = {HALF: HALF}
    return HALF


def _tool_agent(tool: Callable[..., Any] = look, **more: Any) -> LlmAgent:
    return agent_of([call(tool.__name__, what="x")], tools=[tool], **more)


def _answers(**_: Any) -> dict[str, str]:
    return {HALF: HALF}


def _into_state(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, **_: Any) -> None:
    tool_context.state["word"] = f"{tool.name} {args['what']} {HALF}"


def _says(**_: Any) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[say(HALF)]))


def _content(**_: Any) -> types.Content:
    return types.Content(role="model", parts=[say(HALF)])


async def _saves(callback_context: Any) -> None:
    await callback_context.save_artifact(HALF, types.Part(text=HALF))


def _shouts(request: LlmRequest) -> list[types.Part]:
    return [say(f"{len(request.contents)} {HALF}")]


AGENTS: dict[str, Callable[[], LlmAgent]] = {
    "after_tool": lambda: _tool_agent(after_tool_callback=_answers),
    "before_tool": lambda: _tool_agent(before_tool_callback=_answers),
    "state by a callback": lambda: _tool_agent(after_tool_callback=_into_state),
    "after_model": lambda: agent_of([say("x")], after_model_callback=_says),
    "before_model": lambda: agent_of([say("x")], before_model_callback=_says),
    "before_agent": lambda: agent_of([say("x")], before_agent_callback=_content),
    "artifact by a callback": lambda: agent_of([say("x")], after_agent_callback=_saves),
    "model": lambda: agent_of(_shouts),
    "arguments": lambda: agent_of([call("look", what=HALF)], tools=[look]),
    "model error": lambda: agent_of(ValueError(HALF)),
    "tool error": lambda: _tool_agent(fails),
    "tool": lambda: _tool_agent(keeps),
    "instruction": lambda: agent_of([say("x")], instruction=HALF),
}


@pytest.mark.parametrize("name", AGENTS)
def test_every_fact_can_be_written_and_executed_again(name: str) -> None:
    """Two turns, the second of which sees the first; every step is executed again with the same events."""
    with opened(AGENTS[name](), agents="model", tools="real") as sim:
        for query in ("first", HALF):
            assert sim.query(query, wait=PATIENCE)
        _is_written(sim)
        for number in range(3, len(sim.journal)):
            assert sim.move_head(number, wait=PATIENCE)
            assert sim.view().divergence is None
            assert sim.go_on(wait=PATIENCE)
        _is_written(sim)


def test_what_a_person_and_the_first_state_hold_is_whole_too() -> None:
    """A message as a text and as a content, and the state that a session begins with."""
    with opened(agent_of([say("x")]), agents="model", initial_state={HALF: [HALF]}) as sim:
        assert sim.session.initial_state == {"half ?": ["half ?"]}
        assert sim.query({"role": "user", "parts": [{"text": HALF}]}, wait=PATIENCE)
        assert entries(sim, "user_query")[0].content == "half ?"
        _is_written(sim)


def _is_written(sim: Simulation) -> None:
    for number in range(len(sim.journal)):
        assert write(sim.journal.fact(number).model_dump(mode="json"))
    assert sim.view().model_dump_json()
