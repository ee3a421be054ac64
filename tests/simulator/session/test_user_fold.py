"""The user's seat along the facts: who speaks, how much was said, when that is enough, and what waits to be said."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.facts import ConversationEnded, TurnStarted, UserProposed, UserSeated
from simulator.session.user_fold import UserSeat
from tests.simulator.session.making import asked, replied

HELLO: Any = {"role": "user", "parts": [{"text": "hello"}]}
BYE: Any = {"role": "user", "parts": [{"text": "bye"}]}
PERSON = UserSeated(at=1, player="person")
SCENARIO = UserSeated(at=1, player="scenario", scenario={"starting_prompt": "Hi"})


def script(*messages: Any, **more: Any) -> UserSeated:
    """A script of these messages sits down."""
    return UserSeated(at=1, player="script", script=messages, **more)


def says(status: Any = "success") -> UserProposed:
    """The player says something."""
    return UserProposed(at=1, turn=0, message=HELLO, status=status, by="script")


def seat_after(*facts: UserSeated | UserProposed | TurnStarted | ConversationEnded) -> UserSeat:
    """Return the seat behind these facts."""
    seat = UserSeat()
    for fact in facts:
        match fact:
            case UserSeated():
                seat = seat.seated(fact)
            case UserProposed():
                seat = seat.proposing(fact)
            case TurnStarted():
                seat = seat.speaking(fact)
            case ConversationEnded():
                seat = seat.ending(fact)
    return seat


@pytest.mark.parametrize(
    ("facts", "limit", "left"),
    [
        ((), None, None),
        ((script(HELLO, BYE),), 2, 2),
        ((script(HELLO, BYE), asked()), 2, 1),
        ((script(HELLO), asked(), asked()), 1, 0),
        ((UserSeated(at=1, player="recording", script=(HELLO,)),), 1, 1),
        ((SCENARIO,), 20, 20),
        ((SCENARIO, asked()), 20, 19),
        ((SCENARIO.model_copy(update={"config": {"max_allowed_invocations": 3}}),), 3, 3),
        ((SCENARIO.model_copy(update={"config": {"max_allowed_invocations": 0}}),), 0, 0),
        ((SCENARIO.model_copy(update={"config": {"max_allowed_invocations": -1}}),), None, None),
        ((SCENARIO.model_copy(update={"config": {"max_allowed_invocations": "3"}}),), None, None),
        ((SCENARIO.model_copy(update={"config": {"type": "mine.User"}}),), None, None),
        ((SCENARIO.model_copy(update={"config": {"type": "llm_backed"}}),), 20, 20),
    ],
)
def test_there_are_so_many_messages_left(facts: tuple[Any, ...], limit: int | None, left: int | None) -> None:
    """A script has its own, ADK's simulator 20 or what its configuration says, a person and others no limit."""
    seat = seat_after(*facts)
    assert (seat.limit, seat.left) == (limit, left)


@pytest.mark.parametrize(
    ("kind", "own"), [(None, ""), ("llm_backed", ""), (7, ""), ("mine.User", "mine.User")]
)
def test_a_simulator_of_ones_own_is_known_by_its_path(kind: Any, own: str) -> None:
    """ADK's own, and what is no path, is none."""
    assert seat_after(SCENARIO.model_copy(update={"config": {"type": kind}})).own_simulator == own


def test_what_sits_down_is_what_was_said() -> None:
    """The seat has what the fact has, and counts how often somebody sat down."""
    held = script(HELLO, hold=False, config={"a": 1})
    seat = seat_after(PERSON, held)
    assert (seat.player, seat.script, seat.config, seat.hold) == ("script", (HELLO,), {"a": 1}, False)
    assert (seat.scenario, seat.changes, seat.said, seat.is_over) == (None, 2, 0, False)
    assert seat_after(SCENARIO).scenario == {"starting_prompt": "Hi"}


def test_what_waits_stays_where_only_hold_changes() -> None:
    """Another script, configuration, scenario or player takes it away."""
    said = says()
    for same in (script(HELLO, BYE), script(HELLO, BYE, hold=False)):
        assert seat_after(script(HELLO, BYE), said, same).proposed == said
    for other in (PERSON, script(HELLO), script(HELLO, BYE, config={"a": 1}), SCENARIO):
        assert seat_after(script(HELLO, BYE), said, other).proposed is None


def test_who_comes_back_goes_on_where_they_were() -> None:
    """A script that a person has interrupted goes on behind what it had said; what the person said is not its own."""
    seat = seat_after(script(HELLO, BYE), asked(), PERSON, asked(turn=1))
    assert (seat.player, seat.said) == ("person", 0)
    seat = seat.seated(script(HELLO, BYE))
    assert (seat.said, seat.left) == (1, 1)


def test_a_script_that_was_said_to_its_end_begins_anew() -> None:
    """With all its messages, and nothing of what waited or was over."""
    seat = seat_after(script(HELLO), says("stop_signal_detected"), asked())
    assert (seat.said, seat.is_over) == (1, True)
    again = seat.proposing(says()).seated(script(HELLO))
    assert (again.said, again.left, again.is_over, again.over, again.proposed) == (0, 1, False, (), None)


def test_a_scenario_counts_what_a_person_says_for_it() -> None:
    """It is one conversation: who takes over goes on with it."""
    seat = seat_after(SCENARIO, asked(), PERSON, asked(turn=1), SCENARIO)
    assert (seat.said, seat.left) == (2, 18)


def test_a_query_takes_what_waits_and_a_reply_counts_nothing() -> None:
    """A reply is no message of the conversation, but what waited is gone with it."""
    seat = seat_after(script(HELLO, BYE), says(), asked())
    assert (seat.proposed, seat.said) == (None, 1)
    seat = seat_after(script(HELLO, BYE), says(), replied("w", 1))
    assert (seat.proposed, seat.said) == (None, 0)


def test_the_stop_signal_ends_the_conversation_with_the_message_beside_it() -> None:
    """Only once that is said, only for who said it, and for good."""
    stop = says("stop_signal_detected")
    assert not seat_after(SCENARIO, stop).is_over
    seat = seat_after(SCENARIO, stop, asked())
    assert (seat.is_over, len(seat.over)) == (True, 1)
    assert not seat_after(SCENARIO, says(), asked()).is_over
    assert not seat_after(SCENARIO, asked()).is_over
    later = seat.speaking(asked(turn=1))
    assert (later.is_over, later.over) == (True, seat.over)
    twice = later.proposing(stop).speaking(asked(turn=2))
    assert (twice.is_over, twice.over) == (True, seat.over)
    person = later.seated(PERSON)
    assert (person.is_over, person.over) == (False, seat.over)
    assert person.seated(SCENARIO).is_over


def test_a_person_speaks_without_being_counted() -> None:
    """Where nobody else has sat down, nothing changes with a turn."""
    assert seat_after(asked()) == UserSeat()
    assert seat_after(PERSON, asked()).said == 0


def test_the_end_that_a_person_declares_holds_until_the_next_turn() -> None:
    """Somebody else who sits down leaves it; a turn opens the conversation again, and counts."""
    seat = seat_after(script(HELLO, BYE), ConversationEnded(at=1))
    assert seat.ended
    assert seat.seated(SCENARIO).ended
    assert not seat.ending(ConversationEnded(at=1, over=False)).ended
    seat = seat.speaking(asked())
    assert (seat.ended, seat.said) == (False, 1)
