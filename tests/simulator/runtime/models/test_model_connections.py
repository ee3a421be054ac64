"""Proves that a model is asked once for the connections of an agent's tools, and what becomes of its answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from simulator.environment.world.connections import ToolShape
from simulator.runtime.models.environment_model import ConnectionCache, ModelConnections, connection_analysis
from tests.harness.loopback import HANGS, Loopback, Reply, loopback
from tests.simulator.runtime.models.model_servers import PROVIDERS, Provider, Told, on_loop
from tests.simulator.runtime.stage import PATIENCE

# google-genai's own client does so.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

GEMINI = PROVIDERS["google-genai"]
TOOLS = (
    ToolShape(
        name="find_order", parameters={"type": "object", "properties": {"order_id": {"type": "string"}}}
    ),
    ToolShape(name="create_order"),
)
SAID = {
    "uses": [
        {"tool_name": "find_order", "parameter": "order_id", "kind": "order", "use": "reads"},
        {"tool_name": "find_order", "parameter": "invented", "kind": "order", "use": "reads"},
        {"tool_name": "no_tool", "parameter": "order_id", "kind": "order", "use": "reads"},
    ],
    "produces": [{"tool_name": "create_order", "field": "order_id", "kind": "order", "creates": True}],
    "roles": [{"tool_name": "create_order", "use": "creates", "kind": "order"}],
}


async def analysis(provider: Provider, server: Loopback) -> ModelConnections:
    """Ask the provider's real client about the tools."""
    told = Told()
    return await connection_analysis(
        TOOLS,
        provider.model(server.url),
        clock=told.clock,
        on_progress=told.progress.append,
        sleep=told.sleep,
    )


def test_the_model_says_how_the_tools_hang_together(provider: Provider) -> None:
    """One request with all tools, JSON asked for with its schema; what is invented is dropped with a word."""
    with loopback(provider.says(json.dumps(SAID))) as server:
        done = on_loop(analysis(provider, server))
        (asked,) = server.asked
    assert provider.json_mode(asked.body)
    assert set(provider.schema(asked.body)["properties"]) == {"uses", "produces", "roles"}
    assert "create_order" in provider.prompt(asked.body)
    assert done.connections is not None
    assert [use.parameter for use in done.connections.uses] == ["order_id"]
    assert done.connections.produces[0].creates
    assert [use.source for use in done.connections.uses] == ["model"]
    parameter, tool = done.dropped
    assert "find_order" in parameter
    assert "'invented'" in parameter
    assert "'no_tool'" in tool


@pytest.mark.parametrize(
    "said",
    [
        "[]",
        '{"uses": {}, "produces": [], "roles": []}',
        json.dumps(
            {**SAID, "uses": [{"tool_name": ["find_order"], "parameter": {}, "kind": 1, "use": "eats"}]}
        ),
    ],
)
def test_another_shape_leaves_what_was_found_offline(provider: Provider, said: str) -> None:
    """Lists and objects in place of names crash nothing; the reason is told."""
    with loopback(provider.says(said), provider.says(said)) as server:
        done = on_loop(analysis(provider, server))
        assert len(server.asked) == 2
    assert done.connections is None
    assert "second response" in done.reason


def with_cache(work: Callable[[ConnectionCache, Loopback], Any], *replies: Reply) -> tuple[Any, int]:
    """Run something with a cache and a server; return its result, and how often the provider was asked."""

    async def run() -> Any:
        return await work(ConnectionCache(), server)

    with loopback(*replies) as server:
        return on_loop(run()), len(server.asked)


async def got(
    cache: ConnectionCache, server: Loopback, tools: tuple[ToolShape, ...] = TOOLS
) -> ModelConnections:
    """Ask through the cache."""
    return await cache.get(tools, "gemini-2.5-test", lambda: analysis(GEMINI, server))


def test_many_who_ask_share_one_request_for_these_tools_and_this_model() -> None:
    """Whatever the order of tools, until it is forgotten; a failure is not kept, other tools or models are asked about anew."""
    other = (TOOLS[0], TOOLS[1].model_copy(update={"description": "Creates it."}))

    async def work(cache: ConnectionCache, server: Loopback) -> None:
        assert (await got(cache, server)).connections is None
        assert cache.known(TOOLS, "gemini-2.5-test") is None
        answers = await asyncio.gather(*(got(cache, server) for _ in range(5)))
        answers.append(await got(cache, server, TOOLS[::-1]))
        assert len(server.asked) == 2
        assert {id(answer) for answer in answers} == {id(cache.known(TOOLS, "gemini-2.5-test"))}
        assert answers[0].connections is not None
        await got(cache, server, other)
        await cache.get(TOOLS, "another-model", lambda: analysis(GEMINI, server))
        cache.forget(TOOLS, "another-model")
        await cache.get(TOOLS, "another-model", lambda: analysis(GEMINI, server))

    _, requests = with_cache(work, GEMINI.fails(404), *[GEMINI.says(json.dumps(SAID))] * 4)
    assert requests == 5


def test_one_who_leaves_does_not_stop_the_others() -> None:
    """The request ends with the last who waits for it, and then a new one can be made."""

    async def work(cache: ConnectionCache, server: Loopback) -> tuple[bool, bool]:
        one, other = (asyncio.create_task(got(cache, server)) for _ in range(2))
        assert await asyncio.to_thread(server.arrived.wait, PATIENCE)
        one.cancel()
        await asyncio.wait({one}, timeout=PATIENCE)
        still_there = not other.done()
        other.cancel()
        await asyncio.wait({other}, timeout=PATIENCE)
        assert one.cancelled()
        assert other.cancelled()
        return still_there, (await got(cache, server)).connections is not None

    result, requests = with_cache(work, HANGS, GEMINI.says(json.dumps(SAID)))
    assert result == (True, True)
    assert requests == 2
