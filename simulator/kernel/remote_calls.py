"""The commands and views of a simulation that can be asked for over a channel, each with the types of what goes over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue, TypeAdapter

from simulator.base.json_values import JsonObject
from simulator.environment.declared_tools import DeclaredTool
from simulator.environment.injection.rule_trials import Trial
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.recordings.recorded_calls import ObservedCall
from simulator.environment.world.entities import Contradiction, EntityChange
from simulator.environment.world.invariants import InvariantStatus
from simulator.environment.world.tool_settings import EnvironmentSettings
from simulator.facts import Outcome
from simulator.runtime.errors import ContradictionError, SimulationError
from simulator.runtime.knowledge.world_view import WorldView
from simulator.seats.answers import Answer
from simulator.seats.requests import ModelRequest

ENVIRONMENT = "environment."
"""What the name of a call on a simulation's environment begins with."""

_ANY: TypeAdapter[Any] = TypeAdapter(JsonValue)


@dataclass(frozen=True)
class RemoteCall:
    """One command or view.

    Attributes:
        takes: The types of its arguments that are no plain JSON.
        gives: The type of its result.
        several: The argument that stands for `*args`.
        method: The method's name, where it is not the call's.
    """

    takes: Mapping[str, TypeAdapter[Any]] = field(default_factory=dict)
    gives: TypeAdapter[Any] = _ANY
    several: str = ""
    method: str = ""

    def written(self, arguments: Mapping[str, Any]) -> JsonObject:
        """Write the arguments as JSON."""
        return {
            name: self.takes.get(name, _ANY).dump_python(value, mode="json")
            for name, value in arguments.items()
        }

    def read(self, arguments: JsonObject) -> tuple[list[Any], dict[str, Any]]:
        """Read the arguments: those by position, and those by name.

        Raises:
            pydantic.ValidationError: One does not have its type.
        """
        named = {name: self.takes.get(name, _ANY).validate_python(value) for name, value in arguments.items()}
        return list(named.pop(self.several, ())), named


_RULES = RemoteCall({"rules": TypeAdapter(tuple[InjectionRule, ...])})
_PLAIN = RemoteCall()

CALLS: Mapping[str, RemoteCall] = {
    **dict.fromkeys(
        (
            "query", "run_real", "confirm", "reply", "set_player", "set_user", "accept", "complete",
            "switch_rule", "set_time", "stop", "move_head", "go_on", "wait", "close",
            f"{ENVIRONMENT}give_data", f"{ENVIRONMENT}rename", f"{ENVIRONMENT}clear_state",
            f"{ENVIRONMENT}drop_recording", f"{ENVIRONMENT}ask_for_draft", f"{ENVIRONMENT}stop_drafting",
            f"{ENVIRONMENT}draw_again", f"{ENVIRONMENT}use_model", f"{ENVIRONMENT}analyse_connections",
            f"{ENVIRONMENT}stop_analysing", f"{ENVIRONMENT}sources_for_model",
        ),
        _PLAIN,
    ),
    "model_view": RemoteCall(gives=TypeAdapter(ModelRequest | None)),
    "answer": RemoteCall({"answer": TypeAdapter(Answer)}),
    "answer_plainly": RemoteCall(method="answer"),  # apart, as a tool may return what looks like an answer
    "set_rules": _RULES,
    "inject": RemoteCall({"rule": TypeAdapter(InjectionRule), "outcome": TypeAdapter(Outcome | None)}),
    f"{ENVIRONMENT}change": RemoteCall({"settings": TypeAdapter(EnvironmentSettings | None)}),
    f"{ENVIRONMENT}edit": RemoteCall({"changes": TypeAdapter(tuple[EntityChange, ...])}, several="changes"),
    f"{ENVIRONMENT}declare": RemoteCall({"tools": TypeAdapter(tuple[DeclaredTool, ...])}, several="tools"),
    f"{ENVIRONMENT}give_recording": RemoteCall({"recorded": TypeAdapter(tuple[ObservedCall, ...])}),
    f"{ENVIRONMENT}world": RemoteCall(gives=TypeAdapter(WorldView)),
    f"{ENVIRONMENT}judge": RemoteCall(gives=TypeAdapter(InvariantStatus)),
    f"{ENVIRONMENT}try_rules": RemoteCall(_RULES.takes, gives=TypeAdapter(tuple[Trial, ...])),
    f"{ENVIRONMENT}against": RemoteCall(
        {"outcome": TypeAdapter(Outcome)}, gives=TypeAdapter(tuple[Contradiction, ...])
    ),
}  # fmt: skip

_FOUND: TypeAdapter[tuple[Contradiction, ...]] = TypeAdapter(tuple[Contradiction, ...])


def written_error(error: ValueError) -> JsonObject:
    """Write down why a command was refused."""
    if isinstance(error, ContradictionError):
        found = _FOUND.dump_python(error.contradictions, mode="json")
        return {"kind": "contradiction", "tool": error.tool_name, "found": found}
    return {"kind": "refused", "text": str(error)}


def read_error(error: JsonObject) -> SimulationError:
    """Return the exception that was written down."""
    if error.get("kind") == "contradiction":
        return ContradictionError(str(error["tool"]), _FOUND.validate_python(error["found"]))
    return SimulationError(str(error.get("text", "")))
