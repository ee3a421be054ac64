"""A session is the sum of its facts: its states, its timeline, its open calls, its seats."""

from __future__ import annotations

import re

import pytest

from simulator.facts import (
    CallStarted,
    Deferred,
    Fact,
    ModelProposed,
    SeatChanged,
)
from simulator.journal import Journal
from simulator.session import IllegalFactError, SessionState
from tests.simulator.session.making import (
    answered_turn,
    asked,
    call,
    ended,
    journal_of,
    model,
    opened,
    selected,
    tool,
)


def _states(*facts: Fact) -> list[str]:
    journal, states = Journal(), []
    for fact in facts:
        journal.append(fact)
        states.append(journal.session().state.value)
    return states


def test_states_follow_the_way_of_one_query() -> None:
    """SELECTING_AGENT, AWAITING_QUERY, ACTIVE through each tool's answer, COMPLETED with the final response."""
    assert _states(opened(), selected(), *answered_turn()) == [
        "selecting_agent",
        "awaiting_query",
        "active",
        "active",
        "active",
        "active",
        "completed",
    ]


def test_a_completed_session_takes_another_query() -> None:
    """After the final response the session is active again with the next query, and completed with its answer."""
    journal = journal_of(*answered_turn(), *answered_turn(turn=1))
    assert _states(opened(), selected(), *answered_turn(), asked(turn=1))[-1] == "active"
    assert journal.session().state is SessionState.COMPLETED
    assert journal.session().current_state == {"turns": 2}


def test_a_turn_without_a_word_awaits_a_query() -> None:
    """A turn that gave no final response does not complete the session: nothing is made up."""
    session = journal_of(asked(), ended()).session()
    assert session.state is SessionState.AWAITING_QUERY
    assert [entry.type for entry in session.history] == ["user_query"]


def test_an_answer_that_comes_later_is_not_shown_yet() -> None:
    """A long-running tool without an answer leaves its call open in the timeline."""
    session = journal_of(asked(), model(call("c")), tool("c", outcome=Deferred())).session()
    assert [entry.type for entry in session.history] == ["user_query", "tool_call"]


def test_a_seat_has_the_player_of_its_name_before_that_of_all() -> None:
    """A player for one agent or tool by name counts before the one for all others."""
    seats = (
        journal_of(
            SeatChanged(at=1.0, seat="agent", player="person"),
            SeatChanged(at=1.0, seat="agent", target="clerk", player="held"),
            SeatChanged(at=1.5, seat="tool", target="find", player="real"),
        )
        .session()
        .seats
    )
    assert (seats.of_agent("clerk"), seats.of_agent("helper")) == ("held", "person")
    assert (seats.of_tool("find"), seats.of_tool("other")) == ("real", "person")


_BEGUN = [opened(), selected()]


@pytest.mark.parametrize(
    ("before", "fact", "reason"),
    [
        ([], selected(), "open"),
        ([opened()], opened(), "open"),
        ([opened()], asked(), "agent"),
        (_BEGUN, selected(), "agent"),
        (_BEGUN, model(), "turn"),
        (_BEGUN, tool("c"), "turn"),
        (_BEGUN, ended(), "turn"),
        (_BEGUN, asked(turn=1), "turn is 0"),
        ([*_BEGUN, asked()], asked(turn=1), "^turn 0"),
        ([*_BEGUN, asked()], model(turn=1), "turn 0 .*1"),
        ([*_BEGUN, asked(), tool("c")], tool("c"), "tool/c .*answered"),
        ([*_BEGUN, asked(), model()], ModelProposed(at=1, turn=0, key="model"), "model .*answered"),
        (
            [*_BEGUN, asked(), tool("c")],
            CallStarted(at=1, turn=0, key="tool/c", name="find"),
            "tool/c .*answered",
        ),
        (_BEGUN, asked().model_copy(update={"message": {"role": "user", "parts": []}}), "parts"),
        ([*_BEGUN, *answered_turn()], ended(turn=0), "turn"),
        (_BEGUN, SeatChanged(at=1, seat="agent", player="real"), "real .*agent seat"),
        (_BEGUN, SeatChanged(at=1, seat="tool", player="held"), "held .*tool seat"),
        ([opened()], SeatChanged(at=1, seat="tool", player="real"), "agent"),
    ],
)
def test_illegal_facts_are_refused_by_name(before: list[Fact], fact: Fact, reason: str) -> None:
    """A fact that cannot follow raises, naming its kind, the session's state and the reason; nothing changes."""
    journal = Journal(before)
    text, session = journal.to_json(), journal.session()
    with pytest.raises(IllegalFactError, match=rf"^{fact.kind} .* {session.state.value}: ") as caught:
        journal.append(fact)
    assert re.search(reason, str(caught.value).partition(f"{session.state.value}: ")[2])
    assert (journal.to_json(), journal.session()) == (text, session)
