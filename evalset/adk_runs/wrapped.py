"""Gives `adk eval` an agent that lies elsewhere, with what a run adds to it: recorded answers, and word of each turn. Runs in its process."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.cli.utils.agent_loader import AgentLoader
from google.adk.cli.utils.envs import load_dotenv_for_agent
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from evalset.adk_runs.run_spec import ASKED_FILE, PROGRESS_FILE, SPEC_FILE, AgentPlace, EvalRunSpec
from evalset.recorded.recording import RecordedEnvironment
from evalset.replay.hermetic_environment import HermeticEnvironment
from evalset.replay.session_following import running_eval_id
from simulator.agents import AgentSettings, agent_named, catalogue_for
from simulator.agents.agent_folder import IMPORTS, forget, is_importable, load_by_path, on_its_ground, prepare
from simulator.agents.agent_source import environment_data_in
from simulator.agents.load_failure import without_absent_packages
from simulator.runtime.adk.boundaries import without_senders
from simulator.runtime.adk.tool_guards import guard_process

_TURN: ContextVar[str | None] = ContextVar("turn", default=None)
"""The invocation of the turn that this task is taking."""


class TurnsTaken(BasePlugin):
    """Writes a line for each turn that the agent of a case has taken, and who was asked last, so that a run shows how far it is.

    A turn that asks the user for input is run once more with the answer, and writes its line again. Between the turns nobody is asked: a
    simulated user thinks, or ADK scores.
    """

    def __init__(self, path: Path) -> None:
        super().__init__("turns_taken")
        self._path, self._under_way = path, set[str]()

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Note that a turn begins; those of agents that are run as tools are a part of one."""
        if _TURN.get() is None:
            _TURN.set(invocation_context.invocation_id)
            self._under_way.add(invocation_context.invocation_id)

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Note which model is asked."""
        self._asks(f"the model {llm_request.model} of {callback_context.agent_name}")

    async def before_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],  # noqa: ARG002 - as ADK calls it
        tool_context: ToolContext,
    ) -> None:
        """Note which tool is asked."""
        self._asks(f"the tool {tool.name} of {tool_context.agent_name}")

    def _asks(self, words: str) -> None:
        self._path.with_name(ASKED_FILE).write_text(words, encoding="utf-8")

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Write that a turn is over."""
        if _TURN.get() not in {None, invocation_context.invocation_id}:
            return
        _TURN.set(None)
        self._under_way.discard(invocation_context.invocation_id)
        if not self._under_way:
            self._asks("")
        with self._path.open("a", encoding="utf-8") as file:
            file.write(
                json.dumps({"eval_id": running_eval_id(), "turn": invocation_context.invocation_id}) + "\n"
            )


def wrapped(module_file: str) -> App:
    """Return the app that the run of this agents' folder evaluates.

    Raises:
        Exception: Whatever the agent's own code raises.
    """
    folder = Path(module_file).parent
    spec = EvalRunSpec.model_validate_json((folder / SPEC_FILE).read_text(encoding="utf-8"))
    plugins: list[BasePlugin] = [TurnsTaken(folder.parent.parent / PROGRESS_FILE)]
    hermetic: HermeticEnvironment | None = None
    if spec.environment is not None:
        guard_process()
        hermetic = HermeticEnvironment(
            spec.environment if spec.environment.exists() else RecordedEnvironment(),
            models=spec.models,
            unrecorded=spec.unrecorded,
            latencies=spec.latencies,
        )
        plugins.insert(0, hermetic)
    is_recorded = hermetic is not None and spec.models == "recorded"
    with without_absent_packages() if is_recorded else nullcontext():
        found, data = _found(spec.agent)
    if hermetic is not None and spec.unrecorded == "generate":
        hermetic.environment_data = environment_data_in(data)
    if isinstance(found, App):
        if spec.environment is not None:
            found = without_senders(found)
        return found.model_copy(update={"plugins": [*plugins, *found.plugins]})
    try:
        return App(name=spec.agent.app_name, root_agent=found, plugins=plugins)
    except ValueError:  # `adk eval` takes a folder whose name no app can have
        return App(name=found.name, root_agent=found, plugins=plugins)


def _found(place: AgentPlace) -> tuple[Any, str | Path]:
    """Load the agent, from its folder where it has one, else as the studio does; return it with its environment data, or where that is."""
    if place.folder is not None and place.folder.is_dir():
        folder = place.folder.resolve()
        return loaded_agent(folder), folder
    if place.words:
        config = agent_named(place.words)
    else:
        settings = AgentSettings(place.agents_dir, place.agents_file, place.demos)
        config = catalogue_for(settings).config(place.name)
    return config.agent, config.environment_data


@cache
def loaded_agent(folder: Path) -> Any:
    """Load an agent's folder once, as the package that it is, and return its app or its root agent.

    `adk eval` imports each folder under the name `agent` and not from the folder above it: modules that import each other by the package's
    name are not found, or are there twice, with agents that then have two parents. It also asks for an agent more than once.

    Raises:
        Exception: Whatever the agent's own code raises.
    """
    with IMPORTS:
        if _is_stand_in(folder.name):
            forget(folder.name)  # `adk eval` gave its name to the module that stands for the agent
        prepare(folder.parent, package=folder.name)
        load_dotenv_for_agent(folder.name, str(folder.parent))
        return on_its_ground(folder, lambda: _imported(folder), may_do_without=True)


def _imported(folder: Path) -> Any:
    name, home = folder.name, folder.parent
    if (folder / "__init__.py").is_file():
        inner = _inner(importlib.import_module(name))
        if isinstance(app := getattr(inner, "app", None), App):
            return app
        if not hasattr(inner, "root_agent") and hasattr(inner, "get_agent_async"):
            return _awaited(inner.get_agent_async)
    if not is_importable(name):
        return load_by_path(home, name)
    is_agent = any((folder / file).is_file() for file in ("agent.py", "root_agent.yaml"))
    return AgentLoader(str(folder if is_agent else home)).load_agent(name)


def _is_stand_in(name: str) -> bool:
    """Return whether a name is that of a module that calls `wrapped`."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and (Path(file).parent / SPEC_FILE).is_file()


def _inner(package: ModuleType) -> Any:
    """Return what `adk eval` looks for an agent in: the package's `agent`, or itself."""
    return getattr(package, "agent", package)


def _awaited(get_agent_async: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Await an agent in a thread of its own: `adk eval` loads agents inside of a running loop."""
    with ThreadPoolExecutor(1) as beside:
        agent, _ = beside.submit(lambda: asyncio.run(get_agent_async())).result()
    return agent
