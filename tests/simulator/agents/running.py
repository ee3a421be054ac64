"""Runs an agent with ADK's own Runner and writes down what it called, got and said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.adk.apps.app import App
from google.adk.events.event import Event
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

Fake = Callable[[str, dict[str, Any], int], Any]
"""Answers a call in place of the tool: its name, its arguments, and how many calls came before. None: run the tool."""


@dataclass
class Turn:
    """What one turn of an agent, and of those it handed over to, consisted of."""

    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    responses: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    batches: list[list[str]] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)
    model_calls: int = 0

    @property
    def tools(self) -> list[str]:
        """The names of the called tools, in order."""
        return [name for name, _ in self.calls]

    @property
    def said(self) -> str:
        """The last text."""
        return self.texts[-1][1]

    @property
    def speaker(self) -> str:
        """Who said the last text."""
        return self.texts[-1][0]


class _Environment(BasePlugin):
    def __init__(self, fake: Fake | None) -> None:
        super().__init__(name="environment")
        self.fake = fake
        self.model_calls = 0
        self.tool_calls = 0

    async def before_model_callback(self, *, callback_context: Any, llm_request: LlmRequest) -> None:
        self.model_calls += 1

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> Any:
        self.tool_calls += 1
        return self.fake(tool.name, tool_args, self.tool_calls - 1) if self.fake else None


Message = str | bool
"""What the user says; a bool confirms or rejects the call that waits for it."""


def converse(agent: Any, *messages: Message, fake: Fake | None = None) -> list[Turn]:
    """Run one session, message by message, with the real tools or with `fake` in their place."""
    return asyncio.run(_converse(agent, messages, fake))


async def _converse(agent: Any, messages: Sequence[Message], fake: Fake | None) -> list[Turn]:
    environment = _Environment(fake)
    runner = InMemoryRunner(app=App(name="tested", root_agent=agent, plugins=[environment]))
    session = await runner.session_service.create_session(app_name="tested", user_id="user")
    turns: list[Turn] = []
    waiting: types.FunctionCall | None = None
    for message in messages:
        turn, before = Turn(), environment.model_calls
        content = _content(message, waiting)
        events = runner.run_async(user_id="user", session_id=session.id, new_message=content)
        waiting = await _follow(events, turn)
        turn.model_calls = environment.model_calls - before
        turns.append(turn)
    await runner.close()
    return turns


async def _follow(events: AsyncIterator[Event], turn: Turn) -> types.FunctionCall | None:
    waiting = None
    async for event in events:
        calls = event.get_function_calls()
        if calls:
            turn.batches.append([call.name or "" for call in calls])
        turn.calls.extend((call.name or "", dict(call.args or {})) for call in calls)
        turn.responses.extend(
            (one.name or "", dict(one.response or {})) for one in event.get_function_responses()
        )
        for part in (event.content.parts if event.content else None) or []:
            if part.text:
                turn.texts.append((event.author, part.text))
        waiting = next((call for call in calls if call.name == "adk_request_confirmation"), waiting)
    return waiting


def _content(message: Message, waiting: types.FunctionCall | None) -> types.Content:
    if isinstance(message, str):
        return types.Content(role="user", parts=[types.Part(text=message)])
    assert waiting is not None, "nothing waits for a confirmation"
    answer = types.FunctionResponse(id=waiting.id, name=waiting.name, response={"confirmed": message})
    return types.Content(role="user", parts=[types.Part(function_response=answer)])


def models_of(agent: Any) -> list[BaseLlm]:
    """Return the models of an agent and of its sub-agents."""
    return [agent.model, *(model for sub in agent.sub_agents for model in models_of(sub))]
