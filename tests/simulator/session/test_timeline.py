"""What stands in the timeline for each fact, in which words, and in which place."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from simulator.environment.injection.rules import ErrorEffect, InjectionRule
from simulator.environment.recordings import ObservedCall
from simulator.environment.world.entities import EntityChange
from simulator.environment.world.tool_settings import DeclaredTool, EnvironmentSettings
from simulator.facts import (
    ConnectionsAnalysed,
    ConversationEnded,
    EnvironmentChanged,
    EnvironmentDataGiven,
    Fact,
    Failed,
    ModelAnswered,
    Provenance,
    Raised,
    RaisedError,
    RecordingGiven,
    Returned,
    RulesChanged,
    SeatChanged,
    StateCleared,
    ToolEffects,
    ToolsDeclared,
    UserSeated,
    WorldEdited,
)
from tests.simulator.session.making import (
    DIGESTS,
    WRITTEN,
    agent_ran,
    answered_turn,
    asked,
    call,
    code_ran,
    ended,
    event,
    journal_of,
    model,
    replied,
    tool,
)

BY_ANA = Provenance(source="written", by="ana")


def shown(*facts: Fact, live: Any = ()) -> list[Any]:
    """Return the timeline of these facts."""
    return list(journal_of(*facts).session(live).history)


def kinds(entries: list[Any]) -> list[str]:
    """Return the kinds of entries."""
    return [entry.type for entry in entries]


def said(*responses: Any, **more: Any) -> ModelAnswered:
    """A model gave these responses, whole or in part."""
    fields = {"at": 3.0, "turn": 0, "key": "m", "agent": "clerk", "digests": DIGESTS, "provenance": WRITTEN}
    return ModelAnswered(**{**fields, "responses": responses, **more})


def content(*parts: Any) -> Any:
    """A response with these parts."""
    return {"content": {"role": "model", "parts": list(parts)}}


def answers(call_id: str, response: Any, **more: Any) -> Any:
    """An event of ADK that answers a call."""
    return event({"functionResponse": {"id": call_id, "name": "t", "response": response}}, **more)


def test_each_entry_names_its_fact_its_turn_and_its_time() -> None:
    """The number is the fact's in the journal, behind the two that open the session."""
    query, called, answered, final = shown(*answered_turn())
    assert [each.fact for each in (query, called, answered, final)] == [2, 3, 4, 6]
    assert {each.turn for each in (query, called, answered, final)} == {0}
    assert [each.timestamp for each in (query, final)] == [
        datetime.fromtimestamp(at, UTC) for at in (2.0, 6.0)
    ]
    assert (called.agent, called.tool_name, called.arguments, called.call_id) == (
        "clerk",
        "find",
        {"id": "c0"},
        "c0",
    )
    assert (called.scope, called.provenance) == ("", WRITTEN)
    assert (answered.call_id, answered.result, answered.provenance) == ("c0", {"found": "c0"}, WRITTEN)
    assert (final.agent, final.content) == ("clerk", "done")


def test_what_the_user_said_says_by_whom() -> None:
    """A query has its text, a reply the call that it answers; both have who said it."""
    query = asked("hello").model_copy(update={"provenance": BY_ANA})
    waits = event({"functionCall": {"id": "w", "name": "ship", "args": {}}}, longRunningToolIds=["w"])
    reply = replied("w", 1, "ship").model_copy(update={"provenance": BY_ANA})
    first, last = shown(query, ended(waits), reply)
    assert (first.type, first.content, first.provenance) == ("user_query", "hello", BY_ANA)
    assert (last.type, last.call_id, last.tool_name, last.provenance) == ("user_reply", "w", "ship", BY_ANA)
    assert last.response == {"confirmed": True}


def test_the_texts_of_a_model_say_how_they_are_meant() -> None:
    """A thought is marked, an agent inside of a call has its scope, and what came in part is not shown twice."""
    thought = content({"text": "hm", "thought": True}, {"text": "hello"})
    first, second = shown(
        asked(), said({**content({"text": "hel"}), "partial": True}, thought, key="0/>a/m")
    )[1:]
    assert (first.content, first.thought, first.scope, first.agent) == ("hm", True, ">a", "clerk")
    assert (second.content, second.thought, second.provenance) == ("hello", False, WRITTEN)
    (called,) = shown(asked(), said(content(call("c")), key="0/>a/m"))[1:]
    assert called.scope == ">a"
    assert shown(asked(), said(content(call("c")), key="0/m"))[1].scope == ""
    assert shown(asked(), said(content(call("c")), key="0/>a/b/c"))[1].scope == ">a"


NO = RaisedError(type="m:Out.Of", message="no")
DID = {"elapsed_ms": 7.0, "effects": ToolEffects(state_delta={"a": 1}), "beneath": Returned(value=1)}
IMAGE = {"inline_data": {"data": "", "mime_type": "image/png"}}


def did(**more: Any) -> Fact:
    """An answer of a tool that did more than answer."""
    return tool("c").model_copy(update={**DID, **more})


@pytest.mark.parametrize(
    ("fact", "kind", "fields"),
    [
        (said(content({"function_call": {"id": "c"}})), "tool_call", {"tool_name": "", "arguments": {}}),
        (said(content(IMAGE)), "user_query", {"content": "go"}),
        (said(error=NO), "model_error", {"error_type": "Of", "error_message": "no", "agent": "clerk"}),
        (said({"error_code": 429, "error_message": "x"}), "model_error", {"error_type": "429", "error_message": "x"}),
        (said({"error_code": "X"}), "model_error", {"error_type": "X", "error_message": ""}),
        (did(), "tool_output", {"duration_ms": 7.0, "state_delta": {"a": 1}, "beneath": Returned(value=1)}),
        (did(outcome=Raised(error=NO), traceback="here"), "tool_error", {"error_type": "Of", "traceback": "here"}),
        (did(outcome=Raised(error=NO)), "tool_error", {"error_message": "no", "duration_ms": 7.0}),
        (did(outcome=Failed(error_code=4, error_message="no")), "tool_error", {"error_type": "4", "error_message": "no"}),
        (code_ran({"stdout": "1", "stderr": "2", "files": "x"}), "code_run", {"output": "1\n2", "error": None}),
        (code_ran({"stdout": "", "stderr": "2"}), "code_run", {"output": "2", "code": "1", "agent": "clerk"}),
        (code_ran(None, NO), "code_run", {"output": "", "error": "no"}),
        (ended({"author": "g", "output": "so"}), "final_response", {"content": "so", "agent": "g"}),
        (ended({"output": 1}, {"author": "last", "output": {"sum": "ü"}}), "final_response", {"content": '{"sum": "ü"}', "agent": "last"}),
        (ended({"output": "so"}), "final_response", {"agent": ""}),
    ],
)  # fmt: skip
def test_a_fact_is_shown_by_an_entry_of_its_kind(fact: Fact, kind: str, fields: dict[str, Any]) -> None:
    """A call without words, files, errors, what an answer did and what lies beneath, code with what it printed, and the output of a graph."""
    entry = shown(asked(), fact)[-1]
    assert entry.type == kind
    assert {name: getattr(entry, name) for name in fields} == fields


def test_a_model_that_says_nothing_is_a_step_with_its_reason() -> None:
    """No response, one that broke off, and an empty one are told apart; what ADK gives as reasons is named once each."""
    broken, stop = {**content({"text": "h"}), "partial": True}, {"finish_reason": "STOP"}
    facts = [said(), said(broken), said(content()), said(content({"text": ""}))]
    reasons = said(stop, {"finish_reason": "SAFETY"}, stop)
    errors = [shown(asked(), fact)[1] for fact in (*facts, reasons)]
    assert {(error.type, error.error_type) for error in errors} == {("model_error", "NoResponse")}
    nothing, half, empty, blank, because = (error.error_message for error in errors)
    assert len({nothing, half, empty}) == 3
    assert blank == empty
    assert because.startswith(empty)
    assert because.endswith("STOP, SAFETY.")


def test_a_tool_that_no_model_asked_for_is_shown_as_called() -> None:
    """Once, before its answer, with the scope of the call; its answer follows."""
    called, answer = shown(asked(), tool("c").model_copy(update={"scope": ">a"}))[1:]
    assert (called.type, called.call_id, called.tool_name, called.agent) == (
        "tool_call",
        "c",
        "find",
        "clerk",
    )
    assert (called.arguments, called.scope, called.provenance) == ({"id": "c"}, ">a", None)
    assert answer.type == "tool_output"
    assert kinds(shown(asked(), model(call("c")), tool("c"))) == ["user_query", "tool_call", "tool_output"]


def test_what_an_agent_used_as_a_tool_answers_stands_behind_what_it_did() -> None:
    """What it answers is an event of ADK, which stands behind its call."""
    facts = (asked(), model(call("c", "helper")), agent_ran("c"))
    assert kinds(shown(*facts)) == ["user_query", "tool_call"]
    assert shown(*facts, live=[answers("c", {"result": 1})])[-1].result == {"result": 1}
    inside = (said(content({"text": "bonjour"}), key="0/>c/m"), said(content(call("d")), key="0/>c/n"))
    history = shown(*facts, *inside, live=[answers("c", {"result": "bonjour"})])
    assert kinds(history) == ["user_query", "tool_call", "agent_message", "tool_call", "tool_output"]


def test_what_adk_answers_is_shown_once_and_in_its_place() -> None:
    """Behind its call, with ADK's time, or that of the turn; not where a seat has answered, and not what a stop made up."""
    facts = (asked(), model(call("a"), call("b"), {"text": "so"}), tool("a"))
    events = [answers("a", {"x": 1}), answers("b", {"x": 2}, timestamp=9.0), answers("z", {"x": 3})]
    history = shown(*facts, live=events)
    assert kinds(shown(*facts, ended(*events))) == kinds(history)
    assert kinds(history) == [
        "user_query",
        "tool_call",
        "tool_call",
        "tool_output",
        "agent_message",
        "tool_output",
    ]
    assert history[3].result == {"x": 2}
    assert history[3].timestamp == datetime.fromtimestamp(9.0, UTC)
    assert history[3].provenance is None
    later = shown(*facts, live=[answers("b", {"x": 2}, timestamp=None)])
    assert later[3].timestamp == datetime.fromtimestamp(2.0, UTC)
    nothing = [answers("b", {"x": 2}, author="user"), answers("b", {"x": 2}, errorCode="INVOCATION_ABORTED")]
    assert "tool_output" not in kinds(shown(*facts, live=nothing)[:-1])


def test_the_error_of_adk_is_one_but_where_it_only_asks() -> None:
    """A response of nothing but `error` is an error; the question whether a tool may run is none."""
    facts = (asked(), model(call("c")))
    error = shown(*facts, live=[answers("c", {"error": "no such tool"})])[-1]
    assert (error.type, error.error_type, error.error_message) == ("tool_error", "error", "no such tool")
    both = shown(*facts, live=[answers("c", {"error": "x", "more": 1})])[-1]
    assert both.type == "tool_output"
    asks = answers("c", {"error": "confirm"}, actions={"requestedToolConfirmations": {"c": {}}})
    assert shown(*facts, live=[asks])[-1].type == "tool_output"
    assert shown(*facts, live=[answers("c", "text")])[-1].result == "text"


def test_a_late_answer_stands_behind_the_reply_that_brought_it() -> None:
    """Its call is in an earlier turn: what comes after the reply stays behind it."""
    waits = event({"functionCall": {"id": "w", "name": "ship", "args": {}}}, longRunningToolIds=["w"])
    facts = (asked(), model(call("w", "ship")), ended(waits), replied("w", 1, "ship"))
    history = shown(*facts, model({"text": "so"}, turn=1), live=[answers("w", {"x": 1})])
    assert kinds(history) == ["user_query", "tool_call", "user_reply", "tool_output", "agent_message"]


def test_the_final_text_is_not_said_twice() -> None:
    """Only the last words of who gives the final response are left to it: a thought, another agent and earlier words stay."""
    last = model({"text": "hm", "thought": True}, {"text": "done"}, key="m#1")
    history = shown(asked(), model({"text": "done"}, key="m#0"), last, ended(event({"text": "done"})))
    assert kinds(history) == ["user_query", "agent_message", "agent_message", "final_response"]
    assert [history[1].thought, history[2].thought] == [False, True]
    other = shown(asked(), model({"text": "done"}, agent="helper"), ended(event({"text": "done"})))
    assert kinds(other) == ["user_query", "agent_message", "final_response"]
    inside = shown(asked(), model({"text": "done"}, key="0/>a/m"), ended(event({"text": "done"})))
    assert kinds(inside) == ["user_query", "agent_message", "final_response"]


def test_a_turn_that_leaves_a_call_open_has_no_final_response() -> None:
    """Its words stay where they are; after a stop or an error the end is told whatever waits."""
    waits = event({"functionCall": {"id": "w", "name": "ship", "args": {}}}, longRunningToolIds=["w"])
    facts = (asked(), model(call("w", "ship"), {"text": "so"}))
    assert kinds(shown(*facts, ended(waits, event({"text": "so"})))) == [
        "user_query",
        "tool_call",
        "agent_message",
    ]
    error = RaisedError(type="m:E", message="no")
    for end, kind in (({"stopped": True}, "stopped"), ({"error": error}, "E")):
        failed = shown(*facts, ended(waits, event({"text": "so"}), **end))[-1]
        assert (failed.type, failed.stopped, failed.error_type) == ("turn_failed", kind == "stopped", kind)


RULES = tuple(
    InjectionRule(rule_id=name, tool_name="find", effect=ErrorEffect(error_code=1, error_message="no"))
    for name in "ab"
)
OFF = RULES[0].model_copy(update={"enabled": False})
OTHER = RULES[0].model_copy(update={"tool_name": "other"})


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ((), RULES, "added a, .*b"),
        (RULES, RULES[1:], "removed a"),
        (RULES, (OFF, RULES[1]), "a off"),
        ((OFF,), RULES[:1], "a on"),
        (RULES, (OTHER, RULES[1]), "edited a"),
        (RULES, RULES[::-1], "order"),
    ],
)
def test_a_change_of_the_rules_says_what_is_new(before: Any, after: Any, named: str) -> None:
    """Added, removed, switched, edited, or only in another order."""
    notes = shown(RulesChanged(at=1, rules=before), RulesChanged(at=1, rules=after), asked())
    assert re.search(rf"(: | ){named}$", notes[1].content)


CALL = ObservedCall(tool_name="find", arguments={}, response={"a": 1}, place="r[0]")


@pytest.mark.parametrize(
    ("fact", "named"),
    [
        (SeatChanged(at=1, seat="tool", player="real"), "tool seat .*: real"),
        (SeatChanged(at=1, seat="agent", target="clerk", player="held"), "agent seat .*clerk: held"),
        (UserSeated(at=1, player="person"), "user seat: person"),
        (UserSeated(at=1, player="script"), "user seat: script, .+"),
        (UserSeated(at=1, player="script", hold=False), "user seat: script"),
        (EnvironmentDataGiven(at=1, text="x"), "environment: data loaded"),
        (EnvironmentDataGiven(at=1, text=""), "environment: data cleared"),
        (EnvironmentChanged(at=1, settings=EnvironmentSettings()), "environment: settings: unchanged"),
        (StateCleared(at=1, state_key="desk"), "environment: .*desk"),
        (RecordingGiven(at=1, name="r", calls=(CALL,)), "environment: .*'r': 1 call"),
        (RecordingGiven(at=1, name="r", calls=(CALL, CALL)), "environment: .*'r': 2 calls"),
        (RecordingGiven(at=1, name="r"), "environment: .*'r' removed"),
        (ToolsDeclared(at=1, tools=()), "environment: .*: none"),
        (
            ToolsDeclared(at=1, tools=(DeclaredTool(name="lend", description="x"),)),
            "environment: .*: lend",
        ),
        (ConnectionsAnalysed(at=1, model="m", reason="no key"), "environment: connections: .* m, no key"),
        (ConnectionsAnalysed(at=1, model="m"), "environment: connections [a-z]+ m"),
        (
            WorldEdited(at=1, changes=(EntityChange(op="delete", kind="order", id="A-1"),)),
            "environment: .*: delete order A-1",
        ),
    ],
)
def test_a_change_is_told(fact: Fact, named: str) -> None:
    """With what it names, before the query that it precedes, or in the turn that runs, at its own time."""
    assert shown(fact) == []
    note, query = shown(fact, asked())
    assert re.fullmatch(named, note.content)
    assert (note.type, note.turn, note.fact, query.type) == ("session_note", 0, 2, "user_query")
    assert note.timestamp == datetime.fromtimestamp(1.0, UTC)
    assert kinds(shown(asked(), fact)) == ["user_query", "session_note"]
    assert kinds(shown(asked(), ended(), fact, asked(turn=1))) == ["user_query", "session_note", "user_query"]


def test_the_end_of_a_conversation_is_told() -> None:
    """And that it goes on after all."""
    facts = (*answered_turn(), ConversationEnded(at=7), ConversationEnded(at=8, over=False), asked(turn=1))
    over, again = [entry for entry in shown(*facts) if entry.type == "session_note"]
    assert re.match("user seat: .*ended", over.content)
    assert re.match("user seat: .*reopened", again.content)
    assert (over.turn, again.turn) == (1, 1)
