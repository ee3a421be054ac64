"""The likeness of an agent shows what the agent shows: its cast, its tools' schemas, and its fingerprint."""

from __future__ import annotations

import pytest
from google.adk.agents import BaseAgent, LlmAgent
from google.adk.tools.agent_tool import AgentTool
from pydantic import BaseModel

from simulator import SimulatedAgentConfig, demo_agent
from simulator.agents import DEMOS
from simulator.agents.agent_directory import directory_of
from simulator.kernel.agent_outline import AgentOutline, likeness, outlined
from simulator.runtime.knowledge.tool_shapes import ToolShapes, agents_as_tools


def likeness_of(config: SimulatedAgentConfig) -> object:
    """Make one from the outline as it comes over."""
    return likeness(AgentOutline.model_validate_json(outlined(config).model_dump_json()))


@pytest.mark.parametrize("name", sorted(DEMOS))
def test_a_demo_and_its_likeness_look_the_same(name: str) -> None:
    """To the page, and to all that compares schemas."""
    config = demo_agent(name)
    like = likeness_of(config)
    assert directory_of(like) == directory_of(config.root_agent)
    assert ToolShapes(like).known({}, ()) == ToolShapes(config.root_agent).known({}, ())
    assert agents_as_tools(like) == agents_as_tools(config.root_agent)


class Ticket(BaseModel):
    """What the agent takes."""

    number: int


def test_agents_as_tools_and_below_workflows() -> None:
    """Their tools are found where they were."""

    def look_up(word: str) -> dict[str, str]:
        """Look up a word."""
        return {"word": word}

    helper = LlmAgent(name="helper", model="gemini-2.5-flash", description="Helps.", tools=[look_up])
    first = LlmAgent(name="first", model="gemini-2.5-flash", tools=[AgentTool(helper)], input_schema=Ticket)
    config = SimulatedAgentConfig("flow", BaseAgent(name="flow", sub_agents=[first]), "flow.evalset.json")
    like = likeness_of(config)
    assert directory_of(like) == directory_of(config.root_agent)
    assert agents_as_tools(like) == {"helper": "helper"}
    assert ToolShapes(like).known({}, ()).keys() == {"look_up"}
