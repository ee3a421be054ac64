"""Lets the environment's model look, beside a turn, at how the agent's tools hang together; what it says is a fact."""

from __future__ import annotations

import asyncio
import contextvars

from simulator.base.secret_masking import error_words
from simulator.environment.environment_facts import ConnectionsAnalysed
from simulator.runtime.errors import SimulationError, ends_the_work
from simulator.runtime.models.environment_model import Modelling
from simulator.runtime.models.json_client import RequestProgress
from simulator.runtime.turns.session_port import SessionPort


def begin(modelling: Modelling, table: SessionPort) -> None:
    """Begin to ask the model; it goes on meanwhile. Where this session has heard it already, it is really asked again.

    Raises:
        SimulationError: No model is set, or it is being asked.
    """
    if modelling.analysing is not None:
        raise SimulationError("a model is already analysing the connections")
    modelling.model()
    if modelling.environment.analysed_by == modelling.environment.settings.simulation_model:
        modelling.forget_analysis()
    modelling.progress = "asking the model"
    work = _analyse(modelling, table)
    modelling.analysing = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
    table.noticed()


def begin_if_due(modelling: Modelling, table: SessionPort) -> None:
    """Begin if this session has not heard the model that is set now, where the settings want it and there are two tools."""
    environment = modelling.environment
    settings = environment.settings
    is_heard = environment.analysed_by == settings.simulation_model
    wanted = settings.connections_by_model and not is_heard and modelling.analysing is None
    if wanted and modelling.has_connections:
        begin(modelling, table)


def stop(modelling: Modelling) -> None:
    """End the analysis.

    Raises:
        SimulationError: None is going on.
    """
    if modelling.analysing is None:
        raise SimulationError("no model is analysing the connections")
    modelling.analysing.cancel()


async def _analyse(modelling: Modelling, table: SessionPort) -> None:
    def told(progress: RequestProgress) -> None:
        modelling.progress = progress.text
        table.noticed()

    name = modelling.environment.settings.simulation_model
    try:
        found = await modelling.analyse(told)
        fact = ConnectionsAnalysed(
            at=table.now(), model=name, connections=found.connections, reason=found.reason
        )
        table.append(fact)
    except BaseException as error:
        if ends_the_work(error):
            raise
        reason = error_words(error)
        table.append(ConnectionsAnalysed(at=table.now(), model=name, reason=reason))
    finally:
        modelling.analysing, modelling.progress = None, ""
        table.changed()
