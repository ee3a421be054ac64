"""Keeps, for each state key, what was there in the beginning and the latest calls of the tools that share it."""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Callable
from typing import TypedDict

from pydantic import JsonValue

from simulator.base.json_values import JsonObject
from simulator.environment.world.tool_settings import MOST_REMEMBERED_CALLS, EnvironmentSettings, ToolSettings


class RememberedCall(TypedDict):
    """A call as a state key keeps it; `timestamp` is in seconds since the epoch."""

    tool_name: str
    parameters: JsonObject
    response: JsonValue
    timestamp: float


class SharedState(TypedDict):
    """What is known under a state key: the beginning in words, and the calls, oldest first."""

    initial_state: str | None
    previous_calls: list[RememberedCall]


class StateRegistry:
    """The states of tools and of groups of tools. The oldest call of a key makes room for the newest.

    Args:
        max_tool_call_cache_size: How many calls a key remembers.
        clock: Gives the time of a call that is cached without one, in seconds since the epoch.

    Raises:
        ValueError: `max_tool_call_cache_size` is less than 1.
    """

    def __init__(
        self,
        max_tool_call_cache_size: int = MOST_REMEMBERED_CALLS,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if max_tool_call_cache_size < 1:
            raise ValueError(f"max_tool_call_cache_size is {max_tool_call_cache_size}; at least 1 is needed")
        self.max_tool_call_cache_size = max_tool_call_cache_size
        self._clock = clock
        self._beginnings: dict[str, str] = {}
        self._calls: dict[str, deque[RememberedCall]] = {}
        self._tools: dict[str, ToolSettings] = {}

    def register_tool(self, settings: ToolSettings) -> str:
        """Take a tool in, in place of one of its name, with its initial state; return the warning, if that comes second for its key, else an empty text."""
        before, self._tools[settings.name] = self._tools.get(settings.name), settings
        described, is_again = settings.initial_state_description, before == settings
        return self._begin(described, settings.state_key) if described and not is_again else ""

    def list_tools(self) -> list[str]:
        """Return the names of the registered tools, in order."""
        return list(self._tools)

    def clear_tools(self) -> None:
        """Forget the registered tools; their states stay."""
        self._tools.clear()

    def state_key(self, tool_name: str) -> str:
        """Return where a tool's calls are remembered: with the tools that it shares a state with, or by its own name."""
        settings = self._tools.get(tool_name)
        return settings.state_key if settings else tool_name

    def initialize_state_via_description(self, initial_state_description: str, state_key: str) -> None:
        """Say what is there in the beginning. The first description of a key stays; a second one warns (UserWarning)."""
        warning = self._begin(initial_state_description, state_key)
        if warning:
            warnings.warn(warning, stacklevel=2)

    def cache_tool_call(
        self,
        tool_name: str,
        state_key: str,
        response_data: JsonValue,
        parameters: JsonObject | None = None,
        *,
        timestamp: float | None = None,
    ) -> None:
        """Remember an answered call, of now where no time is given; beyond the bound, the oldest call of the key is forgotten."""
        calls = self._calls.get(state_key)
        if calls is None:
            calls = self._calls[state_key] = deque(maxlen=self.max_tool_call_cache_size)
        calls.append(
            RememberedCall(
                tool_name=tool_name,
                parameters=parameters if parameters is not None else {},
                response=response_data,
                timestamp=self._clock() if timestamp is None else timestamp,
            )
        )

    def adopt(self, other: StateRegistry) -> None:
        """Take over the beginnings and calls of another registry for the keys that have none here."""
        for state_key, described in other._beginnings.items():
            self._beginnings.setdefault(state_key, described)
        for state_key, calls in other._calls.items():
            self._calls.setdefault(state_key, deque(calls, maxlen=self.max_tool_call_cache_size))

    def get_state(self, state_key: str) -> SharedState:
        """Return what is known under a key; a key that nobody used has no beginning and no calls."""
        return SharedState(
            initial_state=self._beginnings.get(state_key),
            previous_calls=list(self._calls.get(state_key, ())),
        )

    def list_states(self) -> list[str]:
        """Return the keys under which something is known, in the order in which they came up."""
        return list(dict.fromkeys((*self._beginnings, *self._calls)))

    def clear_state(self, state_key: str) -> None:
        """Forget the beginning and the calls of a key; it may be initialized anew."""
        self._beginnings.pop(state_key, None)
        self._calls.pop(state_key, None)

    def _begin(self, described: str, state_key: str) -> str:
        if state_key not in self._beginnings:
            self._beginnings[state_key] = described
            return ""
        return (
            f"the state {state_key!r} has already been initialized; the first description is kept: "
            f"{self._beginnings[state_key]!r}"
        )


def registry_of(settings: EnvironmentSettings) -> tuple[StateRegistry, tuple[str, ...]]:
    """Make the registry that some settings ask for, and return what is to be warned of."""
    registry = StateRegistry(settings.max_tool_call_cache_size)
    said = [registry.register_tool(tool) for tool in settings.tools.values()]
    return registry, tuple(warning for warning in said if warning)
