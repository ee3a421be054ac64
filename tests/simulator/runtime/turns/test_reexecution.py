"""A journal, cut off anywhere, gives back the session as it was; nothing real happens again on the way there."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from simulator.facts import Answered, ToolAnswered, TurnEnded, TurnStarted
from simulator.journal import Journal
from simulator.runtime import Simulation
from simulator.runtime.adk.codec import chained
from tests.simulator.runtime.playing import (
    Mode,
    Play,
    facts_of,
    live_events,
    played,
    resumed,
    seen,
    times_asked,
    times_run,
    to_its_end,
)
from tests.simulator.runtime.shapes import SHAPES, Shape
from tests.simulator.runtime.stage import ASKED
from tests.simulator.runtime.traces import Traces

# ADK warns of agents that are still everywhere.
pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated in favor of Workflow:DeprecationWarning")

_OPENING = 3
"""The number of the last fact of the opening: the agent was selected, and somebody sat down in each seat."""


_BASIC = {
    "held": {"plain", "confirmed", "agent_tool"},
    "real": {"state_and_files", "writing_callbacks"},
}
"""The shapes that stand for the others, by who plays."""


def _plays() -> Iterator[Any]:
    """Return each shape with each way to play it; all but the basic ones are long."""
    for name, mode in itertools.product(SHAPES, get_args(Mode)):
        marks = () if name in _BASIC[mode] else pytest.mark.long
        yield pytest.param(name, mode, id=f"{name}-{mode}", marks=marks)


@pytest.mark.parametrize(("name", "mode"), [*_plays()])
def test_a_journal_cut_off_anywhere_gives_back_the_session(name: str, mode: Mode) -> None:
    """From each prefix, as of a process that was killed: what was there, nothing real again, and the same end; undo does so too.

    Where another prefix has led to the same facts and has gone on from there, it does not go on again.
    """
    shape, gone_on_from, compared = SHAPES[name], set[str](), 0
    play = played(shape, mode)
    for number in range(_OPENING, len(play.journal)):
        kept, traces, asked = play.journal.branched(number), Traces(), len(ASKED)
        with resumed(kept.to_json(), shape, traces) as sim:
            compared += _shows_what_was_there(sim, play, number)
            facts = facts_of(sim.journal)
            _gives_the_same(facts, play, mode, number)
            if (pause := json.dumps(facts)) not in gone_on_from:
                gone_on_from.add(pause)
                to_its_end(sim, shape)
                _gives_the_same(facts_of(sim.journal), play, mode, number, is_end=True)
            # A model is asked, and something real runs, only for what the journal does not answer yet.
            assert len(ASKED) - asked == times_asked(sim.journal) - times_asked(kept), f"from fact {number}"
            assert len(traces.ran) == times_run(sim.journal) - times_run(kept), f"from fact {number}"
    assert compared >= len(play.rests)
    assert len(gone_on_from) >= len(play.rests)
    _goes_back(play, shape)


def _shows_what_was_there(sim: Simulation, play: Play, number: int) -> bool:
    """Compare pending requests, timeline, state and open calls with those at first; False where there is nothing to compare with.

    ADK's events are those that were there, whole, with ids and times. Nothing changes until a person does something.
    """
    view, where = sim.view(), f"from fact {number}"
    assert (view.divergence, view.busy) == (None, False), where
    assert sim.wait(0)
    assert sim.view().head == view.head, where
    if view.head != number:
        return False
    events = _events_so_far(play.journal, number)
    assert events is None or live_events(sim) == events, where
    if number in play.rests:
        assert seen(view) == seen(play.rests[number]), where
    return number in play.rests


def _events_so_far(journal: Journal, number: int) -> list[Any] | None:
    """Return the events that the turn in progress had after fact `number`, where an answer in it followed.

    Each answer carries a fingerprint of all events before it, but for those that a tool sent by itself.
    """
    following = [fact for _, fact in journal.path()[number + 1 :]]
    in_turn = list(
        itertools.takewhile(lambda fact: not isinstance(fact, (TurnStarted, TurnEnded)), following)
    )
    answered = next((fact for fact in in_turn if isinstance(fact, Answered)), None)
    if answered is None:
        return None
    later = {
        event["id"] for fact in following if isinstance(fact, ToolAnswered) for event in fact.effects.events
    }
    sent = later | {event["id"] for event in _sent(journal)}
    chain, so_far = "", []
    for event in journal.session().turns[answered.turn].events:
        if event["id"] not in sent:
            if chain == answered.digests.chain:
                break
            chain = chained(chain, event)
        if event["id"] not in later:
            so_far.append(event)
    assert chain == answered.digests.chain
    return so_far


def _sent(journal: Journal) -> Iterator[Any]:
    for _, fact in journal.path():
        if isinstance(fact, ToolAnswered):
            yield from fact.effects.events


def _gives_the_same(facts: list[Any], play: Play, mode: Mode, number: int, *, is_end: bool = False) -> None:
    """The same answers give the same facts: events with ids and times, state, artifacts.

    What is in the journal keeps its order. What is not yet, and is answered by several real things at once, may come
    in another one: then the answers are the same.
    """
    expected, where = facts_of(play.journal), f"from fact {number}"
    if mode == "real":
        assert not _answers(facts) - _answers(expected), where
        assert not is_end or _answers(facts) == _answers(expected), where
    else:
        assert facts == (expected if is_end else expected[: len(facts)]), where


def _answers(facts: list[Any]) -> Counter[str]:
    return Counter(map(_answer_in, facts))


def _answer_in(fact: Any) -> str:
    return f"{fact['kind']} {fact.get('key')} {fact.get('responses')} {fact.get('error')}"


def _goes_back(play: Play, shape: Shape) -> None:
    """Undo in the living session gives back what was there whenever a person was needed, and then the end again."""
    text = play.journal.to_json()
    with resumed(text, shape, Traces()) as sim:
        for head, rest in reversed(play.rests.items()):
            sim.move_head(head)
            assert seen(sim.view()) == seen(rest), f"back at fact {head}"
        sim.move_head(len(play.journal) - 1)
        assert seen(sim.view()) == seen(play.end)
        assert sim.journal.to_json() == text
