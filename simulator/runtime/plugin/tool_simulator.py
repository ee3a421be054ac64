"""Makes ADK tools of functions that do not exist yet: each answers itself, from an environment that they share."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import inspect
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from google.adk.models.base_llm import BaseLlm
from google.adk.sessions import Session
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import BaseModel, ConfigDict

from simulator.base.json_values import JsonObject
from simulator.environment.plugin_config import SimulatedEnvironmentConfig, read_environment_config
from simulator.environment.world.tool_settings import (
    DefaultToolResponse,
    SharedState,
    StateRegistry,
    ToolSettings,
    schema_of,
)
from simulator.facts import ToolAnswered
from simulator.runtime.adk.declarations import response_schema_of
from simulator.runtime.adk.tool_guards import AnswersItself
from simulator.runtime.knowledge.knowledge import AnsweredCall
from simulator.runtime.plugin.plugin_environment import StandInEnvironment

_Function = TypeVar("_Function", bound=Callable[..., Any])


class RegisteredTool(BaseModel):
    """A function that stands for a tool.

    Attributes:
        name: What the tool is called.
        function: The function; it is never run.
        output_schema: What its answers are held to: a pydantic class, another type, or a JSON schema.
        initial_state_description: What there is in the beginning, in words.
        share_state_id: The state that it shares with other tools.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    function: Callable[..., Any] | None = None
    output_schema: Any = None
    initial_state_description: str | None = None
    share_state_id: str | None = None


class SimulatedTool(AnswersItself, FunctionTool):
    """A tool of a function's name, docstring and signature that an environment answers."""

    def __init__(self, function: Callable[..., Any], name: str, environment: StandInEnvironment) -> None:
        super().__init__(function)
        self.name = name
        self._environment = environment

    def own_settings(self) -> ToolSettings:
        """Return its output schema, its beginning and the state that it shares."""
        return self._environment.config.settings.tool(self.name)

    async def answer_after(
        self, earlier: Sequence[ToolAnswered], arguments: JsonObject, context: ToolContext
    ) -> Any:
        """Answer a call in a session that is played, after the calls that were answered in it before; raise where a rule says so."""
        return await self._environment.given_after(earlier, self, arguments, context)

    def _get_declaration(self) -> types.FunctionDeclaration | None:
        declaration = super()._get_declaration()
        if declaration is not None:
            declaration.name = self.name
        return declaration

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Answer a call from the environment; raise where a rule says so."""
        return await self._environment.given(self, args, tool_context)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Answer a call outside of any session, with the function's own parameters; it works where an event loop runs, too.

        Raises:
            TypeError: The arguments do not fit the function.
            Exception: Whatever a rule raises.
        """
        bound = inspect.signature(self.func).bind(*args, **kwargs)
        bound.apply_defaults()

        def answered() -> Any:
            return asyncio.run(self._environment.given(self, dict(bound.arguments), None))

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return answered()
        with concurrent.futures.ThreadPoolExecutor(1) as apart:
            return apart.submit(contextvars.copy_context().run, answered).result()


class ToolSimulator:
    """A registry of tools that do not exist yet; in a plain ADK runner they answer themselves.

    Each ADK session has a state of its own. With a `state_registry`, all sessions remember their calls there.

    Args:
        config: Rules, environment data, settings and who answers, in any form that `create_plugin` takes but a path.
        model: The model that makes the answers, a name or an object; else that of the settings. Without one, and where it
            cannot be asked, answers are drafted offline.
        state_registry: Where calls and beginnings are remembered.
        max_tool_call_cache_size: How many calls a state key remembers, the oldest making room; of a `state_registry`
            that is given, its own size counts.
        clock: Gives the time, in seconds since the epoch.

    Raises:
        EnvironmentConfigError: The configuration cannot be read.
    """

    def __init__(
        self,
        config: object = SimulatedEnvironmentConfig(),
        *,
        model: str | BaseLlm | None = None,
        state_registry: StateRegistry | None = None,
        max_tool_call_cache_size: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        read = read_environment_config(config)
        size = max_tool_call_cache_size or read.settings.max_tool_call_cache_size
        settings = read.settings.model_copy(update={"max_tool_call_cache_size": size})
        self._by_model = bool(model or settings.simulation_model)
        self._base = read.model_copy(update={"settings": settings})
        self._given_registry = state_registry
        self._beginnings = StateRegistry(size, clock=clock) if state_registry is None else state_registry
        self._tools: dict[str, RegisteredTool] = {}
        self.environment = StandInEnvironment(
            self._configured(),
            model=model,
            registry=state_registry,
            beginnings=self._beginnings,
            clock=clock,
        )
        self.environment.tells_of_strangers = False  # a registered tool need not be given to an agent

    def tool(
        self,
        output_schema: Any = None,
        name: str | None = None,
        share_state_id: str | None = None,
        initial_state_description: str | None = None,
    ) -> Callable[[_Function], _Function]:
        """Register a function as a tool, in place of one of its name, as a decorator; the function itself stays as it is.

        Args:
            output_schema: What the answers are held to: a pydantic class, another type, or a JSON schema. Without one
                it is what the function says that it returns, or else `DefaultToolResponse`: one text.
            name: What the tool is called, if not as the function.
            share_state_id: The state that it shares with the other tools that name it.
            initial_state_description: What there is in the beginning, in words. Of two for one state the first stays,
                and the second warns (UserWarning).

        Raises:
            ValueError: The schema is none.
        """

        def register(function: _Function) -> _Function:
            self._register(function, output_schema, name, share_state_id, initial_state_description)
            return function

        return register

    def _register(
        self,
        function: Callable[..., Any],
        output_schema: Any,
        name: str | None,
        share_state_id: str | None,
        initial_state_description: str | None,
    ) -> None:
        plain = FunctionTool(function)
        schema = output_schema if output_schema is not None else response_schema_of(plain)
        tool = RegisteredTool(
            name=name or plain.name,
            function=function,
            output_schema=DefaultToolResponse if schema is None else schema,
            initial_state_description=initial_state_description,
            share_state_id=share_state_id,
        )
        warning = self._beginnings.register_tool(_settings(tool))
        if warning:
            warnings.warn(warning, stacklevel=3)
        self._tools[tool.name] = tool
        self.environment.use(self._configured())

    def _configured(self) -> SimulatedEnvironmentConfig:
        base = self._base
        tools = {**base.settings.tools, **{name: _settings(tool) for name, tool in self._tools.items()}}
        said = base.listed if "listed" in base.model_fields_set else "offline"
        player = "model" if self._by_model else said
        return base.model_copy(
            update={
                "settings": base.settings.model_copy(update={"tools": tools}),
                "players": {**dict.fromkeys(self._tools, player), **base.players},
                "unlisted": player,  # of a tool that somebody still has after it was cleared away
            }
        )

    def get_tool(self, tool_name: str) -> SimulatedTool | None:
        """Return a registered tool for an agent; None where there is none of that name."""
        tool = self._tools.get(tool_name)
        return SimulatedTool(tool.function, tool.name, self.environment) if tool and tool.function else None

    @property
    def state_registry(self) -> StateRegistry:
        """The registry that was given; else that of the session used last, and before any the one that sessions start with."""
        return self._given_registry or self.environment.registry() or self._beginnings

    def list_tools(self) -> list[str]:
        """Return the names of the registered tools, in order."""
        return list(self._tools)

    def registered(self, tool_name: str) -> RegisteredTool | None:
        """Return what is registered under a name."""
        return self._tools.get(tool_name)

    def clear_tools(self) -> None:
        """Forget the registered tools; what is remembered of their calls stays."""
        self._tools.clear()
        self._beginnings.clear_tools()
        self.environment.use(self._configured())

    def get_state(self, state_key: str, session: Session | str | None = None) -> SharedState:
        """Return the beginning and the latest calls under a state key: a tool's name, or a `share_state_id`.

        Args:
            state_key: The key.
            session: A session, or its id; that used last where it is None.
        """
        return self.environment.get_state(state_key, session)

    def calls(self, session: Session | str | None = None) -> tuple[AnsweredCall, ...]:
        """Return the answered calls of a session; as for `get_state`."""
        return self.environment.calls(session)


def _settings(tool: RegisteredTool) -> ToolSettings:
    return ToolSettings(
        name=tool.name,
        output_schema=schema_of(tool.output_schema),
        share_state_id=tool.share_state_id or "",
        initial_state_description=tool.initial_state_description or "",
    )
