"""Gives `adk eval` an agent that lies elsewhere, with what a run adds to it: recorded answers, and word of each turn. Runs in its process."""

from __future__ import annotations

import asyncio
import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.cli.cli_eval import get_app_or_root_agent
from google.adk.cli.utils.envs import load_dotenv_for_agent
from google.adk.plugins.base_plugin import BasePlugin

from evalset.adk_runs.spec import PROGRESS_FILE, SPEC_FILE, AgentPlace, EvalRunSpec
from evalset.replay.plugin import HermeticEnvironment
from evalset.replay.running_case import running_eval_id
from simulator.agents import AgentSettings, catalogue_for

_TURN: ContextVar[str | None] = ContextVar("turn", default=None)
"""The invocation of the turn that this task is taking."""


class TurnsTaken(BasePlugin):
    """Writes a line for each turn that the agent of a case has taken, so that a run shows how far it is."""

    def __init__(self, path: Path) -> None:
        super().__init__("turns_taken")
        self._path = path

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Note that a turn begins; those of agents that are run as tools are a part of one."""
        if _TURN.get() is None:
            _TURN.set(invocation_context.invocation_id)

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Write that a turn is over."""
        if _TURN.get() not in {None, invocation_context.invocation_id}:
            return
        _TURN.set(None)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"eval_id": running_eval_id()}) + "\n")


def wrapped(module_file: str) -> App:
    """Give the app that the run of this agents' folder evaluates.

    Raises:
        Exception: Whatever the agent's own code raises.
    """
    folder = Path(module_file).parent
    spec = EvalRunSpec.model_validate_json((folder / SPEC_FILE).read_text(encoding="utf-8"))
    plugins: list[BasePlugin] = [TurnsTaken(folder.parent.parent / PROGRESS_FILE)]
    if spec.environment is not None:
        plugins.insert(
            0, HermeticEnvironment(spec.environment, models=spec.models, unrecorded=spec.unrecorded)
        )
    found = _found(spec.agent)
    if isinstance(found, App):
        return found.model_copy(update={"plugins": [*plugins, *found.plugins]})
    return App(name=spec.agent.app_name, root_agent=found, plugins=plugins)


def _found(place: AgentPlace) -> Any:
    """Load the agent: as `adk eval` does where it can, so that what works here works there; else as the studio does."""
    if place.folder is not None and (place.folder / "__init__.py").is_file():
        folder = str(place.folder)
        load_dotenv_for_agent(folder, os.curdir)
        with ThreadPoolExecutor(1) as beside:  # `adk eval` loads agents inside of a running loop
            app, root_agent = beside.submit(lambda: asyncio.run(get_app_or_root_agent(folder))).result()
        return app or root_agent
    settings = AgentSettings(place.agents_dir, place.agents_file, place.demos)
    return catalogue_for(settings).config(place.name).agent
