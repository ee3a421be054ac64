"""Describes the agents of a tree as datasets of Agent Platform do: instructions, tools and sub-agents."""

from __future__ import annotations

from typing import Any, NamedTuple

from google.adk.agents import LlmAgent
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool

from simulator.runtime.adk.adk_private import all_below, is_steering
from simulator.runtime.adk.codec import jsonable
from simulator.runtime.turns.request_views import describe_tool


class AgentCards(NamedTuple):
    """The agents of a tree by their names, and in sentences what is not said of them."""

    agents: dict[str, dict[str, Any]]
    losses: tuple[str, ...] = ()


def agent_cards(root: Any) -> AgentCards:
    """Describe an agent that is loaded, and all that it reaches.

    Args:
        root: The root agent or workflow.
    """
    found: dict[str, dict[str, Any]] = {}
    losses: list[str] = []
    for node in all_below(root):
        name = str(getattr(node, "name", ""))
        if isinstance(node, LlmAgent) and name not in found:
            found[name] = _card(node, losses)
    return AgentCards(found, tuple(losses))


def _card(agent: LlmAgent, losses: list[str]) -> dict[str, Any]:
    card: dict[str, Any] = {"agent_id": agent.name, "agent_type": "LlmAgent"}
    if agent.description:
        card["description"] = agent.description
    instruction = getattr(agent, "instruction", "")
    if isinstance(instruction, str):
        card |= {"instruction": instruction} if instruction else {}
    else:
        losses.append(f"the instruction of the agent {agent.name!r} is made by code and is left out")
    tools = [declared for tool in agent.tools if (declared := _declared(tool, agent, losses))]
    if tools:
        card["tools"] = [{"function_declarations": tools}]
    below = [str(child.name) for child in agent.sub_agents]
    return card | ({"sub_agents": below} if below else {})


def _declared(tool: Any, agent: LlmAgent, losses: list[str]) -> dict[str, Any] | None:
    as_tool = tool if isinstance(tool, BaseTool) else FunctionTool(tool) if callable(tool) else None
    if as_tool is None:
        losses.append(
            f"the tools of {type(tool).__name__} of the agent {agent.name!r} are only known when it runs"
        )
        return None
    if is_steering(as_tool):
        return None
    try:
        declared = describe_tool(as_tool)
    except Exception as error:  # noqa: BLE001 - a declaration is made by somebody's code
        losses.append(f"the tool {as_tool.name!r} of the agent {agent.name!r} cannot be described: {error}")
        return None
    return {
        "name": declared.name,
        "description": declared.description,
        "parameters_json_schema": jsonable(declared.parameters),
    }
