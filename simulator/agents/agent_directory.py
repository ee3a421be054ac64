"""Who and what there is in an agent, as far as it is known without running it: its agents and tools, and what it expects of a query and of the state.

The tools of a server (MCP, OpenAPI) are only known once the agent has been shown them.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, Field, JsonValue, ValidationError
from pydantic.errors import PydanticUserError

from simulator.agent_config import SimulatedAgentConfig
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.base.secret_masking import error_words
from simulator.facts import EVERY, ToolPlayer
from simulator.session.history import ToolCall
from simulator.session.model import SimulationSession


class UnfitMessageError(ValueError):
    """A message does not fit the agent's input schema; the text may come from outside."""


def input_schema(agent: Any) -> JsonObject | None:
    """Return the JSON schema of what the agent takes; None where it takes any text."""
    model = _model_of(agent)
    if model is None:
        return None
    try:
        return model.model_json_schema()
    except PydanticUserError:  # it has a field that JSON Schema has no words for
        return None


def check_message(agent: Any, message: str | JsonObject) -> None:
    """Hold a message to the agent's input schema, as ADK does when the turn begins.

    ADK reads the message's text as JSON where it is JSON, and as a text else; a model may take either.

    Raises:
        UnfitMessageError: It does not fit; the text says where.
    """
    model = _model_of(agent)
    if model is None:
        return
    try:
        model.model_validate(_payload(message if isinstance(message, str) else _text_of(message)))
    except ValidationError as error:
        raise UnfitMessageError("\n".join(_line(each) for each in error.errors())) from error
    except Exception as error:  # the model's own validators may raise anything, and would in the turn too
        raise UnfitMessageError(error_words(error)) from error


def check_here(config: SimulatedAgentConfig, message: str | JsonObject) -> None:
    """As `check_message`, of the agent that was loaded in this process; the studio has an agent's process do it."""
    check_message(config.root_agent, message)


def _model_of(agent: Any) -> type[BaseModel] | None:
    """Return the model that ADK checks messages with; a schema of any other kind it does not check."""
    schema = getattr(agent, "input_schema", None)
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return None
    takes_any_message = schema.__name__ == "Content" and schema.__module__.startswith("google.genai")
    return None if takes_any_message else schema


def _text_of(message: JsonObject) -> str:
    parts = message.get("parts")
    texts = [
        part.get("text")
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict) and not part.get("thought")
    ]
    return "".join(text for text in texts if isinstance(text, str))


def _payload(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or a number of more digits than Python reads
        return text
    return value


def _line(error: Any) -> str:
    where = ".".join(str(step) for step in error["loc"])
    return f"{where}: {error['msg']}" if where else str(error["msg"])


class StateNeeds(Value):
    """What the instructions of an agent need of the state.

    Attributes:
        keys: The keys without which an agent's model cannot be asked, by the agent's name; those that code may set are left out.
        first: The agents whose models are asked before anything else of the agent runs.
        then: The keys that agents need whose models are certainly asked after those, with nothing between that may set a key but replies that are kept: without
            the keys of these.
        kept: The keys under which agents keep their replies.
    """

    keys: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    first: tuple[str, ...] = ()
    then: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    kept: tuple[str, ...] = ()

    @property
    def certain(self) -> tuple[str, ...]:
        """The keys without which the first message of a session certainly fails."""
        needed = (*(self.keys.get(name, ()) for name in self.first), *self.then.values())
        return tuple(dict.fromkeys(key for keys in needed for key in keys))


_ELSEWHERE = frozenset({"RemoteA2aAgent", "LangGraphAgent", "ManagedAgent", "AntigravityAgent"})
"""ADK's classes of agents that somebody else's program runs: another machine, or a library with models and tools of its own."""
_OF_THE_FRAMEWORK = frozenset({"transfer_to_agent", "exit_loop", "set_model_response", "finish_task"})


ELSEWHERE = "runs elsewhere"
"""What stands in the place of the model of such an agent."""


class ToolCard(Value):
    """A tool, or a whole set of tools that is not known yet; `is_agent` tells an agent that is used as a tool."""

    name: str
    description: str = ""
    is_set: bool = False
    is_agent: bool = False


class AgentCard(Value):
    """An agent; `is_played` tells those that take turns of their own from those that only arrange others."""

    name: str
    description: str = ""
    model: str = ""
    tools: tuple[ToolCard, ...] = ()
    is_played: bool = False


class AgentDirectory(Value):
    """The agents that can be reached from the root, the root first; `input_schema` is that of the root's queries."""

    agents: tuple[AgentCard, ...] = ()
    input_schema: JsonObject | None = None

    @property
    def tools(self) -> tuple[ToolCard, ...]:
        """All tools by name, each once."""
        return tuple({tool.name: tool for agent in self.agents for tool in agent.tools}.values())


def directory_of(agent: Any) -> AgentDirectory:
    """Describe an ADK agent or workflow by its public attributes; what is not there is left out."""
    return AgentDirectory(agents=tuple(map(_card, _walk(agent, set()))), input_schema=input_schema(agent))


def said_together(reasons: Mapping[str, str]) -> tuple[str, ...]:
    """Say what is so of agents, by their names, in a line for each reason: those of the same one stand together."""
    told: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        told.setdefault(reason, []).append(name)
    return tuple(f"{', '.join(names)}: {reason}" for reason, names in told.items())


def runs_elsewhere(agent: Any) -> bool:
    """Return whether what an agent says comes from a program that ADK only asks: it has a seat as a whole."""
    return any(map(is_elsewhere, type(agent).__mro__))


def is_elsewhere(kind: type) -> bool:
    """Return whether a class is one of ADK's for such agents."""
    return kind.__name__ in _ELSEWHERE and kind.__module__.startswith("google.adk.")


def _walk(node: Any, seen: set[int]) -> Iterator[Any]:
    if id(node) in seen or not isinstance(getattr(node, "name", None), str):
        return
    seen.add(id(node))
    yield node
    inside = [getattr(tool, "agent", None) or getattr(tool, "node", None) for tool in _tools_of(node)]
    graph = getattr(getattr(node, "graph", None), "nodes", None)
    for child in (*(getattr(node, "sub_agents", None) or ()), *filter(None, inside), *(graph or ())):
        yield from _walk(child, seen)


def _tools_of(node: Any) -> list[Any]:
    tools = getattr(node, "tools", None)
    return list(tools) if isinstance(tools, (list, tuple)) else []


def _card(node: Any) -> AgentCard:
    is_elsewhere = runs_elsewhere(node)
    asks = getattr(node, "classifier", node)
    is_played = is_elsewhere or "model" in getattr(type(asks), "model_fields", {})
    return AgentCard(
        name=node.name,
        description=_first_paragraph(getattr(node, "description", "")),
        model=ELSEWHERE if is_elsewhere else _model_name(asks) if is_played else "",
        tools=tuple(card for tool in _tools_of(node) if (card := _tool_card(tool))),
        is_played=is_played,
    )


def _model_name(node: Any) -> str:
    model = getattr(node, "model", "")
    return str(model if isinstance(model, str) else getattr(model, "model", type(model).__name__))


def _tool_card(tool: Any) -> ToolCard | None:
    if hasattr(tool, "get_tools"):
        return ToolCard(
            name=type(tool).__name__, description="tools are listed after the first model call", is_set=True
        )
    name = getattr(tool, "name", None) or getattr(tool, "__name__", None)
    described = getattr(tool, "description", None) or inspect.getdoc(tool) or ""
    if not isinstance(name, str):
        return None
    is_agent = isinstance(getattr(getattr(tool, "agent", None), "name", None), str)
    return ToolCard(name=name, description=_first_paragraph(described), is_agent=is_agent)


def _first_paragraph(text: Any) -> str:
    return " ".join(str(text or "").strip().split("\n\n")[0].split())


def steers(directory: AgentDirectory, tool_name: str) -> bool:
    """Recognise a tool by which ADK steers its own flow, so that no rule can answer it; a tool of the agent's own may have such a name."""
    return tool_name in _OF_THE_FRAMEWORK and all(tool.name != tool_name for tool in directory.tools)


def tool_player(directory: AgentDirectory, session: SimulationSession, tool_name: str) -> ToolPlayer:
    """Return who answers a tool; an agent that is used as a tool runs, unless somebody sat down for it by its name."""
    is_agent = any(tool.is_agent and tool.name == tool_name for tool in directory.tools)
    return session.seats.tools.get(tool_name, "real") if is_agent else session.seats.of_tool(tool_name)


def known_tools(
    directory: AgentDirectory, session: SimulationSession, declared: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the names of the tools that may be called, each once: the agent's, those a model was shown, those called."""
    own = (tool.name for tool in directory.tools if not tool.is_set)
    called = (entry.tool_name for entry in session.history if isinstance(entry, ToolCall))
    ruled = (rule.tool_name for rule in session.rules)
    names = dict.fromkeys((*own, *declared, *called, *ruled, *_named(session.seats.tools)))
    return tuple(name for name in names if name not in _OF_THE_FRAMEWORK)


def known_agents(directory: AgentDirectory, session: SimulationSession) -> tuple[str, ...]:
    """Return the names of the agents that take turns: those of the agent, those met, those somebody sat down for."""
    own = (agent.name for agent in directory.agents if agent.is_played)
    met = (str(getattr(entry, "agent", "")) for entry in session.history)
    return tuple(name for name in dict.fromkeys((*own, *met, *_named(session.seats.agents))) if name)


def _named(players: Iterable[str]) -> list[str]:
    return [name for name in players if name != EVERY]
