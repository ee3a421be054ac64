"""Goes along the journal of a session, so that its environment knows what happened up to now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from simulator.environment.environment_facts import StateCleared, WorldEdited
from simulator.environment.world.connections import ToolShape
from simulator.environment.world.tool_settings import ToolSettings
from simulator.facts import Fact, ModelAnswered, ToolAnswered, TurnStarted
from simulator.journal import ROOT, Journal
from simulator.runtime.knowledge.knowledge import Flag, Knowledge
from simulator.session.environment_state import SessionEnvironment

__all__ = ["Flag", "LiveKnowledge"]


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

    def is_schema_set(self, tool_name: str) -> bool:
        """Return whether a person has set a schema for a tool's answers; takes next to no time."""
        settings = self._with_own(self._journal.fold.environment).settings.tools.get(tool_name)
        return settings is not None and settings.output_schema is not None

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
