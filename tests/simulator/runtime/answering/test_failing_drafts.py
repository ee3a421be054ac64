"""A draft that cannot be made says why, and the call that it is for is answered all the same."""

from __future__ import annotations

import ast
import asyncio
import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from simulator.environment.drafts import candidates, draft_generator
from simulator.environment.evidence import tool_returns
from simulator.environment.evidence.sketch import FunctionSource, Module
from simulator.facts import Raised, Returned
from simulator.runtime import Simulation
from tests.simulator.runtime.stage import (
    PATIENCE,
    agent_of,
    call,
    entries,
    opened,
    say,
    tool_facts,
    tool_requests,
)

HUGE = 10**5000
HALF = "half \ud800"


def look(what: Any) -> dict[str, Any]:
    """Look for something."""
    return {"found": what, "more": f"{what}"}


def counts(n: int = 3) -> dict[str, Any]:
    """Count far."""
    return {"many": 10**5000 + n, "text": str(10**4000) + "x", "half": "a\ud800b", "\ud800": 1, "n": n}


def hexadecimal() -> dict[str, Any]:
    """Return a number that no one can write in decimal digits."""
    wide = 0x1 << 20_000
    return {"wide": wide, "of": [wide, {"in": wide}], "ok": 1}


def odd_getter() -> Any:
    """Get what is a keyword of Python."""
    import operator  # noqa: PLC0415 - the code is read

    return [operator.attrgetter("class")(1), operator.itemgetter(10**5000)([1])]


def answered(sim: Simulation) -> str:
    """Look at the draft and the candidates of the call that waits, answer it, and return what the draft says of itself."""
    (request,) = tool_requests(sim)
    assert request.candidates
    said = " ".join(request.draft_from)
    assert said
    assert isinstance(request.draft, (dict, list, str, type(None)))
    assert sim.answer(request.key, {"done": True}, wait=PATIENCE)
    (fact,) = tool_facts(sim)
    assert fact.outcome.kind == "returned"
    return said


@pytest.mark.parametrize(
    "what", [HUGE, HALF, {"deep": [HUGE, HALF]}, {HALF: 1}], ids=["huge", "half", "deep", "a key"]
)
def test_arguments_that_json_has_no_form_for(what: Any) -> None:
    """A number as long as a page and half of a surrogate pair come from a model, and the person answers."""
    with opened(agent_of([call("look", what=what)], tools=[look])) as sim:
        assert sim.query("go", wait=PATIENCE)
        answered(sim)


@pytest.mark.parametrize("tool", [counts, hexadecimal, odd_getter])
def test_code_that_computes_what_json_has_no_form_for(tool: Callable[..., Any]) -> None:
    """What a draft cannot hold is a blank of it."""
    with opened(agent_of([call(tool.__name__)], tools=[tool])) as sim:
        assert sim.query("go", wait=PATIENCE)
        answered(sim)


class OddError(Exception):
    """Fails to say what it is."""

    def __str__(self) -> str:
        return HALF


@pytest.mark.parametrize(
    "error",
    [ValueError("v"), RecursionError("r"), MemoryError("m"), SystemError("s"), OddError()],
    ids=lambda error: type(error).__name__,
)
def test_a_failure_of_the_reader_leaves_the_other_evidence(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The draft is then what is made without the tool's code, and the person answers."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(tool_returns, "load", fail)
    with opened(agent_of([call("look", what="x")], tools=[look])) as sim:
        assert sim.query("go", wait=PATIENCE)
        answered(sim)


@pytest.mark.parametrize(
    "error",
    [ValueError("v"), RecursionError("r"), MemoryError("m"), OddError()],
    ids=lambda error: type(error).__name__,
)
def test_a_failure_of_the_drafts_says_why(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be made at all, the draft is a blank, and names the error."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(draft_generator, "best", fail)
    monkeypatch.setattr(candidates, "best", fail)
    with opened(agent_of([call("look", what="x")], tools=[look])) as sim:
        assert sim.query("go", wait=PATIENCE)
        (request,) = tool_requests(sim)
        assert [one.path for one in request.draft_blanks] == ["$"]
        assert type(error).__name__ in answered(sim)


@pytest.fixture
def collecting() -> Iterator[None]:
    """Let the collector of garbage run all the time, and read source each time, as a traceback that it writes does."""

    def reads(phase: str, _: object) -> None:
        if phase == "stop":
            ast.parse("one + two")

    before = gc.get_threshold()
    gc.callbacks.append(reads)
    gc.set_threshold(50)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(reads)


@pytest.mark.usefixtures("collecting")
def test_code_is_read_while_garbage_is_collected() -> None:
    """Another tree that is made meanwhile leaves the first one whole."""
    for number in range(20):
        source = (
            f"# {number}\ndef tool(x):\n    return {{'x': [x, {{'y': x}}], 'z': 'a' + 'b'}}\n"
            f"y = {list(range(500))}\n"
        )
        code = FunctionSource(Module("tools.py", source, "tools"), "tool", 2)
        (outcome, *_) = tool_returns.read_returns(code, {"x": number}).outcomes
        assert outcome.value == {"x": [number, {"y": number}], "z": "ab"}


def exits() -> str:
    """Raise what closes a generator, which nobody has closed."""
    raise GeneratorExit


async def exits_generator(n: int = 0) -> str:
    """Raise it in the tool itself."""
    raise GeneratorExit(n)


async def exits_in_thread(n: int = 0) -> str:
    """Raise it in a thread."""
    return f"{n}{await asyncio.to_thread(exits)}"


async def exits_in_future(n: int = 0) -> str:
    """Wait for a future that ends so."""
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_exception, GeneratorExit(n))
    return await future


async def exits_in_task(n: int = 0) -> str:
    """Raise it in one of several tasks, which waits for a thread."""
    return "".join(await asyncio.gather(exits_in_thread(n), asyncio.sleep(0, "slept")))


async def exits_and_awaits(n: int = 0) -> str:
    """Wait for something else while it is raised."""
    try:
        return await exits_in_thread(n)
    finally:
        await asyncio.sleep(0)


async def catches_exit() -> str:
    """Take it as any other error."""
    try:
        return await asyncio.to_thread(exits)
    except GeneratorExit:
        await asyncio.sleep(0)
        return "caught"


@pytest.mark.parametrize(
    "tool",
    [
        exits_generator,
        *(
            pytest.param(way, marks=pytest.mark.long)
            for way in (exits_in_thread, exits_in_future, exits_in_task, exits_and_awaits)
        ),
    ],
)
def test_an_asynchronous_tool_may_raise_generator_exit(tool: Callable[..., Any]) -> None:
    """It is an answer like any other error, wherever it comes from, and nothing of the agent that ran is left over."""
    with opened(agent_of([call(tool.__name__)], tools=[tool]), tools="real") as sim:
        assert sim.query("go", wait=PATIENCE)
        (fact,) = tool_facts(sim)
        assert isinstance(fact.outcome, Raised)
        assert fact.outcome.error.short_type == "GeneratorExit"
        assert entries(sim, "tool_error")
        assert entries(sim, "turn_failed")
        assert sim.query("again", wait=PATIENCE)
    with opened(agent_of([call("look", what="x")], tools=[look])) as sim:
        assert sim.query("go", wait=PATIENCE)
        gc.collect()
        (request,) = tool_requests(sim)
        assert request.draft == {"found": "x", "more": "x"}


def test_an_asynchronous_tool_may_catch_generator_exit() -> None:
    """What a thread of its own raises is caught as any other error, and the tool goes on."""
    with opened(agent_of([call("catches_exit")], [say("Done.")], tools=[catches_exit]), tools="real") as sim:
        assert sim.query("go", wait=PATIENCE)
        (fact,) = tool_facts(sim)
        assert isinstance(fact.outcome, Returned)
        assert fact.outcome.value == "caught"
        assert not entries(sim, "turn_failed")


@pytest.mark.parametrize("place", ["before_agent_callback", "before_model_callback"])
def test_a_turn_ends_where_a_callback_raises_generator_exit(place: str) -> None:
    """The turn has failed, and the next one can begin."""

    async def callback(*_: object, **__: object) -> None:
        await exits_generator()

    with opened(agent_of([call("look", what="x")], tools=[look], **{place: callback}), tools="real") as sim:
        assert sim.query("go", wait=PATIENCE)
        assert len(entries(sim, "turn_failed")) == 1
        assert sim.query("again", wait=PATIENCE)
        assert len(entries(sim, "turn_failed")) == 2
