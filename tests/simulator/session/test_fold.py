"""The sum of the facts, told apart: what each fact changes, what it leaves alone, and what it may not follow."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.environment.declared_tools import DeclaredTool
from simulator.environment.environment_facts import ToolsDeclared
from simulator.facts import (
    CallStarted,
    ConversationEnded,
    DraftDrawn,
    Fact,
    ModelProposed,
    Provenance,
    RaisedError,
    RulesChanged,
    SavedArtifact,
    SessionOpened,
    ToolProposed,
    UserProposed,
    UserSeated,
)
from simulator.session import SessionFold, SessionState
from simulator.session.model import OpenCall, Turn
from tests.simulator.session.making import (
    agent_ran,
    answered_turn,
    asked,
    call,
    code_ran,
    ended,
    event,
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
    assert (fold.proposal("m"), fold.proposal("t")) == (proposed, None)
    assert (fold.drafted("t"), fold.drafted("m")) == (drafted, None)
    assert (fold.draw("t"), fold.draw("m"), fold.may_have_run()) == (2, 0, frozenset({"t"}))
    answered = begun.model_copy(update={"key": "tool/c"}), tool("c")
    assert fold_of(asked(), *answered).may_have_run() == frozenset()
    fold.take(9, ended())
    assert (fold.proposal("m"), fold.drafted("t"), fold.draw("t")) == (proposed, drafted, 2)
    fold.take(10, asked(turn=1))
    assert (fold.proposal("m"), fold.drafted("t"), fold.draw("t")) == (None, None, 0)
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
    assert (fold.answers_in_turn, fold.draw("t"), dict(fold.counts.calls)) == (1, 0, {})
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
    for number, fact in enumerate((over, again, over, asked(turn=1)), start=20):
        fold.take(number, fact)
        ends.append(fold.user.ended)
    assert ends == [True, False, True, False]
