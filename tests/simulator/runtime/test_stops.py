"""Delicate spots: stopping and closing at any moment, also where code swallows its cancellation; one agent in two sessions."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.long_running_tool import LongRunningFunctionTool

from simulator.facts import TurnEnded
from simulator.runtime import Simulation, SimulationError
from tests.harness.processes import wait_until
from tests.simulator.runtime.more_ways import coding
from tests.simulator.runtime.stage import (
    PATIENCE,
    StandIn,
    agent_of,
    answer_all,
    call,
    going,
    opened,
    play,
    resumed,
    say,
    tool_requests,
)
from tests.simulator.runtime.traces import Traces
from tests.simulator.runtime.ways import confirmed, parallel_calls, plain, side_by_side

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated in favor of Workflow:DeprecationWarning")


class Gate:
    """Something real that is entered, and does not come out before it is let out or cancelled.

    On the loop it may swallow its cancellation, make another error of it, or hang again.
    """

    def __init__(self, how: str = "") -> None:
        self.how = how
        self.entered = threading.Event()
        self.let_out = threading.Event()

    def hang(self) -> str:
        """Hang in a thread."""
        self.entered.set()
        assert self.let_out.wait(PATIENCE)
        return "late"

    async def wait(self, **_: Any) -> None:
        """Hang on the loop."""
        self.entered.set()
        while True:
            try:
                await asyncio.sleep(2 * PATIENCE)
            except asyncio.CancelledError as cancelled:
                if self.how == "other error":
                    raise RuntimeError("cancelled, in other words") from cancelled
                if self.how == "swallowed":
                    return
                if not self.how:
                    raise

    async def hang_later(self) -> str:
        """Hang on the loop, and say something."""
        await self.wait()
        return "late"


_WHERE: dict[str, Callable[[Gate], LlmAgent]] = {
    "thread": lambda gate: agent_of([call("hang")], tools=[gate.hang]),
    "tool": lambda gate: agent_of([call("hang_later")], tools=[gate.hang_later]),
    "model": lambda gate: LlmAgent(name="clerk", model=StandIn(does=lambda _: gate.hang_later())),
    "callback": lambda gate: agent_of([say("done")], before_agent_callback=gate.wait),
}
_SWALLOWED = [(where, how) for where in ("tool", "model", "callback") for how in ("swallowed", "other error")]
_RUNNING = [("thread", ""), ("tool", ""), ("model", ""), *_SWALLOWED]


def _playing(where: str, how: str = "") -> tuple[Simulation, Gate]:
    """Let an agent play until its code hangs."""
    gate = Gate(how)
    sim = opened(_WHERE[where](gate), tools="real")
    assert not sim.query("go", wait=0)
    assert gate.entered.wait(PATIENCE)
    return sim, gate


@pytest.mark.parametrize(("where", "how"), _RUNNING)
def test_stop_ends_what_is_running(where: str, how: str) -> None:
    """A turn in which something real hangs can be stopped; the stop stands in the timeline, no answer does but that of code which swallows it."""
    sim, gate = _playing(where, how)
    with sim:
        view = sim.view()
        assert view.busy
        assert len(view.running) == (where != "callback")
        sim.stop()
        gate.let_out.set()
        view = sim.view()
        assert not view.busy
        assert view.running == ()
        assert view.pending == ()
        assert view.session.turns[-1].stopped
        happened = [entry.type for entry in view.session.history if entry.type != "session_note"]
        called = ["tool_call"] if where in {"thread", "tool"} else []
        assert how or happened == ["user_query", *called, "turn_failed"]
        assert view.session.state.value == "awaiting_query"
        assert sim.wait(PATIENCE)
        assert sim.view().head == view.head, "the late result of what was stopped changes nothing"
        sim.set_player("agent", "person")
        assert not sim.session.is_running


@pytest.mark.parametrize(("where", "how"), _SWALLOWED)
def test_an_undo_takes_back_the_turn_that_runs(where: str, how: str) -> None:
    """To before the query, whatever the code makes of its cancellation."""
    sim, _ = _playing(where, how)
    with sim:
        sim.undo()
        assert not sim.session.turns


def test_code_that_never_ends_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop says that it cannot end the turn, after some attempts, and does not hang itself."""
    for module in ("session_engine", "adk.cancellation"):
        monkeypatch.setattr(f"simulator.runtime.{module}.PATIENCE_WITH_CANCELLATION", 0.01)
    sim, _ = _playing("callback", "never")
    with pytest.raises(SimulationError, match="ignores cancellation"):
        sim.stop()


def test_a_long_running_call_that_was_stopped_takes_no_late_result() -> None:
    """The turn that made the call is gone, so nothing is left open that could be answered."""
    gate = Gate()
    agent = agent_of([call("hang"), call("_slow")], tools=[gate.hang, LongRunningFunctionTool(_slow)])
    with opened(agent, tools={"hang": "real"}) as sim:
        sim.query("go", wait=0)
        assert gate.entered.wait(PATIENCE)
        sim.stop()
        gate.let_out.set()
        assert sim.session.open_calls == ()


def _slow() -> None:
    """Take days."""


@pytest.mark.parametrize(("where", "how"), _RUNNING)
def test_close_while_something_runs_writes_nothing(where: str, how: str) -> None:
    """Closing drops the turn without a word in the journal. A real call that was cut off may have run: a person decides."""
    sim, gate = _playing(where, how)
    text = sim.journal.to_json()
    sim.close()
    gate.let_out.set()
    sim.close()
    assert sim.wait(0)
    assert sim.journal.to_json() == text
    again = Gate()
    if where == "thread":
        with resumed(text, _WHERE[where](again)) as sim:
            (request,) = tool_requests(sim)
            assert request.may_have_run
            assert not again.entered.is_set()
            assert sim.answer(request, "it did", wait=PATIENCE)
            assert sim.session.state.value == "completed"


_PENDING: list[Callable[[Traces], Any]] = [plain, confirmed, parallel_calls, side_by_side, coding]


def _until_pending(sim: Simulation) -> None:
    assert sim.query("go", wait=PATIENCE)
    if len(sim.pending) > 1:
        assert sim.answer(sim.pending[-1], {"part": 1}, wait=PATIENCE)


@pytest.mark.parametrize("way", _PENDING)
def test_stop_while_a_person_thinks(way: Callable[[Traces], Any]) -> None:
    """A turn that waits for a person (parallel calls in part answered, code, an approval) is stopped, a new query runs, and a resume shows the stop."""
    traces = Traces()
    with opened(way(traces)) as sim:
        _until_pending(sim)
        if sim.session.is_running:
            sim.stop()
        assert sim.pending == ()
        with resumed(sim.journal.to_json(), way(traces)) as again:
            assert again.session == sim.session
        assert sim.query("again", wait=PATIENCE)
        answer_all(sim)
        assert not sim.view().busy
        assert traces.ran == []
        assert [turn.stopped for turn in sim.session.turns] in ([True, False], [False, False])


@pytest.mark.parametrize("way", _PENDING)
def test_close_in_each_state_leaves_nothing_behind(way: Callable[[Traces], Any]) -> None:
    """Before a query, while a person thinks, and after the end: a close leaves no task of the session on the loop."""
    for depth in range(3):
        sim = opened(way(Traces()))
        before = sim._loop.call(lambda: len(asyncio.all_tasks()))
        if depth == 1:
            _until_pending(sim)
        if depth == 2:
            play(sim)
        sim.close()
        sim.close()
        assert sim._loop.call(lambda: len(asyncio.all_tasks())) <= before
        assert sim.wait(0)
        assert sim.pending == ()


def test_two_sessions_over_one_agent_do_not_mix() -> None:
    """Two sessions of the same config at the same time: each has its own calls, answers, state and seats."""
    traces = Traces()
    agent = agent_of(
        lambda request: [call("hit", mark=_query_of(request))],
        lambda request: [say(f"answer to {_query_of(request)}")],
        tools=[traces.hit],
        output_key="said",
    )
    one, two = opened(agent, seed="one"), opened(agent, seed="two", tools="real")
    with one, two:
        assert one.query("first", wait=PATIENCE)
        assert two.query("second", wait=PATIENCE)
        assert [request.arguments for request in tool_requests(one)] == [{"mark": "first"}]
        assert two.session.state.value == "completed"
        assert two.session.current_state == {"said": "answer to second"}
        assert traces.ran == ["second"]
        assert one.answer(one.pending[0], {"found": 1}, wait=PATIENCE)
        assert one.session.current_state == {"said": "answer to first"}
        assert one.session.history[-1].content == "answer to first"  # type: ignore[union-attr] # it is the final response
        assert traces.ran == ["second"]


def _query_of(request: LlmRequest) -> str:
    parts = request.contents[0].parts or []
    return parts[0].text or ""


def test_many_sessions_over_one_agent_from_many_threads() -> None:
    """Sessions that threads open and play at the same time over one agent all end as one alone does."""
    agent = plain(Traces())
    ends: list[list[str]] = []

    def session() -> None:
        with opened(agent) as sim:
            play(sim)
            ends.append([entry.type for entry in sim.session.history])

    threads = [threading.Thread(target=session) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert ends == [["user_query", "tool_call", "tool_output", "final_response"]] * 6


def test_commands_that_do_not_fit_are_refused() -> None:
    """Without a turn there is nothing to stop or to answer; in one a query, a late reply and another answer change nothing."""
    with opened(plain(Traces())) as sim:
        with pytest.raises(SimulationError, match="nothing to stop"):
            sim.stop()
        with pytest.raises(SimulationError, match="no turn"):
            sim.answer("0//x#0", 1)
        assert sim.query("go", wait=PATIENCE)
        text = sim.journal.to_json()
        with pytest.raises(SimulationError, match="0//x#0"):
            sim.answer("0//x#0", 1)
        with pytest.raises(SimulationError, match="turn 0"):
            sim.query("more")
        with pytest.raises(SimulationError, match="'x'"):
            sim.reply("x", 1)
        assert sim.journal.to_json() == text
        assert len(sim.pending) == 1


def test_a_turn_whose_code_cancels_every_task_ends_with_an_error() -> None:
    """The code reaches our tasks as well. The session goes on."""

    def cancel_all(callback_context: Any) -> None:
        if callback_context.user_content.parts[0].text == "cancel":
            for task in asyncio.all_tasks():
                task.cancel()

    with opened(agent_of([say("hello")], before_agent_callback=cancel_all), agents="model") as sim:
        with contextlib.suppress(CancelledError):  # the wait was a task, too
            sim.query("cancel", wait=PATIENCE)
        wait_until(lambda: not sim.session.is_running, what="the turn's end")
        assert sim.session.state.value == "awaiting_query"
        (ended,) = [fact for _, fact in sim.journal.path() if isinstance(fact, TurnEnded)]
        assert "cancelled" in str(ended.error)
        assert sim.query("go", wait=PATIENCE)
        assert sim.session.turns[-1].ended


def test_real_state_that_json_cannot_hold_is_kept_as_json_with_a_word() -> None:
    """A real tool's state value without a JSON form becomes what JSON makes of it, and the person is told."""

    def stamp(tool_context: Any) -> str:
        """Write a set."""
        tool_context.state["seen"] = {"b", "a"}
        return "ok"

    with going(agent_of([call("stamp")], tools=[stamp]), tools="real") as sim:
        assert sim.session.current_state == {"seen": ["a", "b"]}
        assert any("'seen'" in problem for problem in sim.view().problems)
        assert sim.query("and now", wait=PATIENCE)
        assert not sim.view().problems, "those of the turn before are told no longer"
