"""How the tests of the environment without the page run an agent: by ADK's own runner, with a callback or a plugin of ours."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import Field

from simulator.environment.injection.rules import InjectionRule
from simulator.runtime.plugin import (
    EnvironmentCallback,
    EnvironmentPlugin,
    SimulatedEnvironmentConfig,
    create_callback,
    create_plugin,
)
from tests.simulator.runtime.stage import PATIENCE, StandIn, call

Form = Literal["callback", "plugin"]
FORMS: tuple[Form, ...] = ("callback", "plugin")


class Stage(NamedTuple):
    """An agent with its environment, ready to be run in sessions."""

    runner: InMemoryRunner
    ours: EnvironmentCallback | EnvironmentPlugin

    async def turn(self, session_id: str = "s", query: Any = "go", **settings: Any) -> list[Event]:
        """Let the user say something in a session, which begins if it is not there; return the events."""
        where: Any = {"app_name": "stage", "user_id": "user", "session_id": session_id}
        if await self.runner.session_service.get_session(**where) is None:
            await self.runner.session_service.create_session(**where)
        parts = [types.Part(text=query)] if isinstance(query, str) else query
        return [
            event
            async for event in self.runner.run_async(
                user_id="user",
                session_id=session_id,
                new_message=types.Content(role="user", parts=parts),
                run_config=RunConfig(**settings) if settings else None,
            )
        ]


def staged(form: Form, agent: Any, config: Any, *, plugins: Iterable[BasePlugin] = (), **more: Any) -> Stage:
    """Return an agent an environment in one of its forms."""
    if form == "callback":
        callback = create_callback(config, **more)
        assert isinstance(agent, LlmAgent)
        own = agent.before_tool_callback
        before = own if isinstance(own, list) else [own] if own else []
        agent.before_tool_callback = [*before, callback]
        return Stage(runner_of(agent, *plugins), callback)
    plugin = create_plugin(config, **more)
    return Stage(runner_of(agent, plugin, *plugins), plugin)


def runner_of(agent: Any, *plugins: BasePlugin) -> InMemoryRunner:
    """Make ADK's own runner."""
    return InMemoryRunner(app=App(name="stage", root_agent=agent, plugins=list(plugins)))


def played(form: Form, agent: Any, config: Any, **more: Any) -> tuple[list[Any], Stage]:
    """Run one turn; return what the agent saw of its tools, and the stage."""
    stage = staged(form, agent, config, **more)
    return responses(asyncio.run(stage.turn())), stage


def responses(events: Iterable[Event]) -> list[Any]:
    """Return the tools' answers that the agent saw, in order."""
    return [answer.response for event in events for answer in event.get_function_responses()]


def in_threads(works: list[Callable[[], Any]]) -> list[Any]:
    """Do each work in a thread of its own, with an event loop of its own."""
    gate = threading.Barrier(len(works))

    def begun(work: Callable[[], Any]) -> Any:
        gate.wait(PATIENCE)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [*pool.map(begun, works)]


def rule(rule_id: str, tool: str = "find_order", effect: Any = None, **more: Any) -> InjectionRule:
    """Make a rule; by default one that says the tool is busy."""
    busy = {"kind": "error", "error_code": 503, "error_message": "busy"}
    return InjectionRule.model_validate(
        {"rule_id": rule_id, "tool_name": tool, "effect": effect or busy, **more}
    )


def config(*rules: InjectionRule, **more: Any) -> SimulatedEnvironmentConfig:
    """Make a configuration in which a tool that is named is drafted where no rule answers."""
    return SimulatedEnvironmentConfig(rules=rules, **{"listed": "offline", **more})


both = pytest.mark.parametrize("form", FORMS)
"""For tests of the callback and of the plugin."""

FIND = [call("find_order", order_id="A-1")]
BUSY = {"error_code": 503, "error_message": "busy"}


class Oracle(StandIn):
    """A model that is asked for JSON: it answers by what the prompt says, and keeps the prompts."""

    model: str = "oracle"
    say: Callable[[str], Any]
    prompts: list[str] = Field(default_factory=list)

    def respond(self, request: LlmRequest) -> Any:
        """Answer with what `say` gives for the prompt: an exception is raised, a text stands as it is."""
        self.prompts.append(prompt_in(request))
        return spoken(self.say(self.prompts[-1]))


def spoken(given: Any) -> str:
    """Say what is given: a text as it is, a value as JSON; an exception is raised."""
    if isinstance(given, Exception):
        raise given
    return given if isinstance(given, str) else json.dumps(given)


def prompt_in(request: LlmRequest) -> str:
    """Return all texts of a request."""
    return "\n".join(part.text or "" for content in request.contents for part in content.parts or ())
