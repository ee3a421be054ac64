"""Asks a model for the answers of tools, after one look at how they hang together, for as many sessions as come at once."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
from collections.abc import Callable
from typing import NamedTuple

from google.adk.models.base_llm import BaseLlm
from google.genai import types

from simulator.environment.prompts.model_prompts import shapes_digest
from simulator.environment.world.connections import Connections, ToolShape
from simulator.runtime.models.environment_model import (
    Generation,
    ModelConnections,
    connection_analysis,
    generate,
)
from simulator.runtime.models.json_client import RequestProgress
from simulator.runtime.plugin.session_play import SessionPlay
from simulator.runtime.turns.waiting_request import Call

_LOG = logging.getLogger(__name__)
_FEWEST = 2  # one tool hangs together with nothing
_MOST_KEPT = 64

_Analysis = concurrent.futures.Future[Connections | None]


class ModelSettings(NamedTuple):
    """Which model is asked, and how patiently."""

    model: str | BaseLlm
    configuration: types.GenerateContentConfig | None
    timeout_seconds: float
    retries: int
    clock: Callable[[], float]


class Modelled:
    """The model of an environment. Threads and event loops may use it at once."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._analyses: dict[str, _Analysis] = {}

    @property
    def name(self) -> str:
        """The model's name."""
        model = self._settings.model
        return model if isinstance(model, str) else model.model

    async def draft(self, play: SessionPlay, question: Call) -> Generation:
        """Ask for an answer; without one, its `reason` says why."""
        await self._connect(play)
        settings = self._settings
        said = await generate(
            play.asked_of_model(question),
            settings.model,
            clock=settings.clock,
            on_progress=_told,
            configuration=settings.configuration,
            timeout_seconds=settings.timeout_seconds,
            retries=settings.retries,
        )
        if said.reason:
            _LOG.warning("%s is answered by a generated draft: %s", question.name, said.reason)
        return said

    async def _connect(self, play: SessionPlay) -> None:
        """Let the model look at the tools that are known, once for all sessions with the same ones.

        A session for which that failed goes on with what was found offline; the next one asks again.
        """
        tools = play.shapes()
        if play.is_analysed or len(tools) < _FEWEST:
            return
        found = await self._analysis(tools)
        play.is_analysed = True
        if found is not None:
            play.know({}, found)

    async def _analysis(self, tools: tuple[ToolShape, ...]) -> Connections | None:
        key = shapes_digest(tools)
        while True:
            with self._lock:
                known = self._analyses.get(key)
                if known is None:
                    mine: _Analysis = concurrent.futures.Future()
                    self._analyses[key] = mine
                    if len(self._analyses) > _MOST_KEPT:
                        del self._analyses[next(iter(self._analyses))]
            if known is None:
                return await self._lead(key, mine, tools)
            # Not awaited itself: one who waits and is cancelled would cancel it for all.
            await asyncio.wait({asyncio.wrap_future(known)})
            if not known.cancelled():
                return known.result()

    async def _lead(self, key: str, analysis: _Analysis, tools: tuple[ToolShape, ...]) -> Connections | None:
        """Ask for all who wait; where the call that asks is cancelled, another one of them does."""
        settings = self._settings
        try:
            said: ModelConnections = await connection_analysis(
                tools,
                settings.model,
                clock=settings.clock,
                on_progress=_told,
                configuration=settings.configuration,
                timeout_seconds=settings.timeout_seconds,
                retries=settings.retries,
            )
        except BaseException:
            self._forget(key)
            analysis.cancel()
            raise
        if said.reason:
            _LOG.warning(
                "the model did not analyse the tool connections, so those found offline are used: %s",
                said.reason,
            )
            self._forget(key)
        analysis.set_result(said.connections)
        return said.connections

    def _forget(self, key: str) -> None:
        with self._lock:
            self._analyses.pop(key, None)


def _told(progress: RequestProgress) -> None:
    _LOG.info("%s", progress.text)
