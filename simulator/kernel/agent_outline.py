"""The outline of an agent: its agents, tools and declarations as data, and an agent made from it that nobody can run.

A kernel draws the outline of the agent that it has loaded; the studio makes a likeness of it, on which everything that only
looks at an agent works as on the agent itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NoReturn

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from pydantic import BaseModel, Field

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_directory import ELSEWHERE, StateNeeds, runs_elsewhere
from simulator.agents.agent_fingerprint import loaded_fingerprint
from simulator.agents.agent_source import source_of
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.runtime.adk.adk_private import children_of, has_own_code, is_steering, node_of, runs_agents
from simulator.runtime.knowledge.instruction_state import state_needs
from simulator.runtime.models.reachability import unreachable_models
from simulator.runtime.turns.waiting_request import describe_tool
from simulator.seats.requests import ToolDeclaration


class ToolOutline(Value):
    """A tool: its declaration, where it has one; `agent` is the place of the agent that it runs, `is_set` tells a tool set."""

    name: str
    description: str = ""
    declaration: ToolDeclaration | None = None
    agent: int | None = None
    is_set: bool = False


class NodeOutline(Value):
    """An agent or a node of a workflow; `below` are the places of those right below it. `model` is None where it takes no turns.

    `instruction` is None where code makes it.
    """

    name: str
    description: str = ""
    instruction: str | None = ""
    model: str | None = None
    tools: tuple[ToolOutline, ...] = ()
    below: tuple[int, ...] = ()
    input_schema: JsonObject | None = None


class AgentOutline(Value):
    """An agent as it was loaded: its nodes, the root first.

    Attributes:
        name: The config's name.
        nodes: Every agent and node, each once.
        app_name: ADK's name of the app.
        has_app: The module has an `App`, whose plugins are kept.
        eval_set_path: Where its golden traces go by default.
        origin: Where it comes from.
        fingerprint: As `loaded_fingerprint` gives it.
        unreachable: Why the models of some agents cannot be asked from its environment, by the agent's name.
        rewrites: Whether a callback may change what a tool answered.
        own_code: The nodes whose own code may run tools, or make agents, that are only known when it runs.
        source: Its folder or file, as `source_of` gives it.
        needs: What its instructions need of the state.
        placeholders: As `SimulatedAgentConfig` has them.
    """

    name: str
    nodes: tuple[NodeOutline, ...]
    app_name: str
    has_app: bool = False
    eval_set_path: str
    origin: str = ""
    fingerprint: str = ""
    unreachable: dict[str, str] = Field(default_factory=dict)
    rewrites: bool = False
    own_code: tuple[str, ...] = ()
    source: str = ""
    needs: StateNeeds = StateNeeds()
    placeholders: tuple[str, ...] = ()


def outlined(config: SimulatedAgentConfig) -> AgentOutline:
    """Draw the outline of an agent that was loaded here."""
    nodes: dict[int, Any] = {}
    _collect(config.root_agent, nodes)
    places = {key: place for place, key in enumerate(nodes)}
    own_code = own_code_of(config)
    return AgentOutline(
        name=config.name,
        nodes=tuple(_node(node, places) for node in nodes.values()),
        app_name=config.app_name,
        has_app=config.agent is not config.root_agent,
        eval_set_path=str(config.resolve_eval_set_path()),
        origin=config.origin,
        fingerprint=loaded_fingerprint(config.root_agent),
        unreachable=unreachable_models(config.root_agent, os.environ),
        rewrites=any(getattr(node, "after_tool_callback", None) for node in nodes.values()),
        own_code=own_code,
        source=str(source_of(config) or ""),
        needs=state_needs(config.agent, bool(own_code)),
        placeholders=config.placeholders,
    )


def own_code_of(config: SimulatedAgentConfig) -> tuple[str, ...]:
    """Return the nodes, and the tools that run agents, of an agent that was loaded here that run code of its own, by name."""
    nodes: dict[int, Any] = {}
    _collect(config.root_agent, nodes)
    tools = (tool for node in nodes.values() for tool in _tools(node))
    own = [
        *(node for node in nodes.values() if runs_own_code(node)),
        *(tool for tool in tools if runs_agents(tool) and has_own_code(tool)),
    ]
    return tuple(str(getattr(each, "name", "")) for each in own)


def runs_own_code(node: Any) -> bool:
    """Return whether a node is of a class of the agent's, or a function that runs nodes and tools itself."""
    kind = type(node)
    if not kind.__module__.startswith("google.adk."):
        return True
    return kind.__name__ == "FunctionNode" and bool(getattr(node, "rerun_on_resume", False))


def _collect(node: Any, found: dict[int, Any]) -> None:
    if id(node) in found:
        return
    found[id(node)] = node
    inside = (node_of(tool) for tool in _tools(node))
    for child in (*filter(None, inside), *children_of(node)):
        _collect(child, found)


def _tools(node: Any) -> list[Any]:
    own = getattr(node, "tools", None)
    single = getattr(node, "tool", None)
    return [*(own if isinstance(own, (list, tuple)) else ()), *((single,) if single is not None else ())]


def _node(node: Any, places: Mapping[int, int]) -> NodeOutline:
    schema = getattr(node, "input_schema", None)
    is_played = "model" in type(node).model_fields
    model = ELSEWHERE if runs_elsewhere(node) else getattr(node, "model", "") if is_played else None
    instruction = getattr(node, "instruction", "")
    return NodeOutline(
        name=str(node.name),
        description=str(getattr(node, "description", "") or ""),
        instruction=instruction if isinstance(instruction, str) else None,
        model=model if model is None or isinstance(model, str) else str(getattr(model, "model", "")),
        tools=tuple(_tool(tool, places) for tool in _tools(node)),
        below=tuple(places[id(child)] for child in children_of(node)),
        input_schema=_schema(schema),
    )


def _schema(schema: Any) -> JsonObject | None:
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return None
    if schema.__module__.startswith("google.genai"):  # it takes any message
        return None
    try:
        return schema.model_json_schema()
    except Exception:  # noqa: BLE001 - pydantic runs code of the described classes, which may raise anything
        return None


def _tool(tool: Any, places: Mapping[int, int]) -> ToolOutline:
    if hasattr(tool, "get_tools"):
        return ToolOutline(name=type(tool).__name__, is_set=True)
    name = str(getattr(tool, "name", None) or getattr(tool, "__name__", type(tool).__name__))
    inner = node_of(tool)
    described = _declared(tool)
    own_words = getattr(tool, "description", None) or getattr(tool, "__doc__", None) or ""
    return ToolOutline(
        name=name,
        description=str(own_words),
        declaration=described,
        agent=places[id(inner)] if isinstance(inner, BaseAgent) else None,
    )


def _declared(tool: Any) -> ToolDeclaration | None:
    as_tool = tool if isinstance(tool, BaseTool) else FunctionTool(tool) if callable(tool) else None
    if as_tool is None or is_steering(as_tool):
        return None
    try:
        return describe_tool(as_tool)
    except Exception:  # noqa: BLE001 - a declaration is made by somebody's code; ADK says so when it is used
        return None


class LikenessTool(BaseTool):
    """A tool that is declared as its original is, and does nothing."""

    def __init__(self, outline: ToolOutline) -> None:
        super().__init__(name=outline.name, description=outline.description or outline.name)
        self._outline = outline
        self.dropped_places = outline.declaration.dropped if outline.declaration else ()

    def _get_declaration(self) -> types.FunctionDeclaration | None:
        declared = self._outline.declaration
        if declared is None:
            return None
        return types.FunctionDeclaration(
            name=declared.name,
            description=declared.description,
            parameters_json_schema=declared.parameters,
            response_json_schema=declared.response,
        )

    async def run_async(self, **_: Any) -> NoReturn:
        """Refuse: the agent's code is in its kernel."""
        raise RuntimeError(f"the tool {self.name} runs only in the agent's process")


def likeness(outline: AgentOutline) -> BaseAgent:
    """Make an agent that looks like the outline's, and runs nothing.

    Unchecked, as names in workflows and shared agents need not be what ADK asks of a tree of agents.
    """
    made: list[Any] = [
        BaseAgent.model_construct(name=node.name, description=node.description)
        if node.model is None
        else LlmAgent.model_construct(
            name=node.name,
            description=node.description,
            instruction=_made_by_code if node.instruction is None else node.instruction,
            model=node.model,
            input_schema=_input_class(node.input_schema),
        )
        for node in outline.nodes
    ]
    for node, agent in zip(outline.nodes, made, strict=True):
        agent.sub_agents = [made[place] for place in node.below]
        if node.model is not None:
            agent.tools = [_likeness_of_tool(tool, made) for tool in node.tools]
        elif node.tools:
            agent.__dict__["tools"] = [_likeness_of_tool(tool, made) for tool in node.tools]
    root: BaseAgent = made[0]
    return root


def _made_by_code(_: Any) -> str:
    """Stand for an instruction that code makes in the agent's own process."""
    return ""


def _likeness_of_tool(tool: ToolOutline, made: list[Any]) -> Any:
    if tool.is_set:
        return type(tool.name, (), {"get_tools": None})()
    if tool.agent is None:
        return LikenessTool(tool)
    asks = AgentTool(made[tool.agent])
    vars(asks)["dropped_places"] = tool.declaration.dropped if tool.declaration else ()
    return asks


def _input_class(schema: JsonObject | None) -> type[BaseModel] | None:
    """Make a class that says what the agent's own class says; only that one can hold a message to it."""
    if schema is None:
        return None
    told = dict(schema)

    class Input(BaseModel):
        """What the agent takes."""

        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            """Return the schema."""
            return dict(told)

    return Input
