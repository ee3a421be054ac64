"""A session is the sum of its facts, told apart: what each changes, what it leaves alone, and what it may not follow; and so is the user's seat."""

from __future__ import annotations

import re
from typing import Any

import pytest

from simulator.environment.world.tool_settings import DeclaredTool
from simulator.facts import (
    CallStarted,
    ConversationEnded,
    Deferred,
    DraftDrawn,
    EnvironmentDataGiven,
    Fact,
    ModelProposed,
    Provenance,
    RaisedError,
    RulesChanged,
    SavedArtifact,
    SeatChanged,
    SessionOpened,
    ToolProposed,
    ToolsDeclared,
    TurnStarted,
    UserProposed,
    UserSeated,
)
from simulator.journal import Journal
from simulator.session import IllegalFactError, SessionFold, SessionState
from simulator.session.model import OpenCall, Turn, UserSeat
from tests.simulator.session.making import (
    agent_ran,
    answered_turn,
    asked,
    call,
    code_ran,
    ended,
    event,
    journal_of,
    model,
    opened,
    replied,
    rule,
    selected,
    tool,
    waits,
)


def fold_of(*facts: Fact) -> SessionFold:
    """Return the sum of these facts behind the choice of an agent."""
    fold = SessionFold()
    for number, fact in enumerate((opened(), selected(), *facts)):
        fold.take(number, fact)
    return fold


def last_turn(fold: SessionFold) -> Turn:
    """Return the last turn."""
    assert fold.last_turn is not None
    return fold.last_turn


def test_nothing_is_known_before_the_first_fact() -> None:
    """A fold without facts has no agent, no turn and the names that ADK gives by default."""
    fold = SessionFold()
    assert (fold.state, fold.agent_name, fold.initial_state) == (SessionState.SELECTING_AGENT, "", {})
    assert fold.place_in_adk() == {"app_name": "", "user_id": "user", "session_id": ""}
    assert (fold.last_turn, fold.turns_so_far, fold.answers_in_turn) == (None, 0, 0)
    assert not fold.is_running
    assert not fold.asks_the_user
    session = fold.session()
    assert (session.start_timestamp, session.current_state, session.is_running) == (0.0, {}, False)


def test_the_names_of_the_choice_are_those_of_the_session() -> None:
    """The app is ADK's name, the agent a person's; the user and the id are those of the beginning."""
    fold = SessionFold()
    fold.take(0, SessionOpened(at=7.0, session_id="s", user_id="ada", seed="x"))
    fold.take(1, selected().model_copy(update={"environment_data": "words"}))
    assert fold.place_in_adk() == {"app_name": "clerk", "user_id": "ada", "session_id": "s"}
    assert (fold.agent_name, fold.state) == ("Clerk", SessionState.AWAITING_QUERY)
    assert (fold.environment.data, fold.environment.is_data_brought) == ("words", True)
    assert not fold_of().environment.is_data_brought
    session = fold.session()
    assert (session.session_id, session.user_id, session.start_timestamp) == ("s", "ada", 7.0)
    assert (session.agent_name, session.app_name, session.current_state) == ("Clerk", "clerk", {"open": True})


def test_a_turn_is_counted_while_it_runs_and_after() -> None:
    """The last turn has its number, its message and its time; it runs until it ends."""
    fold = fold_of(asked("hello"))
    turn = last_turn(fold)
    assert (turn.number, turn.purpose, turn.started_at, turn.ended) == (0, "query", 2.0, False)
    assert turn.message == asked("hello").message
    assert (fold.is_running, fold.turns_so_far, fold.session().is_running) == (True, 1, True)
    saved = SavedArtifact(filename="note.txt", part={"text": "x"}, version=0)
    fold.take(9, ended(event({"text": "done"}), state={"a": 1}, artifacts=(saved,)))
    turn = last_turn(fold)
    assert (turn.ended, turn.state, turn.final_event) == (True, {"a": 1}, 0)
    assert turn.artifacts == (saved,)
    assert (fold.is_running, fold.turns_so_far) == (False, 1)


def test_each_kind_of_answer_counts_in_its_turn() -> None:
    """A model's, a tool's, an agent's and code's answer are four; the next turn begins at none."""
    fold = fold_of(asked(), model(call("c"), call("d")), tool("c"), agent_ran("a"), code_ran({}))
    assert fold.answers_in_turn == 4
    fold.call_ids().add("it was a copy")
    assert fold.call_ids() == {"a", "c", "d"}
    fold.take(9, ended())
    fold.take(10, asked(turn=1))
    assert fold.answers_in_turn == 0
    assert fold.call_ids() == {"a", "c", "d"}


def test_calls_and_rules_are_counted_along_the_answers() -> None:
    """Each answer counts its tool; the rules that it names have drawn, counted and fired, each by itself."""
    moved = Provenance(source="injected", counted=("a", "b"), drawn=("b",), fired=("a",))
    first = tool("c").model_copy(update={"provenance": moved})
    fold = fold_of(asked(), first, tool("d"))
    counts = fold.counts
    assert dict(counts.calls) == {"find": 2}
    assert dict(counts.counted) == {"a": 1, "b": 1}
    assert (dict(counts.drawn), dict(counts.fired)) == ({"b": 1}, {"a": 1})


def test_the_call_of_an_agent_is_counted_once() -> None:
    """When its agent begins; what a rule made of its answer later counts no second call."""
    fold = fold_of(
        asked(), agent_ran("c", counted=("a",)), tool("c").model_copy(update={"tool_name": "helper"})
    )
    assert dict(fold.counts.calls) == {"helper": 1}
    assert dict(fold.counts.counted) == {"a": 1}


def test_what_waits_in_a_turn_is_gone_with_the_next_one() -> None:
    """Proposals, drafts, draws and calls that may have run are of the running turn alone."""
    proposed = ModelProposed(at=3, turn=0, key="m")
    drafted = ToolProposed(at=3, turn=0, key="t", by="gemini")
    drawn, begun = DraftDrawn(at=3, turn=0, key="t", draw=2), CallStarted(at=3, turn=0, key="t", name="n")
    fold = fold_of(asked(), proposed, drafted, drawn, begun)
    assert (fold.proposals.get("m"), fold.proposals.get("t")) == (proposed, None)
    assert (fold.drafts.get("t"), fold.drafts.get("m")) == (drafted, None)
    assert (fold.draws.get("t", 0), fold.draws.get("m", 0), fold.may_have_run()) == (2, 0, frozenset({"t"}))
    answered = begun.model_copy(update={"key": "tool/c"}), tool("c")
    assert fold_of(asked(), *answered).may_have_run() == frozenset()
    fold.take(9, ended())
    assert (fold.proposals.get("m"), fold.drafts.get("t"), fold.draws.get("t", 0)) == (proposed, drafted, 2)
    fold.take(10, asked(turn=1))
    assert (fold.proposals.get("m"), fold.drafts.get("t"), fold.draws.get("t", 0)) == (None, None, 0)
    assert fold.may_have_run() == frozenset()


def test_tools_are_declared_from_the_next_turn_on() -> None:
    """What is declared while a turn runs waits for its end."""
    lend = DeclaredTool(name="lend", description="Lends.")
    fold = fold_of(asked(), ToolsDeclared(at=3.0, tools=(lend,)))
    assert fold.environment.declared == (lend,)
    assert not fold.declared_tools
    fold.take(9, ended())
    fold.take(10, asked(turn=1))
    assert fold.declared_tools == (lend,)


def test_rules_are_replaced_as_a_whole() -> None:
    """The last rules are in force."""
    fold = fold_of(RulesChanged(at=1, rules=(rule("a"), rule("b"))), RulesChanged(at=1, rules=(rule("b"),)))
    assert [each.rule_id for each in fold.rules] == ["b"]
    assert fold.session().rules == fold.rules


def test_a_fork_goes_its_own_way() -> None:
    """What either takes in is not in the other: turns, counts, drafts, calls and the timeline."""
    fold = fold_of(asked(), model(call("c")), ToolProposed(at=3, turn=0, key="t", by="gemini"))
    twin = fold.forked()
    assert twin.session() == fold.session()
    twin.take(9, tool("c"))
    twin.take(10, DraftDrawn(at=3, turn=0, key="t", draw=1))
    twin.take(11, ended(event({"text": "done"})))
    assert (fold.answers_in_turn, fold.draws.get("t", 0), dict(fold.counts.calls)) == (1, 0, {})
    assert [entry.type for entry in fold.session().history] == ["user_query", "tool_call"]
    assert (fold.is_running, twin.is_running) == (True, False)
    fold.take(9, tool("d"))
    assert fold.call_ids() == {"c", "d"}
    assert twin.call_ids() == {"c"}
    assert dict(twin.counts.calls) == {"find": 1}


def test_a_call_that_waits_keeps_its_words() -> None:
    """Its tool, arguments, agent and node are those of ADK's event; the session is active until the user has answered."""
    fold = fold_of(asked(), waits("w", path="a/b"))
    (waiting,) = fold.session().open_calls
    name = "adk_request_confirmation"
    assert waiting == OpenCall(call_id="w", tool_name=name, arguments={"of": "w"}, agent="clerk", node="a/b")
    assert (waiting.answered, waiting.is_confirmation) == (False, True)
    assert fold.asks_the_user
    assert fold.state is SessionState.ACTIVE
    assert last_turn(fold).final_event is None
    fold.take(9, replied("w", 1))
    assert (fold.session().open_calls, last_turn(fold).purpose) == ((), "reply")
    reply = {"functionResponse": {"id": "w", "name": name, "response": {}}}
    fold.take(10, ended(event(reply, author="user"), event({"text": "done"}), turn=1))
    assert (fold.state, fold.session().open_calls) == (SessionState.COMPLETED, ())


def test_a_first_answer_of_a_long_call_asks_nobody() -> None:
    """The call stays open for a later answer, and the session is complete meanwhile."""
    asks = event({"functionCall": {"id": "w", "name": "ship"}}, longRunningToolIds=["w"])
    first = event({"functionResponse": {"id": "w", "name": "ship", "response": {"status": "pending"}}})
    fold = fold_of(asked(), model(call("w", "ship")), tool("w"), ended(asks, first, event({"text": "soon"})))
    (waiting,) = fold.session().open_calls
    assert waiting == OpenCall(call_id="w", tool_name="ship", arguments={}, agent="clerk", answered=True)
    assert (waiting.is_confirmation, waiting.node) == (False, "")
    assert not fold.asks_the_user
    assert fold.state is SessionState.COMPLETED


@pytest.mark.parametrize("how", [{"stopped": True}, {"error": RaisedError(type="m:E", message="no")}])
def test_a_turn_that_was_cut_off_completes_nothing(how: dict[str, Any]) -> None:
    """Whatever it said, and though a call waits: the session awaits a query. What was said is kept."""
    asks = event({"functionCall": {"id": "w", "name": "ship", "args": {}}}, longRunningToolIds=["w"])
    fold = fold_of(asked(), ended(asks, event({"text": "half"}), **how))
    turn = last_turn(fold)
    assert (fold.state, turn.final_event) == (SessionState.AWAITING_QUERY, 1)
    assert (turn.stopped, turn.error) == (how.get("stopped", False), how.get("error"))


def test_an_output_of_a_graph_completes_the_session() -> None:
    """A node's data is the final response where nobody says a word."""
    fold = fold_of(asked(), ended({"author": "graph", "output": {"sum": 3}}))
    turn = last_turn(fold)
    assert (fold.state, turn.final_event) == (SessionState.COMPLETED, None)


def test_the_user_is_spoken_for_between_turns_and_the_conversation_is_over_until_the_next() -> None:
    """What is proposed is gone with the query, which counts; a person's end holds until it is taken back, or another query comes."""
    script = UserSeated(at=1, player="script", script=(asked().message,))
    says = UserProposed(at=3, turn=0, status="success", by="script")
    fold = fold_of(script, says)
    assert (fold.user.player, fold.user.proposed) == ("script", says)
    for number, fact in enumerate(answered_turn(), start=9):
        fold.take(number, fact)
    assert (fold.user.proposed, fold.user.said) == (None, 1)
    over, again = ConversationEnded(at=7), ConversationEnded(at=7, over=False)
    ends = []
    facts: list[Fact] = [over, again, over, asked(turn=1)]
    for number, fact in enumerate(facts, start=20):
        fold.take(number, fact)
        ends.append(fold.user.ended)
    assert ends == [True, False, True, False]


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
