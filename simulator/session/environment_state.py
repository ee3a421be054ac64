"""Adds the facts that shape the environment up to what is in force now."""

from __future__ import annotations

from typing import assert_never

from pydantic import Field

from simulator.base.frozen_value import Value
from simulator.environment.environment_facts import (
    ConnectionsAnalysed,
    EnvironmentChanged,
    EnvironmentDataGiven,
    EnvironmentFact,
    RecordingGiven,
    StateCleared,
    ToolsDeclared,
    WorldEdited,
)
from simulator.environment.recordings import ObservedCall
from simulator.environment.world.connections import Connections
from simulator.environment.world.tool_settings import DeclaredTool, EnvironmentSettings


class SessionEnvironment(Value):
    """What is set for a session's environment.

    `data` is the environment's data as text, which the agent brings along where `is_data_brought`; `recordings` holds recorded calls by name; `by_model` says how the tools hang
    together as the model `analysed_by` told it, `not_analysed` why it did not.
    """

    settings: EnvironmentSettings = EnvironmentSettings()
    data: str = ""
    is_data_brought: bool = False
    recordings: dict[str, tuple[ObservedCall, ...]] = Field(default_factory=dict)
    by_model: Connections | None = None
    analysed_by: str = ""
    not_analysed: str = ""
    declared: tuple[DeclaredTool, ...] = ()

    def after(self, fact: EnvironmentFact) -> SessionEnvironment:
        """Return the environment after one more fact."""
        match fact:
            case EnvironmentChanged(settings=settings):
                return self.model_copy(update={"settings": settings})
            case EnvironmentDataGiven(text=text):
                return self.model_copy(update={"data": text, "is_data_brought": False})
            case RecordingGiven(name=name, calls=calls):
                others = {key: value for key, value in self.recordings.items() if key != name}
                return self.model_copy(update={"recordings": {**others, name: calls} if calls else others})
            case ConnectionsAnalysed(model=model, connections=found, reason=reason):
                told = {"by_model": found, "analysed_by": model, "not_analysed": reason}
                return self.model_copy(update=told)
            case ToolsDeclared(tools=tools):
                return self.model_copy(update={"declared": tools})
            case WorldEdited() | StateCleared():
                return self
            case never:
                assert_never(never)


def words_of_change(fact: EnvironmentFact, before: SessionEnvironment) -> str:  # noqa: PLR0911 - one per kind of fact
    """Return in words what a fact changed."""
    match fact:
        case EnvironmentChanged(settings=settings):
            was = before.settings
            changed = [
                name for name in type(was).model_fields if getattr(was, name) != getattr(settings, name)
            ]
            return f"settings: {', '.join(name.replace('_', ' ') for name in changed) or 'unchanged'}"
        case EnvironmentDataGiven(text=text):
            return "data loaded" if text else "data cleared"
        case WorldEdited(changes=changes):
            return "world edited: " + ", ".join(f"{each.op} {each.kind} {each.id}" for each in changes)
        case StateCleared(state_key=key):
            return f"cleared the calls of {key}"
        case RecordingGiven(name=name, calls=calls):
            count = "1 call" if len(calls) == 1 else f"{len(calls)} calls"
            return f"recording {name!r}: {count}" if calls else f"recording {name!r} removed"
        case ConnectionsAnalysed(model=model, reason=reason):
            return f"connections: no response from {model}, {reason}" if reason else f"connections by {model}"
        case ToolsDeclared(tools=tools):
            return "declared tools: " + (", ".join(tool.name for tool in tools) or "none")
        case never:
            assert_never(never)
