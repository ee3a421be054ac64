"""Whatever real code raises is an answer in the timeline, and a draft that cannot be made says why: no session hangs, and none beside it is touched."""

from __future__ import annotations

import ast
import asyncio
import gc
import math
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.adk.tools.base_tool import BaseTool

from simulator.environment.evidence import tool_returns
from simulator.environment.evidence.sketch import FunctionSource, Module
from simulator.facts import Failed, Returned
from simulator.journal import Journal
from simulator.runtime import Simulation
from simulator.runtime.answering import call_environment, dispatcher
from tests.harness.processes import wait_until
from tests.simulator.runtime.answering.going import going
from tests.simulator.runtime.desk import breaks
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, entries, opened, tool_facts, tool_requests


def look(what: Any) -> dict[str, Any]:
    """Look for something."""
    return {"found": what, "more": f"{what}"}


def exits() -> str:
    """Want to end the process."""
    sys.exit("no key")


async def exits_later() -> str:
    """Want to end the process, on the loop."""
    await asyncio.sleep(0)
    sys.exit("no key")


async def interrupts() -> str:
    """Be interrupted."""
    raise KeyboardInterrupt


async def cancelled() -> str:
    """Wait for a task that was cancelled."""
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task
    return "never"


async def own_base() -> str:
    """Raise what is no `Exception`."""
    raise OwnBaseError("own")


def runs_out() -> str:
    """Ask an empty iterator."""
    return str(next(iter(())))


class OwnBaseError(BaseException):
    """What some libraries raise so that nobody catches it."""


def closes() -> str:
    """Raise what closes a generator, which nobody has closed."""
    raise GeneratorExit


async def exits_generator(n: int = 0) -> str:
    """Raise it in the tool itself."""
    raise GeneratorExit(n)


async def exits_in_thread(n: int = 0) -> str:
    """Raise it in a thread."""
    return f"{n}{await asyncio.to_thread(closes)}"


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
        return await asyncio.to_thread(closes)
    except GeneratorExit:
        await asyncio.sleep(0)
        return "caught"


_RAISING = [breaks, exits, exits_later, interrupts, cancelled, own_base, runs_out, exits_generator]
_LATER = [exits_in_thread, exits_in_future, exits_in_task, exits_and_awaits]


@pytest.mark.parametrize("tool", [*_RAISING, *(pytest.param(way, marks=pytest.mark.long) for way in _LATER)])
@pytest.mark.parametrize("player", ["real", "person"])
def test_a_tool_may_raise_anything(tool: Callable[..., Any], player: str) -> None:
    """In its seat or run by a person: the call has failed, the turn ends with it, and this session and the one beside it go on."""
    with opened(agent_of([call("look", what="x")], tools=[look])) as beside:
        with going(agent_of([call(tool.__name__)], tools=[tool]), tools=player) as sim:
            for request in tool_requests(sim):
                assert sim.run_real(request, wait=PATIENCE)
            (answered,) = tool_facts(sim)
            assert (answered.tool_name, answered.outcome.kind) == (tool.__name__, "raised")
            (error,) = entries(sim, "tool_error")
            assert error.provenance.source == "real"
            assert "Exit" in error.error_type or not tool.__name__.startswith("exits_")
            assert tool is not breaks or (error.error_type, error.error_message) == (
                "ConnectionError",
                "the line is dead",
            )
            assert len(entries(sim, "turn_failed")) == 1
            assert sim.query("again", wait=PATIENCE)
        if tool is exits_generator or tool in _LATER:
            gc.collect()  # what was left half done is closed only then
        assert beside.query("still there?", wait=PATIENCE)
        assert tool_requests(beside)[0].draft == {"found": "x", "more": "x"}


@pytest.mark.parametrize(
    "error", [SystemExit("no"), GeneratorExit("no")], ids=["SystemExit", "GeneratorExit"]
)
@pytest.mark.parametrize("place", ["before_agent_callback", "before_model_callback"])
def test_a_callback_may_raise_anything(place: str, error: BaseException) -> None:
    """The turn fails with that error; the next one runs."""
    left = [error]

    async def raises(*_: object, **__: object) -> None:
        if left:
            raise left.pop()

    callbacks: dict[str, Any] = {place: raises}
    with going(agent_of(**callbacks)) as sim:
        (failed,) = entries(sim, "turn_failed")
        assert (failed.error_type, failed.error_message) == (type(error).__name__, "no")
        assert sim.query("again", wait=PATIENCE)
        assert len(entries(sim, "turn_failed")) == 1


def test_an_asynchronous_tool_may_catch_generator_exit() -> None:
    """What a thread of its own raises is caught as any other error, and the tool goes on."""
    with going(agent_of([call("catches_exit")], tools=[catches_exit]), tools="real") as sim:
        (fact,) = tool_facts(sim)
        assert isinstance(fact.outcome, Returned)
        assert fact.outcome.value == "caught"
        assert not entries(sim, "turn_failed")


def test_a_real_call_that_has_not_begun_goes_along_with_its_seat() -> None:
    """While another real call runs, the seat of one that waits for it is swapped: the person gets it, at once."""
    go_on, ran = threading.Event(), list[str]()

    def hang() -> str:
        """Take long."""
        go_on.wait(PATIENCE)
        ran.append("hang")
        return "done"

    def pay() -> str:
        """Pay."""
        ran.append("paid")
        return "paid"

    begun: list[str] = []

    def note(tool: BaseTool, **_: Any) -> None:
        """Take down which call is about to be asked for."""
        begun.append(tool.name)

    agent = agent_of([call("hang"), call("pay")], tools=[hang, pay], before_tool_callback=note)
    with opened(agent, tools="real") as sim:
        assert not sim.query("go", wait=0.0)
        wait_until(lambda: len(begun) == len(agent.tools), what="both calls", seconds=PATIENCE)
        sim.set_player("tool", "person", "pay", wait=0)
        (request,) = tool_requests(sim)
        assert request.tool_name == "pay"
        sim.answer(request, "not now", wait=0)
        go_on.set()
        assert sim.wait(PATIENCE)
        assert ran == ["hang"]
        assert {fact.tool_name: fact.provenance.source for fact in tool_facts(sim)} == {
            "hang": "real",
            "pay": "written",
        }


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"n": math.nan, "more": [math.inf, -math.inf]}, {"n": "NaN", "more": ["Infinity", "-Infinity"]}),
        ({"half \ud800": {"half \udc80": "\ud800"}}, {"half ?": {"half ?": "?"}}),
        ({"n": 1 << 20_000}, {"n": f"{1 << 20_000:#x}"}),
    ],
    ids=["no number", "half a character", "a number of pages"],
)
def test_what_json_cannot_hold_is_kept_as_json(value: Any, kept: Any) -> None:
    """As a tool's result: the session can be seen, saved and read again."""

    async def odd() -> Any:
        """Return something odd."""
        return value

    with going(agent_of([call("odd")], tools=[odd]), tools="real") as sim:
        (fact,) = tool_facts(sim)
        assert fact.outcome == Returned(value=kept)
        assert sim.session.turns[0].error is None
        assert Journal.from_json(sim.journal.to_json()).session() == sim.session


async def cancels_itself() -> str:
    """Cancel the task that it runs in, and wait."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(60)
    return "never"


async def cancels_and_returns() -> str:
    """Cancel the task that it runs in, and end before that arrives."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    return "done"


async def times_out() -> str:
    """Wait for something for a moment only, which cancels the task and takes that back."""
    try:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(60)
    except TimeoutError:
        return "in time"
    return "never"


@pytest.mark.parametrize("tool", [cancels_itself, cancels_and_returns])
@pytest.mark.parametrize(("player", "beside"), [("real", False), ("real", True), ("person", False)])
def test_a_tool_that_cancels_its_own_task_ends_its_call_only(
    tool: Callable[..., Any], player: str, beside: bool
) -> None:
    """Its answer is an error, also where a person runs it, and the agent goes on; so does a call beside it."""
    calls = [call(tool.__name__), *([call("times_out")] if beside else [])]
    with going(agent_of(calls, tools=[tool, times_out]), tools=player) as sim:
        for request in tool_requests(sim):
            assert sim.run_real(request, wait=PATIENCE)
        answers = {fact.tool_name: fact.outcome for fact in tool_facts(sim)}
        failed = answers[tool.__name__]
        assert isinstance(failed, Failed)
        assert "its own task" in failed.error_message
        assert not beside or answers["times_out"] == Returned(value="in time")
        assert entries(sim, "final_response")[-1].content == "done"
        assert not entries(sim, "turn_failed")


def test_a_real_call_that_waits_for_another_says_so_and_a_cycle_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What runs and what waits for it is seen; where it waits for what another tool has to do, all of them are named.

    Patched because nobody who tests wants to wait for seconds.
    """
    monkeypatch.setattr(dispatcher, "_PARKED_SECONDS", 0.05)
    shipped, paid = asyncio.Event(), asyncio.Event()

    async def pay() -> str:
        """Pay, once it is shipped."""
        await shipped.wait()
        return "paid"

    async def ship() -> str:
        """Ship, once it is paid."""
        await paid.wait()
        return "shipped"

    with opened(agent_of([call("pay"), call("ship")], tools=[pay, ship]), tools="real") as sim:
        assert not sim.query("go", wait=0.0)
        wait_until(lambda: bool(sim.view().problems), what="the cycle", seconds=PATIENCE)
        (said,) = sim.view().problems
        assert "until pay ends" in said
        assert {each.name: each.waits_for for each in sim.view().running} == {"pay": "", "ship": "pay"}
        sim.stop()
        assert entries(sim, "turn_failed")[0].stopped


def test_a_tool_that_only_takes_long_is_not_called_part_of_a_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sleeps, or works in a thread, waits for no other code. Patched as above."""
    monkeypatch.setattr(dispatcher, "_PARKED_SECONDS", 0.02)

    async def sleeps() -> str:
        """Sleep."""
        await asyncio.sleep(0.1)
        return "awake"

    async def works() -> str:
        """Work in a thread."""
        await asyncio.to_thread(threading.Event().wait, 0.1)
        return "worked"

    calls = [call("sleeps"), call("works"), call("times_out")]
    with going(agent_of(calls, tools=[sleeps, works, times_out]), tools="real") as sim:
        assert not sim.view().problems
        assert len(tool_facts(sim)) == 3


def test_calls_that_wait_in_one_line_are_watched_by_one_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty real calls at once do not start a task each."""
    started: list[dispatcher.SessionAnswering] = []
    watch_the_line = dispatcher.SessionAnswering._watch_the_line

    async def counted(self: dispatcher.SessionAnswering) -> None:
        started.append(self)
        await watch_the_line(self)

    monkeypatch.setattr(dispatcher.SessionAnswering, "_watch_the_line", counted)

    async def takes_time() -> str:
        """Take a little time."""
        await asyncio.sleep(0.01)
        return "done"

    with going(agent_of([call("takes_time")] * 20, tools=[takes_time]), tools="real") as sim:
        assert len(tool_facts(sim)) == 20
    assert 1 <= len(started) < 20


HUGE = 10**5000
HALF = "half \ud800"


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
    ("tool", "arguments"),
    [
        *((look, {"what": what}) for what in (HUGE, HALF, {"deep": [HUGE, HALF]}, {HALF: 1})),
        *((tool, {}) for tool in (counts, hexadecimal, odd_getter)),
    ],
    ids=["huge", "half", "deep", "a key", "counts", "hexadecimal", "odd getter"],
)
def test_what_json_has_no_form_for(tool: Callable[..., Any], arguments: dict[str, Any]) -> None:
    """A number as long as a page and half of a surrogate pair come from a model or from code; the person answers, and what a draft cannot hold is a blank of it."""
    with going(agent_of([call(tool.__name__, **arguments)], tools=[tool])) as sim:
        answered(sim)


class OddError(Exception):
    """Fails to say what it is."""

    def __str__(self) -> str:
        return HALF


@pytest.mark.parametrize("what", ["the reader", "the drafts"])
@pytest.mark.parametrize(
    "error",
    [ValueError("v"), RecursionError("r"), MemoryError("m"), SystemError("s"), OddError()],
    ids=lambda error: type(error).__name__,
)
def test_a_failure_leaves_the_other_evidence_or_says_why(
    what: str, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The draft is made without the tool's code; where nothing can be made at all, it is a blank that names the error. The person answers."""

    def fail(*_: object) -> None:
        raise error

    if what == "the reader":
        monkeypatch.setattr(tool_returns, "load", fail)
    else:
        monkeypatch.setattr(call_environment, "best", fail)
    with going(agent_of([call("look", what="x")], tools=[look])) as sim:
        (request,) = tool_requests(sim)
        said = answered(sim)
        if what == "the drafts":
            assert [one.path for one in request.draft_blanks] == ["$"]
            assert type(error).__name__ in said


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
