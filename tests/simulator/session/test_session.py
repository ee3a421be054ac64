"""A session is the sum of its facts: its states, its timeline, its open calls, its seats."""

from __future__ import annotations

import re
from typing import Any

import pytest

from simulator.facts import (
    CallStarted,
    Deferred,
    Fact,
    Failed,
    ModelProposed,
    Raised,
    RaisedError,
    SeatChanged,
    SessionOpened,
    TurnEnded,
)
from simulator.journal import Journal
from simulator.session import IllegalFactError, SessionState
from tests.simulator.session.making import (
    answered_turn,
    asked,
    call,
    ended,
    event,
    journal_of,
    model,
    opened,
    replied,
    selected,
    tool,
)

_LONG = event(
    {"functionCall": {"id": "wait", "name": "adk_request_confirmation", "args": {}}},
    longRunningToolIds=["wait"],
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


@pytest.mark.parametrize(
    ("end", "entry"),
    [
        (ended(stopped=True), "stopped"),
        (ended(error=RaisedError(type="builtins:KeyError", message="k")), "KeyError"),
        (ended(event({"text": "half"}), stopped=True), "stopped"),
    ],
)
def test_a_turn_that_failed_awaits_a_query(end: TurnEnded, entry: str) -> None:
    """A stopped turn, or one with an error, ends in the timeline, and the session awaits the next query."""
    session = journal_of(asked(), end).session()
    assert session.state is SessionState.AWAITING_QUERY
    assert session.history[-1].type == "turn_failed"
    assert session.history[-1].error_type == entry


def test_a_turn_without_a_word_awaits_a_query() -> None:
    """A turn that gave no final response does not complete the session: nothing is made up."""
    session = journal_of(asked(), ended()).session()
    assert session.state is SessionState.AWAITING_QUERY
    assert [entry.type for entry in session.history] == ["user_query"]


def test_an_open_call_keeps_the_session_active() -> None:
    """A confirmation that the user has not given keeps the session active; the reply closes it."""
    journal = journal_of(asked(), model(call("c")), ended(_LONG))
    session = journal.session()
    assert session.state is SessionState.ACTIVE
    assert [(open_call.call_id, open_call.is_confirmation) for open_call in session.open_calls] == [
        ("wait", True)
    ]
    journal.append(replied("wait", 1))
    assert journal.session().open_calls == ()
    response = {"functionResponse": {"id": "wait", "name": "adk_request_confirmation", "response": {}}}
    journal.append(ended(event(response, author="user"), event({"text": "done"}), turn=1))
    assert journal.session().state is SessionState.COMPLETED
    assert journal.session().open_calls == ()


def test_the_timeline_holds_what_happened_in_order() -> None:
    """Query, call, output and final response stand in order; the final text stands there once."""
    session = journal_of(*answered_turn()).session()
    assert [entry.type for entry in session.history] == [
        "user_query",
        "tool_call",
        "tool_output",
        "final_response",
    ]
    assert session.history[-1].content == "done"  # type: ignore[union-attr] # the last one is the final response


@pytest.mark.parametrize(
    ("outcome", "error_type"),
    [
        (Failed(error_code=404, error_message="no"), "404"),
        (Raised(error=RaisedError(type="requests.exceptions:HTTPError", message="no")), "HTTPError"),
    ],
)
def test_errors_of_tools_stand_in_the_timeline(outcome: Any, error_type: str) -> None:
    """An error answer and a raised exception are both a ToolError, with the code or the class, and the message."""
    last: Any = journal_of(asked(), model(call("c")), tool("c", outcome=outcome)).session().history[-1]
    assert (last.type, last.error_type, last.error_message) == ("tool_error", error_type, "no")


def test_an_answer_that_comes_later_is_not_shown_yet() -> None:
    """A long-running tool without an answer leaves its call open in the timeline."""
    session = journal_of(asked(), model(call("c")), tool("c", outcome=Deferred())).session()
    assert [entry.type for entry in session.history] == ["user_query", "tool_call"]


def test_what_adk_answers_itself_stands_behind_its_call() -> None:
    """The answer to a transfer, which no seat gave, is taken from ADK's events, live and when the turn has ended."""
    journal = journal_of(asked(), model(call("t", "transfer_to_agent"), {"text": "over to you"}))
    answer = event(
        {"functionResponse": {"id": "t", "name": "transfer_to_agent", "response": {"result": None}}}
    )
    kinds = ["user_query", "tool_call", "tool_output", "agent_message"]
    assert [entry.type for entry in journal.session([answer]).history] == kinds
    journal.append(ended(answer))
    assert [entry.type for entry in journal.session().history] == kinds


def test_changes_between_turns_show_with_the_next_query() -> None:
    """Seats that change before a query stand before it, once there is one."""
    change = SeatChanged(at=1.5, seat="tool", target="find", player="real")
    journal = journal_of(change)
    assert journal.session().history == ()
    assert journal.session().seats.of_tool("find") == "real"
    assert journal.session().seats.of_tool("other") == "person"
    journal.append(asked())
    assert [entry.type for entry in journal.session().history] == ["session_note", "user_query"]


def test_a_seat_has_the_player_of_its_name_before_that_of_all() -> None:
    """A player for one agent or tool by name counts before the one for all others."""
    journal = journal_of(
        SeatChanged(at=1.0, seat="agent", player="person"),
        SeatChanged(at=1.0, seat="agent", target="clerk", player="held"),
    )
    assert journal.session().seats.of_agent("clerk") == "held"
    assert journal.session().seats.of_agent("helper") == "person"


_BEGUN = [opened(), selected()]
_TWO_TURNS = [*_BEGUN, *answered_turn()]


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
        (_TWO_TURNS, replied("wait", 1), "id wait"),
        (_TWO_TURNS, ended(turn=0), "turn"),
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


def test_a_query_has_something_in_it() -> None:
    """A turn without any part is refused."""
    empty = asked().model_copy(update={"message": {"role": "user", "parts": []}})
    with pytest.raises(IllegalFactError, match="parts"):
        journal_of(empty)


def test_a_call_that_started_may_have_run() -> None:
    """A real call without an answer may have run; with one, or in the next turn, there is no doubt."""
    journal = journal_of(asked(), model(call("c")), CallStarted(at=3, turn=0, key="tool/c", name="find"))
    assert journal.fold.may_have_run() == {"tool/c"}
    journal.append(tool("c"))
    assert journal.fold.may_have_run() == frozenset()


def test_the_header_says_who_and_since_when() -> None:
    """The session's id, user, agent, initial state and start come from its first facts."""
    first = SessionOpened(at=7.5, session_id="s", user_id="u", seed="x")
    session = Journal([first, selected()]).session()
    assert (session.session_id, session.user_id, session.start_timestamp) == ("s", "u", 7.5)
    assert (session.agent_name, session.app_name, session.current_state) == ("Clerk", "clerk", {"open": True})
