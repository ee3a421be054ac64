"""A person says that the conversation is over, and goes back on it."""

from __future__ import annotations

import pytest

from simulator import Simulation, SimulationError
from simulator.session import SessionState
from simulator.session.history import SessionNote
from tests.simulator.runtime.speaking import desk, held, said, seat, speaker
from tests.simulator.runtime.stage import PATIENCE


def test_it_is_said_after_a_final_response_once_and_taken_back_by_word_by_undo_and_by_speaking() -> None:
    """It comes back with the journal. Each way opens the conversation again; the notes stand before what was said next."""
    with desk() as sim:
        with pytest.raises(SimulationError, match="final response"):
            sim.complete()
        assert sim.query("hello", wait=PATIENCE)
        assert sim.complete(wait=PATIENCE)
        assert sim.view().user.seat.ended
        assert sim.session.state is SessionState.COMPLETED
        with pytest.raises(SimulationError, match="already"):
            sim.complete()
        with Simulation.resume(type(sim.journal).from_json(sim.journal.to_json()), sim.config) as again:
            assert again.view().user.seat.ended
        assert sim.complete(over=False, wait=PATIENCE)
        assert not sim.view().user.seat.ended
        assert sim.complete(wait=PATIENCE)
        assert sim.undo(wait=PATIENCE)
        assert not sim.view().user.seat.ended
        assert sim.redo(wait=PATIENCE)
        assert sim.view().user.seat.ended
        assert sim.query("one more", wait=PATIENCE)
        assert not sim.view().user.seat.ended
        notes = [entry.content for entry in sim.session.history if isinstance(entry, SessionNote)]
        assert ["reopened" in note for note in notes] == [False, True, False]
        assert said(sim) == ["hello", "one more"]


def test_who_sits_in_the_users_seat_says_no_more_until_it_goes_on() -> None:
    """A scenario that speaks by itself rests; what it had ready is there again."""
    model = speaker("two", "three")
    with desk() as sim:
        seat(sim, model)
        assert sim.accept(wait=PATIENCE)
        assert held(sim) == "two"
        assert sim.complete(wait=PATIENCE)
        assert sim.view().user.seat.ended
        assert sim.set_user("person", wait=PATIENCE)
        seat(sim, model, hold=False)
        assert len(said(sim)) == 1
        assert sim.complete(over=False, wait=PATIENCE)
        assert sim.wait(PATIENCE)
        assert len(said(sim)) > 1
