"""Knows what the environment of a session knows: what its tools have answered, its world, and what was set for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from simulator.environment.connections import Connections, ToolShape, found_offline, merged
from simulator.environment.entities import EntityChange, WorldCall
from simulator.environment.facts import StateCleared, WorldEdited
from simulator.environment.invariants import Contradiction, contradictions
from simulator.environment.recall import EarlierAnswer
from simulator.environment.recordings import RecordedCall
from simulator.environment.shared_state import registry_of
from simulator.environment.tables import NO_TABLES, Tables, TablesError, read_tables
from simulator.environment.world import World
from simulator.facts import Fact, ToolAnswered, TurnStarted
from simulator.journal import Journal
from simulator.jsonvalue import JsonObject
from simulator.runtime.firing import as_response
from simulator.session.environment import SessionEnvironment


class Flag(NamedTuple):
    """What an answered call contradicts; `fact` is the answer's number in the journal."""

    fact: int
    tool_name: str
    contradictions: tuple[Contradiction, ...]


class Desk:
    """What is known along a journal's path; it learns only what is new since it was asked before.

    After an undo, on another branch, or where something else is set or other tools are known, it begins anew.

    Args:
        journal: The session's journal.
        shapes: Gives, while the session is there, what gives the tools that the agent is known to have, by name.
    """

    def __init__(
        self, journal: Journal, shapes: Callable[[], Callable[[], Mapping[str, ToolShape]] | None]
    ) -> None:
        self._journal, self._shapes_now = journal, shapes
        self._begin(SessionEnvironment(), {})

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
        self._known, self._last, self._turn = 0, -1, 0

    def _read_tables(self, text: str) -> Tables:
        try:
            return read_tables(text) if text else NO_TABLES
        except TablesError as error:
            self.problem = f"the environment's data cannot be used: {error}"
            return NO_TABLES

    def _connected(self) -> Connections:
        offline = found_offline([*self.shapes.values()])
        return merged(offline, self.environment.by_model, self.environment.settings.connections)

    # ------------------------------------------------------------ going along

    def up_to_date(self) -> Desk:
        """Learn what is new; give itself."""
        path = self._journal.path()
        environment, tools = self._journal.fold.environment, self._shapes_now()
        shapes = tools() if tools else self.shapes
        # A fact has one parent, so where it stands at the same place all before it is the same too.
        is_along = self._known <= len(path) and (not self._known or path[self._known - 1][0] == self._last)
        if not is_along or environment is not self.environment or shapes != self.shapes:
            self._begin(environment, shapes)
        for number, fact in path[self._known :]:
            self._learn(number, fact)
        if path:
            self._known, self._last = len(path), path[-1][0]
        return self

    def _learn(self, number: int, fact: Fact) -> None:
        match fact:
            case TurnStarted():
                self._turn = fact.turn
            case ToolAnswered():
                self._learn_answer(number, fact)
            case WorldEdited():
                self.world.edit(fact.changes, fact=number, turn=self._turn)
            case StateCleared():
                self.registry.clear_state(fact.state_key)
            case _:
                return

    def _learn_answer(self, number: int, fact: ToolAnswered) -> None:
        really = fact.beneath or fact.outcome
        if really.kind not in {"returned", "failed"}:
            return
        response = as_response(really)
        call = WorldCall(fact.tool_name, fact.arguments, response, fact=number, turn=fact.turn)
        # A rule says what it says on purpose.
        by_rule = fact.provenance.source in {"injected", "refused"}
        if not by_rule and (against := self.against(call)):
            self.flags.append(Flag(number, fact.tool_name, against))
        self.world.take(call)
        earlier = EarlierAnswer(tool_name=fact.tool_name, arguments=fact.arguments, response=response)
        self.answers.append(earlier)
        self._count_recorded(fact)
        said = as_response(fact.outcome)
        self._calls.setdefault(fact.tool_name, []).append({"arguments": fact.arguments, "response": said})
        self.registry.cache_tool_call(
            fact.tool_name,
            self.registry.state_key(fact.tool_name),
            response,
            fact.arguments,
            timestamp=fact.at,
        )

    def _count_recorded(self, fact: ToolAnswered) -> None:
        """Count which recorded call an answer is, so that the same question gets the next one."""
        if fact.provenance.source == "recorded":
            for place, call in enumerate(self.recorded_calls()):
                if call.tool_name == fact.tool_name and call.place == fact.provenance.by:
                    self.used_recordings[place] += 1
                    return

    # ------------------------------------------------------------ what is known

    def against(self, call: WorldCall) -> tuple[Contradiction, ...]:
        """Say what an answer would contradict: invariants, and what was said before."""
        settings = self.environment.settings
        if not settings.invariants and not settings.implicit_contradictions:
            return ()
        held = call if settings.implicit_contradictions else None
        return contradictions(self.world, self.preview(call), settings.invariants, call=held)

    def preview(self, call: WorldCall) -> tuple[EntityChange, ...]:
        """Say what an answer would change in the world."""
        return self.world.preview(call)

    def calls_of(self, tool_name: str) -> list[JsonObject]:
        """Give the earlier calls of a tool, oldest first: `{"arguments": ..., "response": ...}`, as the agent saw them."""
        return self._calls.get(tool_name, [])

    def last_answers(self) -> dict[str, Any]:
        """Give the last answer of each tool, by the tool's name."""
        return {name: calls[-1]["response"] for name, calls in self._calls.items()}

    def recorded_calls(self) -> tuple[RecordedCall, ...]:
        """Give the calls of all recordings, in their order."""
        return tuple(call for calls in self.environment.recordings.values() for call in calls)

    def output_schema(self, tool_name: str) -> JsonObject | None:
        """Give the schema that a person has set for a tool's answers."""
        return self.environment.settings.tool(tool_name).output_schema
