"""Notices what an agent's callbacks change in a replay of what was imported: its source kept what they had made already, so it is changed twice."""

from __future__ import annotations

from typing import Any

from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from evalset.replay.hermetic_environment import HermeticEnvironment
from simulator.base.json_values import JsonObject, same
from simulator.runtime.adk.adk_private import invocation_of
from simulator.runtime.adk.codec import jsonable

_TWICE = (
    "changed what the import contains as it was changed before, so the two cannot be compared. To compare them, play the session in the studio: it records what comes "
    "before callbacks"
)
_MODEL, _TOOL = "after_model_callback", "after_tool_callback"


class PassedCallbacks:
    """Compares what recorded models and tools gave with what the events of a run hold of it.

    Attributes:
        changing: The callbacks that changed something, in words, each with the first turn in which it did, from 0.
    """

    def __init__(self) -> None:
        self.changing: dict[str, int] = {}
        self._said: dict[str, tuple[JsonObject, str]] = {}
        self._given: dict[str, tuple[JsonObject, str]] = {}

    def model_said(self, context: Any, content: types.Content | None) -> None:
        """Take in what the model of an agent said, before a callback gets it."""
        invocation = invocation_of(context)
        words = _words(invocation.agent, invocation, _MODEL)
        self._said[invocation.agent.name] = _said(content), words

    def tool_gave(self, context: Any, response: Any) -> None:
        """Take in what a tool responded, before a callback gets it."""
        invocation = invocation_of(context)
        value = response if isinstance(response, dict) else {"result": response}
        words = _words(invocation.agent, invocation, _TOOL)
        self._given[context.function_call_id or ""] = jsonable(value), words

    @property
    def twice(self) -> tuple[str, ...]:
        """Why a run cannot be compared with what was imported, in sentences."""
        return tuple(f"turn {turn + 1}: {words} {_TWICE}" for words, turn in self.changing.items())

    def happened(self, event: Event, turn: int) -> None:
        """Compare an event of a turn with what was taken in."""
        for answer in event.get_function_responses():
            self._compare(self._given.pop(answer.id or "", None), jsonable(answer.response or {}), turn)
        if not event.partial and not event.get_function_responses():
            self._compare(self._said.pop(event.author, None), _said(event.content), turn)

    def _compare(self, given: tuple[JsonObject, str] | None, now: JsonObject, turn: int) -> None:
        if given is not None and given[1] and not same(given[0], now):
            self.changing.setdefault(given[1], turn)


def _said(content: types.Content | None) -> JsonObject:
    """Return the texts and the calls of a model's turn, without the ids that ADK draws."""
    parts = (content.parts if content else None) or []
    calls = [part.function_call for part in parts if part.function_call]
    return {
        "texts": [part.text for part in parts if part.text],
        "calls": [[call.name, jsonable(call.args or {})] for call in calls],
    }


def _words(agent: Any, invocation: Any, kind: str) -> str:
    """Name the callbacks of a kind that an agent and the plugins have; empty where there are none."""
    own = getattr(agent, kind, None) or []
    listed = own if isinstance(own, list) else [own]
    names = [getattr(each, "__name__", type(each).__name__) for each in listed]
    names += [
        f"plugin {plugin.name}"
        for plugin in invocation.plugin_manager.plugins
        if getattr(type(plugin), kind) is not getattr(BasePlugin, kind)
        and not isinstance(plugin, HermeticEnvironment)
    ]
    return f"the {kind} of {agent.name} ({', '.join(names)})" if names else ""
