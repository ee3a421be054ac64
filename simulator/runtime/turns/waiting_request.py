"""A tool call as those see it who answer it (`Call`); a request that waits at a boundary, from the moment it is asked until its answer is a fact; and how a person reads it."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool

from simulator.base.json_values import JsonObject
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.recordings import NO_EFFECTS, ToolEffects
from simulator.environment.world.tool_settings import DeclaredTool
from simulator.facts import Answered, Outcome, RaisedError
from simulator.runtime.adk.boundaries import CodeCall, ModelCall, ToolBoundaryCall
from simulator.runtime.adk.cancellation import OwnSteps
from simulator.runtime.adk.codec import jsonable, whole, whole_text, written_state
from simulator.runtime.adk.declarations import (
    Described,
    declaration_json,
    described_response,
    dropped_places,
    examples_of,
    response_schema_of,
    schema_json,
)
from simulator.runtime.errors import SimulationError
from simulator.runtime.turns.outcomes import NOTHING_FIRED, Firing
from simulator.seats.requests import ModelRequest, Request, ToolDeclaration

CallT = TypeVar("CallT", ModelCall, ToolBoundaryCall, CodeCall)


@dataclass(slots=True, kw_only=True)
class Call:
    """A tool call as those see it who answer it: what a plugin is asked, or a request that waits.

    Attributes:
        name: The tool's name.
        agent: The agent that calls.
        arguments: What is asked, in JSON, as it was when it was asked.
        tool: The tool.
        context: ADK's context of the call, or what a person gave in its place.
        call_id: ADK's id of the function call.
        branch: ADK's branch of the agent.
        firing: What the injection rules said.
        number: Which call of its tool it then was; 0 before.
        at: When it is asked, in seconds since the epoch; 0 where that is not told.
        then: The session's state that it saw, where it is kept.
    """

    name: str
    agent: str
    arguments: JsonObject
    tool: Any = None
    context: Any = None
    call_id: str = ""
    branch: str = ""
    firing: Firing = NOTHING_FIRED
    number: int = 0
    at: float = 0.0
    then: JsonObject | None = field(default=None, repr=False)

    @classmethod
    def of(cls, tool: BaseTool, arguments: Mapping[str, Any], context: Any, *, at: float = 0.0) -> Call:
        """Return a call of a tool with what a context says of it, which may be none of ADK's."""
        return cls(
            name=tool.name,
            agent=_text(context, "agent_name"),
            arguments=jsonable(dict(arguments)),
            tool=tool,
            context=context,
            call_id=_text(context, "function_call_id"),
            branch=_text(context, "branch"),
            at=at,
            then=None if hasattr(getattr(context, "state", None), "to_dict") else {},
        )

    def state(self) -> JsonObject | None:
        """Return ADK's session state as the call sees it; None where it is not known."""
        return self.then if self.then is not None else written_state(self.context)


def _text(context: Any, name: str) -> str:
    found = getattr(context, name, None)
    return found if isinstance(found, str) else ""


C = TypeVar("C", bound=Call)


@dataclass(slots=True, kw_only=True)
class WaitingRequest(Call, Generic[CallT]):
    """One open request of the turn in progress.

    `job` is the task that finds an answer without a person; `here` says that the asking task itself is about to find
    one; `is_queued` that the job waits for another real call to end, and can be
    taken back (`is_behind` that it waits for one at all; `steps` are those of the real tool while it runs); `for_person` that nobody but a person will.
    `name` is the agent's, the tool's or "code", and a request that is no tool call has no arguments; `around` is what was set where it was asked, and `asked` how far the loop had come then.
    `judged` says that the injection rules were asked, and `latency` how many seconds they took. `came_back` is set where a person came back to this request: they have it first, and `would_answer` says who would answer by themselves: a player, or a rule by its id. `note` tells the person why it came to
    them, and `held` is an answer that a generator made and that a person has to look at, `held_by` who made it, and
    `held_from` out of what, and `held_effects` what comes with it. `gave_up` says why who was to answer could not, where that is so. `drafting` is the task
    that asks a model for a draft meanwhile, `progress` what it is at. `drafted_at` is how many answers its draft knows of.
    `effects_done` is set where the real tool ran in this very call, so its effects are in place already. `spoken` is
    the one response of the agent's own model, where it was asked in this very call. `running_by` is who works in place
    of a tool: the environment's model, or the rules that delay it for the seconds `delay`; empty for the tool itself. `traceback` is that of the real tool, where it raised. `declared`
    is the tool as it was declared when it was first asked for here. `runs_agent` and `has_no_code` are those of a tool's call: an agent with seats
    of its own does its work, or nothing real can. `own` is what the agent of a tool has answered, with the
    rules that may still change that.
    """

    key: str
    call: CallT
    parts: dict[str, str]
    future: asyncio.Future[Answered]
    around: contextvars.Context
    started: float
    asked: int
    own: tuple[Outcome, Firing] | None = None
    since: float = 0.0
    may_have_run: bool = False
    came_back: bool = False
    would_answer: str = ""
    for_person: bool = False
    job: asyncio.Task[None] | None = None
    here: bool = False
    is_queued: bool = False
    is_behind: bool = False
    steps: OwnSteps | None = field(default=None, repr=False)
    rules: tuple[InjectionRule, ...] = ()
    judged: bool = False
    latency: float = 0.0
    note: str = ""
    gave_up: str = ""
    held: Any = None
    held_by: str = ""
    held_from: tuple[str, ...] = ()
    held_effects: ToolEffects = NO_EFFECTS
    drafting: asyncio.Task[None] | None = None
    progress: str = ""
    drafted_at: int = -1
    running: bool = False
    running_text: str = ""
    running_by: str = ""
    delay: float | None = 0
    proposal: tuple[JsonObject, ...] | None = None
    failure: RaisedError | None = None
    effects_done: bool = False
    traceback: str | None = None
    spoken: LlmResponse | None = None
    declared: ToolDeclaration | None = field(default=None, repr=False)
    shown: Request | None = field(default=None, repr=False)
    runs_agent: bool = False
    has_no_code: bool = False

    @property
    def is_taken(self) -> bool:
        """Whether somebody is about to answer, or has answered; not while a real call only waits for its turn."""
        is_at_work = self.job is not None and not self.is_queued
        return self.here or is_at_work or self.future.done()

    def fails(self, why: str) -> None:
        """Note why who was to answer could not."""
        self.note = self.gave_up = why

    def wants_person(self) -> None:
        """Hand the request to a person."""
        self.for_person, self.running, self.shown = True, False, None

    def note_steps(self, steps: OwnSteps) -> None:
        """Keep the steps that the real tool takes, to tell what it waits for."""
        self.steps = steps

    def note_traceback(self, text: str) -> None:
        """Take down the traceback of the real tool that raised."""
        self.traceback = text

    def is_let_go(self) -> None:
        """Let those who sit there answer what a person came back to; the rules are asked again, and say the same."""
        # What rules count and draw is folded from the facts.
        self.came_back = self.judged = False
        self.would_answer, self.firing, self.shown = "", NOTHING_FIRED, None


_TRANSFER = "transfer_to_agent"
_SHOWN_APART = frozenset(
    {"system_instruction", "tools", "response_schema", "response_json_schema", "http_options", "labels"}
)


def model_request(call: ModelCall, key: str, turn: int) -> ModelRequest:
    """Describe exactly what the model would see."""
    request = call.request
    tools = declared_tools(request)
    config = request.config
    schema = config.response_schema if config.response_schema is not None else config.response_json_schema
    other = {
        name: jsonable(value)
        for name in sorted(config.model_fields_set)
        if name not in _SHOWN_APART and (value := getattr(config, name)) is not None
    }
    return ModelRequest(
        key=key,
        turn=turn,
        agent=call.agent,
        model_name=request.model or call.model.model,
        system_instruction=whole_text(_as_text(config.system_instruction)),
        contents=tuple(
            whole(content.model_dump(mode="json", exclude_none=True)) for content in request.contents
        ),
        tools=tools,
        response_schema=None if schema is None else schema_json(schema),
        transfer_targets=_targets(tools),
        other_config=other,
    )


def declared_tools(request: LlmRequest) -> tuple[ToolDeclaration, ...]:
    """Return the declarations of a request's tools, as the model sees them."""
    declared: list[ToolDeclaration] = []
    for tool in request.config.tools or ():
        for declaration in getattr(tool, "function_declarations", None) or ():
            described = declaration_json(declaration)
            known = request.tools_dict.get(described.name)
            if known is not None:
                response = described.response or response_schema_of(known)
                described = described.model_copy(
                    update={"response": response, "dropped": dropped_places(known)}
                )
            declared.append(described)
    return tuple(declared)


def describe_tool(tool: BaseTool) -> ToolDeclaration:
    """Return a tool's own declaration, with what else it says of its responses; a tool without one has its name and description."""
    declaration = tool._get_declaration()  # noqa: SLF001 - ADK's own flow reads declarations by this name only
    if declaration is None:
        return ToolDeclaration(name=tool.name, description=tool.description or "")
    described = declaration_json(declaration)
    response = described.response or response_schema_of(tool)
    if response is None and isinstance(tool, AgentTool):
        output = getattr(tool.agent, "output_schema", None)
        response = {"type": "string"} if output is None else schema_json(output)  # what an agent says is text
    api = described_response(tool)
    if response is None and api.schema is not None:
        response = schema_json(api.schema) or None
    examples = examples_of(api, response)
    more = {"response": response, "response_examples": examples, "dropped": dropped_places(tool)}
    return described.model_copy(update=more)


def held_to(tool: ToolDeclaration, schema: JsonObject | None) -> ToolDeclaration:
    """Return a tool's declaration with the output schema that a person has set, and the examples in it; None for none."""
    if schema is None:
        return tool
    examples = examples_of(Described(), schema) or tool.response_examples
    return tool.model_copy(update={"response": schema, "response_examples": examples})


def _as_text(instruction: Any) -> str:
    if instruction is None or isinstance(instruction, str):
        return instruction or ""
    parts = getattr(instruction, "parts", None)
    if parts is not None:
        return "\n".join(part.text for part in parts if part.text)
    return str(jsonable(instruction))


def _targets(tools: tuple[ToolDeclaration, ...]) -> tuple[str, ...]:
    for tool in tools:
        if tool.name == _TRANSFER:
            properties: Any = tool.parameters.get("properties") or {}
            return tuple((properties.get("agent_name") or {}).get("enum") or ())
    return ()


def declared_from(tool: DeclaredTool | Callable[..., Any]) -> DeclaredTool:
    """Return a declared tool as it is, or one of a function's signature and docstring; its body is never run.

    Raises:
        SimulationError: The function cannot be declared, as when a parameter has a type that no schema can tell.
    """
    if isinstance(tool, DeclaredTool):
        return tool
    try:
        found = describe_tool(FunctionTool(tool))
        return DeclaredTool(
            name=found.name,
            description=found.description,
            parameters=found.parameters,
            output_schema=found.response,
        )
    except Exception as error:
        name = getattr(tool, "__name__", repr(tool))
        raise SimulationError(f"{name} cannot be declared as a tool: {error}") from error
