"""Lets a model say how an agent's tools hang together, once for all of them, and keeps what it said."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from google.adk.models.base_llm import BaseLlm
from google.genai import types

from simulator.base.json_values import digest
from simulator.environment.prompts.connection_prompts import (
    CONNECTIONS_SCHEMA,
    connections_prompt,
    read_connections,
    shapes_digest,
)
from simulator.environment.world.connections import Connections, ToolShape
from simulator.runtime.models.json_client import (
    ClientHooks,
    JsonAnswer,
    JsonQuestion,
    RequestProgress,
    Timeouts,
    ask_for_json,
)

_MOST_KEPT = 64


class ModelConnections(JsonAnswer):
    """What a model says about some tools.

    `connections` is None, with the `reason`, where those that were found offline stand. `dropped` names in words what
    the model said about tools, parameters and fields that there are not.
    """

    connections: Connections | None = None
    dropped: tuple[str, ...] = ()


async def connection_analysis(
    tools: Sequence[ToolShape],
    model: str | BaseLlm,
    *,
    clock: Callable[[], float],
    on_progress: Callable[[RequestProgress], None],
    configuration: types.GenerateContentConfig | None = None,
    timeout_seconds: float = 120.0,
    retries: int = 2,
    retry_delay: float = 1.0,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> ModelConnections:
    """Ask a model about all tools of an agent and of those below it, in one request; arguments and errors as `generate`."""
    patience = Timeouts(timeout_seconds=timeout_seconds, retries=retries, retry_delay=retry_delay)
    question = JsonQuestion(partial(connections_prompt, tools), CONNECTIONS_SCHEMA, model, configuration)
    done = await ask_for_json(question, patience, ClientHooks(clock, on_progress, sleep))
    fields = dict(done)
    if done.reason:
        return ModelConnections(**fields)
    read = read_connections(done.value, tools)
    return ModelConnections(**fields, connections=read.connections, dropped=read.dropped)


class ConnectionCache:
    """What models have said about which tools, in memory. It belongs to one event loop.

    Those who ask for the same while a request is on its way wait for that one. A failure is given to all who wait and
    then forgotten, so that the next one asks again.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, ModelConnections] = OrderedDict()
        self._asked: dict[str, asyncio.Task[ModelConnections]] = {}
        self._waiting: dict[str, int] = {}

    def known(self, tools: Sequence[ToolShape], model: str | BaseLlm) -> ModelConnections | None:
        """Return what a model has said about these tools, in any order; None if it was not asked yet."""
        return self._known.get(_key(tools, model))

    def forget(self, tools: Sequence[ToolShape], model: str | BaseLlm) -> None:
        """Let the next one ask anew."""
        self._known.pop(_key(tools, model), None)

    async def get(
        self,
        tools: Sequence[ToolShape],
        model: str | BaseLlm,
        ask: Callable[[], Awaitable[ModelConnections]],
    ) -> ModelConnections:
        """Return what is known, or what `ask`, a call of `connection_analysis` for the same tools, gives.

        The request ends when the last one who waits for it is cancelled.
        """
        key = _key(tools, model)
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        if key not in self._asked:
            self._asked[key] = asyncio.ensure_future(self._learn(key, ask))
        task = self._asked[key]
        self._waiting[key] = self._waiting.get(key, 0) + 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key]
                task.cancel()
                if self._asked.get(key) is task:
                    del self._asked[key]

    async def _learn(self, key: str, ask: Callable[[], Awaitable[ModelConnections]]) -> ModelConnections:
        learnt = await ask()
        if learnt.connections is not None:
            self._known[key] = learnt
            if len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)
        return learnt


def _key(tools: Sequence[ToolShape], model: str | BaseLlm) -> str:
    name = model if isinstance(model, str) else f"{type(model).__name__}:{model.model}"
    return digest(name, shapes_digest(tools))
