"""Gives an environment the forms in which ADK takes one, a callback of one agent or a plugin of an app, and watches a run of it."""

from __future__ import annotations

import itertools
import logging
import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import Session
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from simulator.base.documents import read_file
from simulator.environment.injection.adk_injection_config import EnvironmentConfigError
from simulator.environment.plugin_config import (
    SimulatedEnvironmentConfig,
    StandInPlayer,
    read_environment_config,
)
from simulator.environment.world.tool_settings import SharedState
from simulator.runtime.adk.adk_private import Run, invocation_of, let_plugins_go_on, runner_with
from simulator.runtime.adk.tool_guards import UnchosenToolError, Watch, all_refused, with_set
from simulator.runtime.adk.turn_context import WATCH
from simulator.runtime.errors import SimulationError
from simulator.runtime.knowledge.knowledge import AnsweredCall
from simulator.runtime.knowledge.world_view import WorldView
from simulator.runtime.models.environment_model import configuration_of
from simulator.runtime.plugin.call_claims import Claiming, inside_of
from simulator.runtime.plugin.plugin_environment import StandInEnvironment
from simulator.runtime.plugin.session_play import SessionName

_LOG = logging.getLogger(__name__)


class StandInWatch(Watch):
    """The watch of one run.

    Args:
        who: Who stands in.
        plugin: What covers the agents of a runner that code of the run makes.
        service: Where the session of the run is.
        name: The session.
    """

    def __init__(self, who: Claiming[Any], plugin: BasePlugin, service: Any, name: SessionName) -> None:
        super().__init__()
        self._who, self._plugin = who, plugin
        self._service, self._name = service, name
        self.errors: list[Exception] = []
        self.connections = who.connections

    def chose(self, tool: BaseTool) -> bool:
        """Return whether the one who stands in lets a tool run for real."""
        return self._who.chose(tool)

    def refused(self, error: UnchosenToolError) -> None:
        """Keep an error, which the run ends with."""
        self.errors.append(error)
        self._who.told_refused(str(error))
        _LOG.error("%s", error)

    def told(self, text: str) -> None:
        """Tell nobody: no person plays in such a run."""

    def within(self, runner: Runner, run_async: Run, given: dict[str, Any]) -> AsyncGenerator[Event, None]:
        """Return the events of a runner that code of the run began; its tools are answered as those of the run's session."""
        covered = runner_with(runner, self._plugin)
        inside = dict(inside_of(self._who, lambda: self._who.sessions.kept(self._service, self._name)))
        if covered is not runner:
            inside[_IN_OWN_RUNNER] = self
        return with_set(inside, lambda: run_async(covered, **given))


_IN_OWN_RUNNER: ContextVar[StandInWatch | None] = ContextVar("simulation_own_runner", default=None)
"""Whose run it is in which code of the agent lets a runner of its own run."""


def failed_unseen(error: Exception) -> None:
    """Let a run end with an error that was raised in a runner of the agent's own, whose code may go on whatever comes of that."""
    if (watch := _IN_OWN_RUNNER.get()) is not None:
        watch.errors.append(error)


def _one_of(errors: list[Exception]) -> Exception:
    refused = [error for error in errors if isinstance(error, UnchosenToolError)]
    return all_refused(refused) if refused else errors[0]


async def watched(
    who: Claiming[Any], plugin: BasePlugin, runner: Runner, run: Run, given: dict[str, Any]
) -> AsyncGenerator[Event, None]:
    """Yield the events of `run(**given)`, which is watched if nobody watches it already.

    Raises:
        UnchosenToolError: A tool was called past its seat that nobody chose to be real, even where the one who called it went on.
    """
    if WATCH.get() is not None:
        async with aclosing(run(**given)) as events:
            async for event in events:
                yield event
        return
    name = SessionName(runner.app_name, str(given.get("user_id")), str(given.get("session_id")))
    watch = StandInWatch(who, plugin, runner.session_service, name)
    try:
        with watch.active():
            async with aclosing(with_set({WATCH: watch}, lambda: run(**given))) as events:
                async for event in events:
                    yield event
    except Exception as error:
        if watch.errors:
            raise _one_of(watch.errors) from error
        raise
    if watch.errors:
        raise _one_of(watch.errors)


_NUMBERS = itertools.count(1)
_PATH = re.compile(r"[^\n\r{}\[\]()]+\.(?:json|ya?ml|py)", re.IGNORECASE)
"""A text that is the path of a configuration, and none itself."""


class _Face:
    """What a callback and a plugin show of their environment."""

    environment: StandInEnvironment

    def calls(self, session: Session | str | None = None) -> tuple[AnsweredCall, ...]:
        """Return the calls that were answered in a session, by itself or by its id; for None, in the one used last."""
        return self.environment.calls(session)

    def world(self, session: Session | str | None = None) -> WorldView | None:
        """Return what the environment knows in a session: its world as tables, its connections; None where it knows none."""
        return self.environment.world(session)

    def get_state(self, state_key: str, session: Session | str | None = None) -> SharedState:
        """Return what is remembered under a state key in a session: the beginning in words, and the latest calls."""
        return self.environment.get_state(state_key, session)

    def forget(self, session: Session | str) -> None:
        """Let go of all that is known of a session; its next call begins anew."""
        self.environment.forget(session)


class EnvironmentPlugin(_Face, BasePlugin):
    """Answers the tools of all agents of an app, and of agents that those run as tools.

    Args:
        environment: Answers.
        name: The plugin's name in its app.
        gives_way: Leave agents alone that have an environment of their own as their callback.
    """

    def __init__(self, environment: StandInEnvironment, name: str, *, gives_way: bool = False) -> None:
        super().__init__(name)
        self.environment, self._gives_way = environment, gives_way
        let_plugins_go_on()

    async def gone_on(self, runner: Runner, run: Run, given: dict[str, Any]) -> AsyncGenerator[Event, None]:
        """Yield the events of a run, in which code of the agent runs no tool for real that the configuration does not.

        Raises:
            UnchosenToolError: It tried to.
        """
        begun = run(**given) if self._gives_way else watched(self.environment, self, runner, run, given)
        async with aclosing(begun) as events:
            async for event in events:
                yield event

    async def before_tool_callback(
        self, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Claim a call, so that it is answered after the agent's own callbacks and the confirmation gate."""
        if self._gives_way and _has_own(tool_context, self.environment):
            return None
        return await self.environment.before_tool(tool, tool_args, tool_context, self)

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Take down the tools that a model is shown."""
        self.environment.note_tools(callback_context, llm_request.tools_dict)


class EnvironmentCallback(_Face):
    """A `before_tool_callback`: answers the tools of the agents that have it, and of agents that those run as tools."""

    def __init__(self, environment: StandInEnvironment) -> None:
        self.environment = environment
        name = f"environment_of_callback_{next(_NUMBERS)}"
        self._inside = EnvironmentPlugin(environment, name, gives_way=True)

    async def __call__(
        self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Claim a call that ADK is about to make; called by hand, return the answer as a dict.

        None, by hand, says that the configuration leaves the tool to itself.
        """
        return await self.environment.before_tool(tool, args, tool_context, self._inside)


def _has_own(context: Any, environment: StandInEnvironment) -> bool:
    agent = invocation_of(context).agent
    callbacks = agent.canonical_before_tool_callbacks if isinstance(agent, LlmAgent) else ()
    return any(
        isinstance(each, EnvironmentCallback) and each.environment is not environment for each in callbacks
    )


def create_callback(
    config: object,
    *,
    unlisted: StandInPlayer | None = None,
    seed: str | None = None,
    model: str | BaseLlm | None = None,
    clock: Callable[[], float] = time.time,
) -> EnvironmentCallback:
    """Make a `before_tool_callback` for one `LlmAgent`, as ADK's `EnvironmentSimulationFactory.create_callback` does.

    The agent stays as it is: its own callbacks run, the confirmation gate holds, what a rule raises reaches
    `on_tool_error_callback`. State, counters and draws belong to each session. Agents that this one runs as tools are
    covered; sub-agents that it transfers to, or gives a task to, need a callback of their own (a plugin covers them all). Tools that steer ADK's flow (`transfer_to_agent`,
    `exit_loop`, ...) and code executors are left alone. Called by hand, the callback gives the answer itself. In a session
    that is played, its seats decide; "real" there is what the agent has: this environment.

    Args:
        config: A `SimulatedEnvironmentConfig`, ADK's `EnvironmentSimulationConfig`, either as a mapping or as the text
            of one in JSON or YAML, or the path to a file with such a text: a `Path`, or a text of one line that ends
            in `.json`, `.yaml`, `.yml` or `.py`.
        unlisted: Who answers a tool that the configuration does not name; else as it says itself. With our configuration such a call
            is refused, with an error that says how to allow it. With ADK's it is as with ADK's own factory: that tool, and a listed one
            whose injections do not fire and that has no mock, runs for real, and a log line names it once.
        seed: Where chance comes from that no rule seeds; else as the configuration says. With ADK's it is new in every session.
        model: The model, a name or an object; else as the configuration says. Where it cannot be asked, drafts are
            made offline, and the calls say why.
        clock: Gives the time, in seconds since the epoch.

    Raises:
        EnvironmentConfigError: The configuration cannot be read; the text says which rule, tool or field is wrong.
        OSError: The file cannot be read.
    """
    return EnvironmentCallback(_environment(config, unlisted, seed, model, clock))


def create_plugin(
    config: object,
    *,
    unlisted: StandInPlayer | None = None,
    seed: str | None = None,
    model: str | BaseLlm | None = None,
    clock: Callable[[], float] = time.time,
    name: str = "simulated_environment",
) -> EnvironmentPlugin:
    """Make a plugin for an `App`, as ADK's `EnvironmentSimulationFactory.create_plugin` does.

    It covers every agent of the app, whichever way it is run. All else is as for `create_callback`.

    Args:
        config: As for `create_callback`, and so are `unlisted`, `seed`, `model` and `clock`.
        unlisted: Who answers a tool that the configuration does not name.
        seed: Where chance comes from that no rule seeds.
        model: The model, a name or an object.
        clock: Gives the time, in seconds since the epoch.
        name: The plugin's name; no two of an app may have the same.

    Raises:
        EnvironmentConfigError: As for `create_callback`, and so is OSError.
    """
    return EnvironmentPlugin(_environment(config, unlisted, seed, model, clock), name)


def _environment(
    config: object,
    unlisted: StandInPlayer | None,
    seed: str | None,
    model: str | BaseLlm | None,
    clock: Callable[[], float],
) -> StandInEnvironment:
    if isinstance(config, str) and _PATH.fullmatch(config.strip()):
        config = Path(config.strip())
    read = read_environment_config(
        read_file(config, "rules").decode("utf-8") if isinstance(config, Path) else config
    )
    try:
        configuration_of(read.settings.simulation_model_configuration)
    except SimulationError as error:
        raise EnvironmentConfigError(f"settings: {error}") from error
    changed = {"unlisted": unlisted, "seed": seed}
    asked = {name: value for name, value in changed.items() if value is not None}
    checked = SimulatedEnvironmentConfig.model_validate({**dict(read), **asked}) if asked else read
    return StandInEnvironment(checked, model=model, clock=clock)


class EnvironmentSimulationFactory:
    """Makes both under the names of ADK's document."""

    create_callback = staticmethod(create_callback)
    create_plugin = staticmethod(create_plugin)
