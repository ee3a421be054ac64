"""A journal, cut off anywhere, gives back the session as it was; nothing real happens again on the way there."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import pytest

from simulator.facts import Answered, ToolAnswered, TurnEnded, TurnStarted
from simulator.journal import Journal
from simulator.runtime import SimulationView
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
    "held": {"plain", "confirmed", "parallel_calls", "agent_tool", "raised_answers"},
    "real": {"plain", "transferred", "state_and_files", "writing_callbacks"},
}
"""The shapes that stand for the others, by who plays."""


def _plays() -> Iterator[Any]:
    """Return each shape with each way to play it; all but the basic ones are long."""
    for name, mode in itertools.product(SHAPES, get_args(Mode)):
        marks = () if name in _BASIC[mode] else pytest.mark.long
        yield pytest.param(name, mode, id=f"{name}-{mode}", marks=marks)


@dataclass(frozen=True)
class Cut:
    """What came of a journal that was cut off behind fact `number`.

    `view`, `live` and `facts` are what there was as soon as the session rested again; `end` the facts at its very
    end, None where another cut had led to the same facts and had gone on from there. `asked` and `ran` say how
    often a model was asked and something real ran, and (second) how often by the journal.
    """

    number: int
    view: SimulationView
    live: list[Any]
    facts: list[Any]
    end: list[Any] | None
    asked: tuple[int, int]
    ran: tuple[int, int]


@dataclass(frozen=True)
class Cuts:
    """A play of a shape, and what came of its journal when it was cut off behind each of its facts."""

    shape: Shape
    mode: Mode
    play: Play
    all: list[Cut]


@pytest.mark.parametrize(("name", "mode"), [*_plays()])
def test_a_journal_cut_off_anywhere_gives_back_the_session(name: str, mode: Mode) -> None:
    """From each prefix: what was there, with the same events and nothing real again, and the same end; undo does so too."""
    shape, gone_on_from = SHAPES[name], set[str]()
    play = played(shape, mode)
    numbers = range(_OPENING, len(play.journal))
    cuts = Cuts(shape, mode, play, [_cut(play.journal, number, shape, gone_on_from) for number in numbers])
    _shows_what_was_there(cuts)
    _has_the_same_events(cuts)
    _runs_nothing_again(cuts)
    _ends_the_same(cuts)
    _goes_back(cuts)


def _cut(journal: Journal, number: int, shape: Shape, gone_on_from: set[str]) -> Cut:
    """Cut a journal off, as a process that was killed would, and go on from there with everything made anew."""
    kept, traces, asked = journal.branched(number), Traces(), len(ASKED)
    with resumed(kept.to_json(), shape, traces) as sim:
        view, live, facts, end = sim.view(), live_events(sim), facts_of(sim.journal), None
        assert not view.busy, f"from fact {number}"
        assert sim.wait(0)
        assert sim.view().head == view.head, "nothing changes until a person does something"
        if view.divergence is None and (pause := json.dumps(facts)) not in gone_on_from:
            gone_on_from.add(pause)
            to_its_end(sim, shape)
            end = facts_of(sim.journal)
        return Cut(
            number=number,
            view=view,
            live=live,
            facts=facts,
            end=end,
            asked=(len(ASKED) - asked, times_asked(sim.journal) - times_asked(kept)),
            ran=(len(traces.ran), times_run(sim.journal) - times_run(kept)),
        )


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


def _shows_what_was_there(cuts: Cuts) -> None:
    """From every prefix of the journal: the same pending requests, timeline, state and open calls as at first."""
    play, compared = cuts.play, 0
    for cut in cuts.all:
        assert cut.view.divergence is None, f"from fact {cut.number}"
        if cut.view.head in play.rests and cut.view.head == cut.number:
            assert seen(cut.view) == seen(play.rests[cut.view.head]), f"from fact {cut.number}"
            compared += 1
    assert compared >= len(play.rests)


def _has_the_same_events(cuts: Cuts) -> None:
    """From every prefix, ADK's events are those that were there: whole, with ids and times."""
    for cut in cuts.all:
        events = _events_so_far(cuts.play.journal, cut.number)
        if events is not None and cut.view.head == cut.number:
            assert cut.live == events, f"from fact {cut.number}"


def _runs_nothing_again(cuts: Cuts) -> None:
    """After a resume a model is asked, and something real runs, only for what the journal does not answer yet."""
    for cut in cuts.all:
        assert cut.asked[0] == cut.asked[1], f"from fact {cut.number}"
        assert cut.ran[0] == cut.ran[1], f"from fact {cut.number}"


def _ends_the_same(cuts: Cuts) -> None:
    """From every prefix, the same answers give the same facts: events with ids and times, state, artifacts.

    They do so to the next rest, and from each rest to the end. What is in the journal keeps its order. What is not
    yet, and is answered by several real things at once, may come in another one: then the answers are the same.
    """
    expected = facts_of(cuts.play.journal)
    for cut in cuts.all:
        where = f"from fact {cut.number}"
        if cuts.mode == "real":
            assert not _answers(cut.facts) - _answers(expected), where
            assert cut.end is None or _answers(cut.end) == _answers(expected), where
        else:
            assert cut.facts == expected[: len(cut.facts)], where
            assert cut.end is None or cut.end == expected, where
    assert sum(cut.end is not None for cut in cuts.all) >= len(cuts.play.rests)


def _answers(facts: list[Any]) -> Counter[str]:
    return Counter(map(_answer_in, facts))


def _answer_in(fact: Any) -> str:
    return f"{fact['kind']} {fact.get('key')} {fact.get('responses')} {fact.get('error')}"


def _goes_back(cuts: Cuts) -> None:
    """Undo in the living session gives back what was there whenever a person was needed, and then the end again."""
    play = cuts.play
    text = play.journal.to_json()
    with resumed(text, cuts.shape, Traces()) as sim:
        for head, rest in reversed(play.rests.items()):
            sim.move_head(head)
            assert seen(sim.view()) == seen(rest), f"back at fact {head}"
        sim.move_head(len(play.journal) - 1)
        assert seen(sim.view()) == seen(play.end)
        assert sim.journal.to_json() == text
