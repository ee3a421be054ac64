"""A journal, cut off anywhere, gives back the session as it was; nothing real happens again on the way there."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import pytest

from simulator.facts import CodeAnswered, ModelAnswered, ToolAnswered, TurnEnded, TurnStarted
from simulator.journal import Journal
from simulator.runtime.encoding import chained
from simulator.runtime.simulation import SimulationView
from tests.runtime.playing import (
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
from tests.runtime.shapes import SHAPES, Shape
from tests.runtime.stage import ASKED
from tests.runtime.ways import Traces

pytestmark = [
    pytest.mark.parametrize("name", SHAPES),
    pytest.mark.parametrize("mode", get_args(Mode)),
    # ADK warns of what it does itself (AgentTool), and of agents that are still everywhere.
    pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*deprecated in favor of Workflow:DeprecationWarning"),
]

_OPENING = 3
"""The number of the last fact of the opening: the agent was selected, and somebody sat down in each seat."""


_ANSWERED = (ModelAnswered, ToolAnswered, CodeAnswered)


@dataclass(frozen=True)
class Cut:
    """What came of a journal that was cut off behind a fact: what there was to see, and how it went on.

    `asked` and `ran` say how often a model was asked and something real ran, and (second) how often by the journal.
    """

    number: int
    view: SimulationView
    live: list[Any]
    facts: list[Any]
    asked: tuple[int, int]
    ran: tuple[int, int]


@functools.cache
def _play(name: str, mode: Mode) -> Play:
    return played(SHAPES[name], mode)


@functools.cache
def _cuts(name: str, mode: Mode) -> list[Cut]:
    journal = _play(name, mode).journal
    return [_cut(journal, number, SHAPES[name]) for number in range(_OPENING, len(journal))]


def _cut(journal: Journal, number: int, shape: Shape) -> Cut:
    """Cut a journal off, as a process that was killed would, and go on from there with everything made anew."""
    kept, traces, asked = journal.branched(number), Traces(), len(ASKED)
    with resumed(kept.to_json(), shape, traces) as sim:
        view, live = sim.view(), live_events(sim)
        if view.divergence is None:
            to_its_end(sim, shape)
        return Cut(
            number=number,
            view=view,
            live=live,
            facts=facts_of(sim.journal),
            asked=(len(ASKED) - asked, times_asked(sim.journal) - times_asked(kept)),
            ran=(len(traces.ran), times_run(sim.journal) - times_run(kept)),
        )


def _events_so_far(journal: Journal, number: int) -> list[Any] | None:
    """Give the events that the turn in progress had after fact `number`, where an answer in it followed.

    Each answer carries a fingerprint of all events before it, but for those that a tool sent by itself.
    """
    following = [fact for _, fact in journal.path()[number + 1 :]]
    in_turn = list(
        itertools.takewhile(lambda fact: not isinstance(fact, (TurnStarted, TurnEnded)), following)
    )
    answered = next((fact for fact in in_turn if isinstance(fact, _ANSWERED)), None)
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


def test_a_journal_cut_off_anywhere_shows_what_was_there(name: str, mode: Mode) -> None:
    """From every prefix of the journal: the same pending requests, timeline, state and open calls as at first."""
    play, compared = _play(name, mode), 0
    for cut in _cuts(name, mode):
        assert cut.view.divergence is None, f"from fact {cut.number}"
        if cut.view.head in play.rests and cut.view.head == cut.number:
            assert seen(cut.view) == seen(play.rests[cut.view.head]), f"from fact {cut.number}"
            compared += 1
    assert compared >= len(play.rests)


def test_a_journal_cut_off_anywhere_gives_the_same_events(name: str, mode: Mode) -> None:
    """From every prefix, ADK's events are those that were there: whole, with ids and times."""
    play = _play(name, mode)
    for cut in _cuts(name, mode):
        events = _events_so_far(play.journal, cut.number)
        if events is not None and cut.view.head == cut.number:
            assert cut.live == events, f"from fact {cut.number}"


def test_nothing_is_asked_or_run_again(name: str, mode: Mode) -> None:
    """After a resume a model is asked, and something real runs, only for what the journal does not answer yet."""
    for cut in _cuts(name, mode):
        assert cut.asked[0] == cut.asked[1], f"from fact {cut.number}"
        assert cut.ran[0] == cut.ran[1], f"from fact {cut.number}"


def test_a_session_that_was_cut_off_ends_in_the_same_way(name: str, mode: Mode) -> None:
    """From every prefix, the same answers give the same facts: events with ids and times, state, artifacts.

    What is in the journal keeps its order. What is not yet, and is answered by several real things at once, may
    come in another one: then the answers are the same.
    """
    expected = facts_of(_play(name, mode).journal)
    for cut in _cuts(name, mode):
        if mode == "real":
            assert sorted(map(_answer_in, cut.facts)) == sorted(map(_answer_in, expected))
        else:
            assert cut.facts == expected, f"from fact {cut.number}"


def _answer_in(fact: Any) -> str:
    return f"{fact['kind']} {fact.get('key')} {fact.get('responses')} {fact.get('error')}"


def test_the_head_can_go_back_to_each_rest(name: str, mode: Mode) -> None:
    """Undo in the living session gives back what was there whenever a person was needed, and then the end again."""
    play = _play(name, mode)
    text = play.journal.to_json()
    with resumed(text, SHAPES[name], Traces()) as sim:
        for head, rest in reversed(play.rests.items()):
            sim.move_head(head)
            assert seen(sim.view()) == seen(rest)
        sim.move_head(len(play.journal) - 1)
        assert seen(sim.view()) == seen(play.end)
        assert sim.journal.to_json() == text
