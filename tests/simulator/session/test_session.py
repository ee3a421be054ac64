"""A session is the sum of its facts: its states, its timeline, its open calls, its seats."""

from __future__ import annotations

import re

import pytest

from simulator.environment.environment_facts import EnvironmentDataGiven
from simulator.facts import (
    CallStarted,
    ConversationEnded,
    Deferred,
    Fact,
    ModelProposed,
    RulesChanged,
    SeatChanged,
    UserProposed,
    UserSeated,
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
    replied,
    rule,
    selected,
    tool,
    waits,
)


def test_a_completed_session_takes_another_query() -> None:
    """After the final response the session is active again with the next query, and completed with its answer."""
    assert journal_of(*answered_turn(), asked(turn=1)).session().state is SessionState.ACTIVE
    journal = journal_of(*answered_turn(), *answered_turn(turn=1))
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
    """A player by name counts before the one for all others; who sits down later leaves the others, agents and tools, where they are."""
    facts = (
        SeatChanged(at=1.0, seat="agent", player="person"),
        SeatChanged(at=1.5, seat="tool", target="find", player="real"),
        SeatChanged(at=1.5, seat="tool", target="clerk", player="offline"),
        SeatChanged(at=2.0, seat="agent", target="clerk", player="held"),
    )
    seats = journal_of(*facts).session().seats
    assert [seats.of_agent(name) for name in ("clerk", "helper")] == ["held", "person"]
    assert [seats.of_tool(name) for name in ("find", "clerk", "other")] == ["real", "offline", "person"]


_BEGUN = [opened(), selected()]
_CALLED = [*_BEGUN, asked(), model(call("a")), tool("b")]
_WAITS = [*_BEGUN, asked(), waits("w")]
_SCRIPT = UserSeated(at=1, player="script", script=(asked().message,))
_SAYS = UserProposed(at=3, turn=0, status="success", by="script")
_OVER, _AGAIN = ConversationEnded(at=7), ConversationEnded(at=7, over=False)


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
        ([opened()], _SCRIPT, "agent"),
        ([opened()], RulesChanged(at=1, rules=()), "agent"),
        ([opened()], EnvironmentDataGiven(at=1, text="x"), "agent"),
        (_CALLED, model(call(""), key="next"), "id"),
        (_CALLED, model(call("a"), key="next"), "call id a "),
        (_CALLED, model(call("b"), key="next"), "call id b "),
        (_CALLED, model(call("c"), call("c"), call("d"), key="next"), "call id c "),
        (_WAITS, asked(turn=1).model_copy(update={"purpose": "reply"}), "response"),
        (_WAITS, replied("x", 1), "id x$"),
        (_BEGUN, _SAYS, "person"),
        ([*_BEGUN, _SCRIPT], _SAYS.model_copy(update={"turn": 1}), "turn is 0"),
        ([*_BEGUN, _SCRIPT, asked()], _SAYS.model_copy(update={"turn": 1}), "turn 0 "),
        (_BEGUN, _OVER, "final response"),
        ([*_BEGUN, *answered_turn()], _AGAIN, "conversation"),
        ([*_BEGUN, *answered_turn(), _OVER], _OVER, "conversation"),
        (_BEGUN, RulesChanged(at=1, rules=(rule("b"), rule("a"), rule("b"))), "rules.* b$"),
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
