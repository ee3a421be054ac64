"""Knows the tools of an agent, what they have answered, the world that follows from it, and what was set for both; of a session that is played, along its journal.

`ToolShapes` finds the tools, those that stand in the agent and those of tool sets once a model was shown them. `Knowledge` takes one answered call after the other: the world,
what is remembered for a tool, and what an answer contradicts follow from them. `LiveKnowledge` takes them from a journal, only what is new each time it is asked; where the
journal's head is elsewhere now, or something else is set, it begins anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from google.adk.agents import BaseAgent
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from pydantic import JsonValue

from simulator.base.frozen_value import Value
from simulator.base.json_paths import WHOLE
from simulator.base.json_values import JsonObject
from simulator.environment.conventions import EarlierAnswer, id_kind
from simulator.environment.drafts.draft import doubted_fields, without_blanks
from simulator.environment.evidence.sketch import FunctionSource
from simulator.environment.recordings import NO_EFFECTS, ObservedCall
from simulator.environment.world.connections import Connections, ToolShape, found_offline, merged
from simulator.environment.world.entities import NO_TABLES, SEED, Tables, TablesError, read_tables
from simulator.environment.world.invariants import Contradiction, contradictions
from simulator.environment.world.tool_settings import DeclaredTool, ToolSettings, registry_of
from simulator.environment.world.world import World
from simulator.facts import (
    Fact,
    ModelAnswered,
    Outcome,
    Provenance,
    StateCleared,
    ToolAnswered,
    ToolEffects,
    TurnStarted,
    WorldEdited,
)
from simulator.journal import ROOT, Journal
from simulator.runtime.adk.adk_private import children_of, is_steering, node_of, runs_agents
from simulator.runtime.adk.tool_code import code_of
from simulator.runtime.adk.tool_guards import AnswersItself
from simulator.runtime.turns.outcomes import as_response
from simulator.runtime.turns.waiting_request import describe_tool
from simulator.seats.requests import ToolDeclaration
from simulator.session.model import SessionEnvironment

_OF_FUNCTIONS = (FunctionTool, LongRunningFunctionTool)
"""ADK's own tools of functions, which declare what the function says."""


class ToolShapes:
    """The tools of an agent tree: those that stand in it, and those of tool sets once a model was shown them."""

    def __init__(self, agent: Any) -> None:
        tools = list(_tools(agent, set()))
        self.own_settings = {
            settings.name: settings
            for tool in tools
            if isinstance(tool, AnswersItself) and (settings := tool.own_settings())
        }
        """What the tools bring along that have an environment of their own, by name."""
        self._tools = {tool.name: tool for tool in tools}
        self._codes: dict[str, FunctionSource | None] = {}
        self._functions: dict[str, tuple[FunctionTool, ToolDeclaration]] = {}
        self._own = {shape.name: shape for tool in tools if (shape := self._seen(tool))}
        self.shown: dict[str, ToolShape] = {}
        """The tools that models were shown and that do not stand in the agent, by name."""
        self._last_shown: Any = None
        self._all: Mapping[str, ToolShape] = self._own
        self._declared: tuple[DeclaredTool, ...] = ()

    def known(
        self, shown: Mapping[str, BaseTool], declared: tuple[DeclaredTool, ...]
    ) -> Mapping[str, ToolShape]:
        """Return all that are known, by name; the same object as before where nothing is new.

        Args:
            shown: What a model was shown last, as ADK's `LlmRequest.tools_dict`.
            declared: The tools that only are declared.
        """
        if shown is self._last_shown and declared == self._declared:
            return self._all
        new = {name: tool for name, tool in shown.items() if name not in self._own and name not in self.shown}
        self._tools.update(new)
        self.shown.update((name, shape) for name, tool in new.items() if (shape := self._seen(tool)))
        self._last_shown, self._declared = shown, declared
        everything = {**self._own, **self.shown, **{tool.name: tool.shape() for tool in declared}}
        if everything != self._all:
            self._all = everything
        return self._all

    def _seen(self, tool: BaseTool) -> ToolShape | None:
        """Describe a tool as `shape_of` does; the declaration of a function is kept, as it stays the same."""
        if is_steering(tool) or runs_agents(tool) or (found := _declared(tool)) is None:
            return None
        if isinstance(tool, FunctionTool) and type(tool) in _OF_FUNCTIONS:
            self._functions[tool.name] = tool, found
        return shape_as_declared(found, tool.name)

    def declaration(self, tool: BaseTool) -> ToolDeclaration:
        """Return a tool's own declaration; that of a function which is known is not made again: ADK makes its tool anew for each request."""
        known = self._functions.get(tool.name)
        if (
            known is not None
            and isinstance(tool, FunctionTool)
            and type(tool) is type(known[0])
            and tool.func == known[0].func
        ):
            return known[1]
        return describe_tool(tool)

    def codes(self) -> Mapping[str, FunctionSource]:
        """Return where the tools that are known are written, by name; each is looked for once."""
        for name, tool in self._tools.items():
            if name not in self._codes:
                self._codes[name] = code_of(tool).code
        return {name: code for name, code in self._codes.items() if code is not None}


def agents_as_tools(root: Any) -> dict[str, str]:
    """Return the tools that run an agent: the agent's name by the tool's.

    Args:
        root: The root agent or workflow.
    """
    return {
        tool.name: inner.name for tool in _tools(root, set()) if isinstance(inner := node_of(tool), BaseAgent)
    }


def shapes_of_agents(root: Any) -> dict[str, ToolShape]:
    """Return how the tools that run agents are declared, by name; the agents are asked, and the world is not.

    Args:
        root: The root agent or workflow.
    """
    shapes = (described(tool) for tool in _tools(root, set()) if runs_agents(tool))
    return {shape.name: shape for shape in shapes if shape is not None}


def shapes_of_all(root: Any) -> dict[str, ToolShape]:
    """Return how the tools of an agent are declared, by name, those that run agents among them.

    Args:
        root: The root agent or workflow.
    """
    return {**shapes_of_agents(root), **ToolShapes(root).known({}, ())}


def _tools(node: Any, seen: set[int]) -> Iterator[BaseTool]:
    if id(node) in seen:
        return
    seen.add(id(node))
    for tool in (*(getattr(node, "tools", None) or ()), getattr(node, "tool", None)):
        if isinstance(tool, BaseTool):
            yield tool
            if (inner := node_of(tool)) is not None:
                yield from _tools(inner, seen)
        elif callable(tool):
            yield FunctionTool(tool)
    for child in children_of(node):
        yield from _tools(child, seen)


def shape_of(tool: BaseTool) -> ToolShape | None:
    """Describe a tool that asks the world; nothing for one that steers the flow, or that cannot be described."""
    return None if is_steering(tool) or runs_agents(tool) else described(tool)


def described(tool: BaseTool) -> ToolShape | None:
    """Describe a tool, also one that runs an agent, whose answer is the agent's own; nothing for one that cannot be described."""
    found = _declared(tool)
    if found is not None and runs_agents(tool):
        found = found.model_copy(update={"response": None})
    return None if found is None else shape_as_declared(found, tool.name)


def _declared(tool: BaseTool) -> ToolDeclaration | None:
    try:
        return describe_tool(tool)
    except Exception:  # noqa: BLE001 - a declaration is made by somebody's code; ADK says so when it is used
        return None


def shape_as_declared(declared: ToolDeclaration, name: str) -> ToolShape:
    """Return a tool as the search for connections takes it; `name` is its own, where it declares none."""
    return ToolShape(
        name=declared.name or name,
        description=declared.description,
        parameters=declared.parameters,
        response_schema=declared.response,
        dropped=declared.dropped,
    )


class Flag(NamedTuple):
    """What an answered call contradicts; `fact` is the answer's number."""

    fact: int
    tool_name: str
    contradictions: tuple[Contradiction, ...]


class AnsweredCall(Value):
    """A call that was answered where no journal is kept: `ToolAnswered` is one of a session that is played.

    Attributes:
        number: Its place among the answered calls of its session, from 1.
        at: When it was answered, in seconds since the epoch.
        call_id: ADK's id of the function call.
        agent: The agent that called.
        tool_name: The tool.
        arguments: What it was asked.
        outcome: What the agent got: a value, an error dict, or an exception.
        beneath: What really happened, where a rule distorted the answer or lost it.
        provenance: Who answered, which rules fired, and why the others did not.
        contradicts: What of the answer contradicts the world, in words.
        seconds: How long it took.
        effects: What was done besides, where no real tool did it.
    """

    number: int
    at: float
    call_id: str = ""
    agent: str = ""
    tool_name: str
    arguments: JsonObject
    outcome: Outcome
    beneath: Outcome | None = None
    provenance: Provenance
    contradicts: tuple[str, ...] = ()
    seconds: float = 0.0
    effects: ToolEffects = NO_EFFECTS

    @property
    def turn(self) -> int:
        """The place of the call, which stands for the time at which it changed the world."""
        return self.number

    @property
    def response(self) -> Any:
        """What the agent saw: a value or an error dict; None where the call raised."""
        return as_response(self.outcome)

    @property
    def really(self) -> Any:
        """What really happened, as `response` says it."""
        return as_response(self.beneath or self.outcome)


def _unknown(blanks: tuple[str, ...]) -> list[str]:
    """Return the blanks but for ids, by which a thing is found again whatever they say, and a response that is a guess as a whole."""
    return [path for path in blanks if path != WHOLE and id_kind(path.rpartition(".")[2]) is None]


def _learnt(
    number: int, answered: ToolAnswered | AnsweredCall, response: JsonValue, *, by_rule: bool
) -> EarlierAnswer:
    provenance = answered.provenance
    return EarlierAnswer(
        answered.tool_name,
        answered.arguments,
        without_blanks(response, _unknown(provenance.blanks)),  # what nobody knows nobody learns
        fact=number,
        turn=answered.turn,
        doubted=doubted_fields(provenance.uncertain, response),
        injected=by_rule,
        state_delta=answered.effects.state_delta,
        is_guess=WHOLE in provenance.blanks,
        uncertain=provenance.uncertain,
    )


class Knowledge:
    """What an environment knows after some calls.

    Args:
        environment: What is set for it.
        shapes: The tools that the agent is known to have, by name.
    """

    def __init__(self, environment: SessionEnvironment, shapes: Mapping[str, ToolShape]) -> None:
        self._begin(environment, shapes)

    def _begin(self, environment: SessionEnvironment, shapes: Mapping[str, ToolShape]) -> None:
        self.environment, self.shapes = environment, shapes
        self.problem = ""
        self.tables = self._read_tables(environment.data)
        self.connections = self._connected()
        self.world = World(self.connections, self.tables, authority=environment.settings.authority)
        self.registry, self.warnings = registry_of(environment.settings)
        self.answers: list[EarlierAnswer] = []
        self.used_recordings: Counter[int] = Counter()
        self.flags: list[Flag] = []
        self._calls: dict[str, list[JsonObject]] = {}
        self._taken: list[EarlierAnswer] = []

    def _read_tables(self, text: str) -> Tables:
        try:
            return read_tables(text) if text else NO_TABLES
        except TablesError as error:
            self.problem = f"the environment's data cannot be used: {error}"
            return NO_TABLES

    def _connected(self) -> Connections:
        offline = found_offline([*self.shapes.values()])
        return merged(offline, self.environment.by_model, self.environment.settings.connections)

    def connect(self, environment: SessionEnvironment, shapes: Mapping[str, ToolShape]) -> None:
        """See the tools, and how they hang together, anew; the world follows from the same calls.

        Args:
            environment: What is set; of what is remembered for the tools, nothing may have changed.
            shapes: As for the class.
        """
        self.environment, self.shapes = environment, shapes
        self.connections = self._connected()
        self.world = World(self.connections, self.tables, authority=environment.settings.authority)
        for call in self._taken:
            self.world.take(call)

    def up_to_date(self) -> Knowledge:
        """Learn what is new, where there is something to learn from; return itself."""
        return self

    def take(self, number: int, answered: ToolAnswered | AnsweredCall) -> None:
        """Learn from an answered call; `number` is the place of what it says in the world."""
        really = answered.beneath or answered.outcome
        if really.kind not in {"returned", "failed"}:
            return
        by_rule = answered.provenance.source in {"injected", "refused"}
        call = _learnt(number, answered, as_response(really), by_rule=by_rule)
        if against := self.against(call, on_purpose=by_rule):
            self.flags.append(Flag(number, answered.tool_name, against))
        self.world.take(call)
        self._taken.append(call)
        # An injected failure passes: it is not what the tool knows. Nor is a response with a blank one to be repeated: it is a guess.
        if not (by_rule and really.kind == "failed"):
            is_open = bool(_unknown(answered.provenance.blanks))
            self.answers.append(
                replace(call, response=as_response(really), is_guess=True) if is_open else call
            )
        self._count_recorded(answered)
        said = as_response(answered.outcome)
        self._calls.setdefault(answered.tool_name, []).append(
            {"arguments": answered.arguments, "response": said}
        )
        self.registry.cache_tool_call(
            answered.tool_name,
            self.registry.state_key(answered.tool_name),
            call.response,
            answered.arguments,
            timestamp=answered.at,
        )

    def _count_recorded(self, answered: ToolAnswered | AnsweredCall) -> None:
        """Count which recorded call an answer is, so that the same question gets the next one."""
        if answered.provenance.source == "recorded":
            for place, call in enumerate(self.recorded_calls()):
                if call.tool_name == answered.tool_name and call.place == answered.provenance.by:
                    self.used_recordings[place] += 1
                    return

    # ------------------------------------------------------------ what is known

    def against(self, call: EarlierAnswer, *, on_purpose: bool = False) -> tuple[Contradiction, ...]:
        """Say what an answer would contradict: invariants, and what was said before.

        What the agent brings along as data is no such thing. One that a rule gives `on_purpose` may say something else than was said before, but breaks invariants as any.
        """
        settings = self.environment.settings
        if not settings.invariants and not settings.implicit_contradictions:
            return ()
        held = call if settings.implicit_contradictions and not on_purpose else None
        found = contradictions(self.world, self.world.preview(call), settings.invariants, call=held)
        return tuple(one for one in found if not self._is_against_brought(one))

    def _is_against_brought(self, one: Contradiction) -> bool:
        """Return whether an answer only contradicts data that no person gave: what the agent brings along is a beginning."""
        is_seed = one.earlier is not None and one.earlier.source == SEED
        return self.environment.is_data_brought and is_seed and not one.invariant

    def calls_of(self, tool_name: str) -> list[JsonObject]:
        """Return the earlier calls of a tool, oldest first: `{"arguments": ..., "response": ...}`, as the agent saw them."""
        return self._calls.get(tool_name, [])

    def last_answers(self) -> dict[str, Any]:
        """Return the last answer of each tool, by the tool's name."""
        return {name: calls[-1]["response"] for name, calls in self._calls.items()}

    def recorded_calls(self) -> tuple[ObservedCall, ...]:
        """Return the calls of all recordings, in their order."""
        return tuple(call for calls in self.environment.recordings.values() for call in calls)

    def output_schema(self, tool_name: str) -> JsonObject | None:
        """Return the schema that a person has set for a tool's answers."""
        return self.environment.settings.tool(tool_name).output_schema


class LiveKnowledge(Knowledge):
    """What is known along a journal's path; it learns only what is new since it was asked before.

    After an undo, on another branch, or where something else is set or other tools are known, it begins anew.

    Args:
        journal: The session's journal.
        shapes: Gives, while the session is there, what gives the tools that the agent is known to have, by name.
        own: What tools bring along; what is set in the session stands before it.
    """

    def __init__(
        self,
        journal: Journal,
        shapes: Callable[[], Callable[[], Mapping[str, ToolShape]] | None],
        own: Mapping[str, ToolSettings] = MappingProxyType({}),
    ) -> None:
        self._journal, self._shapes_now, self._own_settings = journal, shapes, own
        self._given: SessionEnvironment | None = None
        self._whole = SessionEnvironment()
        super().__init__(SessionEnvironment(), {})

    def _begin(self, environment: SessionEnvironment, shapes: Mapping[str, ToolShape]) -> None:
        super()._begin(environment, shapes)
        self._last, self._turn = ROOT, 0
        self.asked_at = 0.0

    def up_to_date(self) -> LiveKnowledge:
        """Learn what is new; return itself."""
        environment, tools = self._with_own(self._journal.fold.environment), self._shapes_now()
        shapes = tools() if tools else self.shapes
        news = self._news()
        if news is None or environment is not self.environment or shapes != self.shapes:
            self._begin(environment, shapes)
            news = self._journal.path()
        for number, fact in news:
            self._learn(number, fact)
        self._last = self._journal.head
        return self

    def output_schema(self, tool_name: str) -> JsonObject | None:
        """Return what `Knowledge.output_schema` does, as it is set now: nothing has to be learnt for that."""
        set_for = self._with_own(self._journal.fold.environment).settings.tools.get(tool_name)
        return None if set_for is None else set_for.output_schema

    def _with_own(self, given: SessionEnvironment) -> SessionEnvironment:
        """Return what is set with what tools bring along; the same object for the same environment."""
        if given is not self._given:
            set_here = given.settings.tools
            brought = {name: _together(own, set_here.get(name)) for name, own in self._own_settings.items()}
            settings = given.settings.model_copy(update={"tools": {**set_here, **brought}})
            self._given = given
            self._whole = given.model_copy(update={"settings": settings}) if brought else given
        return self._whole

    def _news(self) -> list[tuple[int, Fact]] | None:
        """Return what has come after what is known; None where the head is no longer after that."""
        new: list[tuple[int, Fact]] = []
        for number, fact in self._journal.backwards():
            # A fact has one parent, so before one that is known all is known.
            if number == self._last:
                return new[::-1]
            new.append((number, fact))
        return new[::-1] if self._last == ROOT else None

    def _learn(self, number: int, fact: Fact) -> None:
        match fact:
            case TurnStarted():
                self._turn, self.asked_at = fact.turn, fact.at
            case ModelAnswered():
                self.asked_at = (
                    fact.at
                )  # calls that were made at once have one time, whichever is answered first
            case ToolAnswered():
                self.take(number, fact)
            case WorldEdited():
                self.world.edit(fact.changes, fact=number, turn=self._turn)
            case StateCleared():
                self.registry.clear_state(fact.state_key)
            case _:
                return


def _together(own: ToolSettings, here: ToolSettings | None) -> ToolSettings:
    if here is None:
        return own
    schema = own.output_schema if here.output_schema is None else here.output_schema
    return ToolSettings(
        name=own.name,
        output_schema=schema,
        share_state_id=here.share_state_id or own.share_state_id,
        initial_state_description=here.initial_state_description or own.initial_state_description,
    )
