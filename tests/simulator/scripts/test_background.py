"""A script plays beside people: they answer what it asks, stop it, and let it go on where it was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from google.adk.tools.function_tool import FunctionTool

from simulator import Simulation
from simulator.facts import ModelAnswered, ToolAnswered, TurnStarted
from simulator.scripts import Played, Script, ScriptAtWork, ScriptProgress, open_for_script
from simulator.scripts.script_player import MOVED, STOPPED
from tests.evalset.sessions import PATIENCE, agent, call, refund, say
from tests.simulator.scripts.recording import config
from tests.simulator.scripts.test_playing import FIND, desk, last, results, script

LATE = script(FIND, {"text": "Late."})
TWO = [call("find_order", order_id="A-1"), call("refund", order_id="A-1", amount=1.0)]


def asking(progress: ScriptProgress) -> bool:
    """Return whether somebody is asked."""
    return bool(progress.asks)


def ended(work: ScriptAtWork) -> Played:
    """Wait until it is over; return how it went."""
    assert work.wait(lambda progress: progress.is_over, PATIENCE)
    assert work.progress.played is not None
    return work.progress.played


@contextmanager
def at_work(of: Any, lines: dict[str, Any]) -> Iterator[tuple[Simulation, ScriptAtWork]]:
    """Let a script play in the background until somebody is asked."""
    read = Script.model_validate(lines)
    with open_for_script(config(of), read) as simulation:
        work = ScriptAtWork(simulation, read)
        assert work.wait(asking, PATIENCE)
        try:
            yield simulation, work
        finally:
            work.stop()


def test_what_the_script_lacks_waits_for_a_person_and_then_it_goes_on() -> None:
    """A call that no line fits waits and is answered by hand; the other one has its line."""
    lines = script({"tool": "refund", "returns": 1}, agent="model")
    with at_work(desk(TWO, [say("done")]), lines) as (simulation, work):
        (waits,) = work.progress.asks
        assert {"find_order", "order_desk"} <= set(re.findall(r"\w+", waits.words))
        assert simulation.answer(simulation.pending[0], {"by": "hand"}, wait=PATIENCE)
        assert ended(work).came_through
        assert sorted(map(str, results(simulation.session))) == ["1", "{'by': 'hand'}"]


def test_who_said_and_answered_it_is_told() -> None:
    """The query, the turn and the answer of a script carry its name; what a person answers does not."""
    with at_work(desk(), LATE) as (simulation, work):
        assert simulation.answer(simulation.pending[0], {"by": "hand"}, wait=PATIENCE)
        ended(work)
        by = [
            (fact.kind, fact.provenance.by)
            for _, fact in simulation.journal.path()
            if isinstance(fact, (TurnStarted, ModelAnswered, ToolAnswered)) and fact.provenance
        ]
    assert by == [
        ("turn_started", "script"),
        ("model_answered", "script"),
        ("tool_answered", None),
        ("model_answered", "script"),
    ]


def test_it_can_be_stopped_and_the_session_goes_on_by_hand() -> None:
    """While it asks; what it has done stays."""
    with at_work(desk(), LATE) as (simulation, work):
        work.stop()
        assert ended(work).stopped not in {"", MOVED, STOPPED}
        assert len(simulation.pending) == 1
        assert simulation.answer(simulation.pending[0], {}, wait=PATIENCE)
        assert len(simulation.pending) == 1


@pytest.mark.parametrize("how", [MOVED, STOPPED])
def test_it_ends_where_somebody_goes_back_or_stops_the_turn(how: str) -> None:
    """Its lines belong to a way that is not gone any more."""
    with at_work(desk(), LATE) as (simulation, work):
        if how == MOVED:
            assert simulation.undo(wait=PATIENCE)
        else:
            simulation.stop()
        assert ended(work).stopped == how


def test_it_goes_on_where_it_was_after_a_stop_and_after_an_undo() -> None:
    """What it has used is known from the journal: no line speaks twice, and one that was taken back speaks again."""
    turns = [
        {"say": "one", "moves": [FIND, {"tool": "find_order", "returns": 1}, {"text": "First."}]},
        {"say": "two", "moves": [FIND, {"text": "Second."}]},
    ]
    read = Script.model_validate({"turns": turns})
    with open_for_script(config(desk()), read) as simulation:
        work = ScriptAtWork(simulation, read)
        assert work.wait(asking, PATIENCE)
        work.stop()
        work = ScriptAtWork(simulation, read, resumes=True)
        assert work.wait(asking, PATIENCE)
        assert (work.progress.step.turn, len(simulation.session.turns)) == (2, 2)
        assert simulation.undo(wait=PATIENCE)  # the call of the second turn
        assert simulation.undo(wait=PATIENCE)  # the second query
        ended(work)
        work = ScriptAtWork(simulation, read, resumes=True)
        assert work.wait(asking, PATIENCE)
        assert simulation.answer(simulation.pending[0], 2, wait=PATIENCE)
        played = ended(work)
        assert played.came_through, work.progress
        assert played.leftovers == ()
        assert results(simulation.session) == [1, 2]
        assert last(simulation.session) == "Second."


def test_a_call_left_open_in_the_end_waits_and_the_scripts_lines_answer_what_follows() -> None:
    """A confirmation that the script forgot is given by a person; its answers for the environment still hold."""
    of = agent(
        [call("refund", order_id="A-1", amount=1.0)],
        [say("ok")],
        tools=[FunctionTool(refund, require_confirmation=True)],
    )
    lines = script(agent="model", environment=[{"tool": "refund", "returns": {"ok": 1}}])
    with at_work(of, lines) as (simulation, work):
        assert "refund" in work.progress.asks[0].words
        assert simulation.confirm(simulation.session.open_calls[0].call_id, True, wait=PATIENCE)
        ended(work)
        assert {"ok": 1} in results(simulation.session)


def test_what_breaks_is_told() -> None:
    """A session that is closed under it ends it with words."""
    with at_work(desk(), LATE) as (simulation, work):
        simulation.close()
        work.stop()
        assert work.progress.is_over
