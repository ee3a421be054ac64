"""Goes along the journal of a session, so that its environment knows what happened up to now."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simulator.environment.connections import ToolShape
from simulator.environment.facts import StateCleared, WorldEdited
from simulator.facts import Fact, ToolAnswered, TurnStarted
from simulator.journal import Journal
from simulator.runtime.known import Flag, Known
from simulator.session.environment import SessionEnvironment

__all__ = ["Desk", "Flag"]


class Desk(Known):
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
        super().__init__(SessionEnvironment(), {})

    def _begin(self, environment: SessionEnvironment, shapes: Mapping[str, ToolShape]) -> None:
        super()._begin(environment, shapes)
        self._known, self._last, self._turn = 0, -1, 0

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
                self.take(number, fact)
            case WorldEdited():
                self.world.edit(fact.changes, fact=number, turn=self._turn)
            case StateCleared():
                self.registry.clear_state(fact.state_key)
            case _:
                return
