"""Agents, tools, callbacks and plugins that take down every call of theirs, and answer where a test says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.apps import App
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from tests.simulator.runtime.beside import Log
from tests.simulator.runtime.stage import agent_of, call

AGENT_CALLBACKS = (
    "before_agent",
    "after_agent",
    "before_model",
    "after_model",
    "on_model_error",
    "before_tool",
    "after_tool",
    "on_tool_error",
)
"""ADK's callbacks of an agent, without `_callback`."""

RUN_CALLBACKS = ("on_user_message", "before_run", "on_event", "after_run", "on_agent_error", "on_run_error")
"""What plugins have beside those of an agent."""

ANSWERS: dict[str, Callable[[], Any]] = {
    "before_agent": lambda: _said("before_agent"),
    "after_agent": lambda: _said("after_agent"),
    "before_model": lambda: LlmResponse(content=_said("before_model")),
    "after_model": lambda: LlmResponse(content=_said("after_model")),
    "on_model_error": lambda: LlmResponse(content=_said("on_model_error")),
    "before_tool": lambda: {"answered": "before_tool"},
    "after_tool": lambda: {"answered": "after_tool"},
    "on_tool_error": lambda: {"answered": "on_tool_error"},
    "before_run": lambda: _said("before_run"),
    "on_user_message": lambda: types.Content(role="user", parts=[types.Part(text="on_user_message")]),
}
"""What each callback answers with, where it does answer."""


def _said(name: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=f"said by {name}")])


def watching(
    log: Log, answering: Mapping[str, Any] | None = None, *, who: str = "agent", asynchronous: bool = False
) -> dict[str, Any]:
    """Return all callbacks for an `LlmAgent`, as its arguments.

    Args:
        log: Where the calls are noted.
        answering: For a callback's name what it gives back; a callable is called with the callback's arguments.
        who: The word before each name in the log.
        asynchronous: Whether the callbacks are coroutine functions.
    """
    make = _later if asynchronous else _at_once
    answers = answering or {}
    return {f"{name}_callback": make(log, f"{who}.{name}", answers.get(name)) for name in AGENT_CALLBACKS}


def _at_once(log: Log, name: str, answer: Any) -> Callable[..., Any]:
    def callback(*_contexts: Any, **given: Any) -> Any:
        return _noted(log, name, answer, given)

    return callback


def _later(log: Log, name: str, answer: Any) -> Callable[..., Any]:
    async def callback(*_contexts: Any, **given: Any) -> Any:
        return _noted(log, name, answer, given)

    return callback


def _noted(log: Log, name: str, answer: Any, given: Mapping[str, Any]) -> Any:
    log.note(name, _seen(given))
    return answer(**given) if callable(answer) else answer


def _seen(given: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what a callback is given, in words: contexts by what can be read in them."""
    seen: dict[str, Any] = {}
    for name, value in given.items():
        if name == "llm_request":
            seen["contents"] = [content.model_dump(exclude_none=True) for content in value.contents]
            seen["instruction"], seen["tools"] = value.config.system_instruction, sorted(value.tools_dict)
            seen["model"] = value.model
        elif name in {"callback_context", "tool_context"}:
            seen["agent"], seen["state"] = value.agent_name, value.state.to_dict()
            seen["call"] = getattr(value, "function_call_id", None)
        elif name == "invocation_context":
            seen["invocation"] = value.invocation_id
        elif name in {"tool", "agent"}:
            seen[name] = value.name
        elif name == "error":
            seen[name] = f"{type(value).__name__}: {value}"
        elif name == "llm_response":
            seen[name] = value.model_dump(mode="json", exclude_none=True)
            # ADK gives a call its id right after this callback, the seats right before it.
            for part in (seen[name].get("content") or {}).get("parts") or ():
                part.get("function_call", {}).pop("id", None)
        elif name == "event":
            seen[name] = value.model_dump(mode="json", exclude={"timestamp"}, exclude_none=True)
        else:
            seen[name] = value
    return seen


class Watcher(BasePlugin):
    """A plugin that takes down every call; `answering` as for `watching`."""

    def __init__(self, log: Log, answering: Mapping[str, Any] | None = None, name: str = "watcher") -> None:
        super().__init__(name)
        for callback in (*AGENT_CALLBACKS, *RUN_CALLBACKS):
            answer = (answering or {}).get(callback)
            setattr(self, f"{callback}_callback", _later(log, f"{name}.{callback}", answer))


def tools_of(log: Log) -> list[Any]:
    """Return tools that note when they run: one that works, one that raises, one that writes state and a file."""

    def find(order_id: str = "A-1") -> dict[str, Any]:
        """Find an order."""
        log.note("find ran", order_id)
        return {"order_id": order_id, "status": "open"}

    async def fails(why: str = "no reason") -> str:
        """Fail."""
        log.note("fails ran", why)
        raise LookupError(why)

    async def keeps(value: int, tool_context: ToolContext) -> int:
        """Keep a value."""
        log.note("keeps ran", value)
        tool_context.state["kept"] = value
        await tool_context.save_artifact("kept.txt", types.Part(text=str(value)))
        return value

    return [find, fails, keeps]


def clerk(log: Log, *turns: Any, answering: dict[str, Any] | None = None, **more: Any) -> LlmAgent:
    """Make an agent that is watched, with all the tools."""
    return agent_of(*turns, tools=tools_of(log), **{**watching(log, answering), **more})


def app_of(log: Log, agent: BaseAgent, answering: dict[str, Any] | None = None) -> App:
    """Put an agent into an App with a plugin that answers so, between two that only watch."""
    plugins = [Watcher(log, name="first"), Watcher(log, answering, name="second"), Watcher(log, name="third")]
    return App(name="stage", root_agent=agent, plugins=list(plugins))


FIND = [call("find", order_id="B-2")]
FAILS = [call("fails", why="gone")]
KEEPS = [call("keeps", value=7)]
