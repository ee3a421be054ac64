"""Tests of recorded calls: where they are read from, and which is nearest to a call."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from google.adk.evaluation.eval_case import (
    EvalCase,
    IntermediateData,
    Invocation,
    InvocationEvent,
    InvocationEvents,
)
from google.adk.evaluation.eval_set import EvalSet
from google.adk.events import Event
from google.adk.sessions import Session
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from simulator.environment.recordings import (
    Near,
    ObservedCall,
    Recording,
    RecordingError,
    nearest,
    read_recording,
)
from simulator.facts import (
    AgentSelected,
    Deferred,
    Failed,
    Outcome,
    Provenance,
    Raised,
    RaisedError,
    RequestDigests,
    Returned,
    SessionOpened,
    ToolAnswered,
    TurnStarted,
)
from simulator.journal import Journal
from tests.simulator.base.rows import for_each
from tests.simulator.environment.drawn_json import json_values

NAMES = ["tool_uses", "tool_responses", "events", "name", "args", "response", "content", "parts"]

PRODUCTS = {"products": [{"id": "P-123", "name": "Premium Wireless ANC Headphones"}]}
SEARCHED = {"name": "search_products", "args": {"query": "headphones"}, "response": PRODUCTS}


def read(value: object) -> Recording:
    """Read a recording that is given as a value."""
    return read_recording(json.dumps(value))


def short(recording: Recording) -> list[tuple[str, Any, Any]]:
    """Return the calls without their places."""
    return [(call.tool_name, call.arguments, call.response) for call in recording.calls]


def call(name: str, call_id: str | None = None, **args: object) -> types.FunctionCall:
    """Make a function call of google-genai's."""
    return types.FunctionCall(name=name, id=call_id, args=dict(args))


def response(name: str, answer: dict[str, Any], call_id: str | None = None) -> types.FunctionResponse:
    """Make a function response of google-genai's."""
    return types.FunctionResponse(name=name, id=call_id, response=answer)


def content(*things: types.FunctionCall | types.FunctionResponse | str) -> types.Content:
    """Make a content of several parts."""
    parts = [
        types.Part(text=thing)
        if isinstance(thing, str)
        else types.Part(function_call=thing)
        if isinstance(thing, types.FunctionCall)
        else types.Part(function_response=thing)
        for thing in things
    ]
    return types.Content(role="model", parts=parts)


STEPS = (
    content("let me see", call("find", "1", city="Oslo"), call("find", "2", city="Rome")),
    content(response("find", {"n": 2}, "2"), response("find", {"n": 1}, "1")),
    content(call("book", "3", hotel={"id": "h-1"})),
    content(response("book", {"result": "ok"}, "3")),
)
EXPECTED = [
    ("find", {"city": "Oslo"}, {"n": 1}),
    ("find", {"city": "Rome"}, {"n": 2}),
    ("book", {"hotel": {"id": "h-1"}}, {"result": "ok"}),
]


def test_the_documented_trace_is_read() -> None:
    """As in ADK's documentation, where each tool use holds its response."""
    recording = read([{"invocation_id": "inv-001", "intermediate_data": {"tool_uses": [SEARCHED]}}])
    assert recording.problems == ()
    assert short(recording) == [("search_products", {"query": "headphones"}, PRODUCTS)]
    assert recording.calls[0].place == "[0].intermediate_data.tool_uses[0]"


def invocation(data: IntermediateData | InvocationEvents) -> Invocation:
    """Make one turn of an eval case."""
    return Invocation(user_content=content("hello"), intermediate_data=data)


@pytest.mark.parametrize("by_alias", [True, False])
def test_eval_sets_sessions_and_lists_of_events_are_read(by_alias: bool) -> None:
    """What ADK itself writes is read in both spellings; responses find their calls by id, whatever their order."""
    uses = IntermediateData(
        tool_uses=[call("find", "1", city="Oslo"), call("find", "2", city="Rome")],
        tool_responses=[response("find", {"n": 2}, "2"), response("find", {"n": 1}, "1")],
    )
    events = [InvocationEvent(author="a", content=step) for step in STEPS]
    case = EvalCase(
        eval_id="c", conversation=[invocation(uses), invocation(InvocationEvents(invocation_events=events))]
    )
    eval_set = EvalSet(eval_set_id="s", eval_cases=[case])
    session = Session(
        id="s", app_name="app", user_id="u", events=[Event(author="a", content=step) for step in STEPS]
    )
    from_set = read_recording(eval_set.model_dump_json(by_alias=by_alias))
    from_session = read_recording(session.model_dump_json(by_alias=by_alias))
    from_events = read([json.loads(event.model_dump_json(by_alias=by_alias)) for event in session.events])
    assert short(from_set) == EXPECTED[:2] + EXPECTED
    assert short(from_session) == short(from_events) == EXPECTED
    assert from_set.problems == from_session.problems == from_events.problems == ()
    assert from_session.calls[2].place.startswith("events[2].content.parts[0].function")


def test_the_older_eval_format_and_plain_lists_are_read() -> None:
    """Tool uses with inputs and mock outputs, a list of calls with responses, and JSON Lines of them."""
    older = [
        {
            "query": "q",
            "expected_tool_use": [{"tool_name": "t", "tool_input": {"a": 1}, "mock_tool_output": {"b": 2}}],
        }
    ]
    plain = [{"name": "t", "args": {"a": 1}, "response": {"b": 2}}]
    lines = "\n".join(json.dumps({"toolUses": plain}) for _ in range(3))
    assert short(read(older)) == short(read(plain)) == [("t", {"a": 1}, {"b": 2})]
    assert len(read_recording(lines).calls) == 3
    assert short(read_recording("\ufeff" + json.dumps(plain))) == short(read(plain))


def test_responses_without_ids_follow_the_order_of_their_calls() -> None:
    """Without ids the next response of the same name belongs to the next call."""
    data = {
        "tool_uses": [{"name": "a", "args": {"n": 1}}, {"name": "b"}, {"name": "a", "args": {"n": 2}}],
        "tool_responses": [
            {"name": "a", "response": {"r": 1}},
            {"name": "a", "response": {"r": 2}},
            {"name": "b", "response": {"r": 3}},
        ],
    }
    assert short(read(data)) == [("a", {"n": 1}, {"r": 1}), ("b", {}, {"r": 3}), ("a", {"n": 2}, {"r": 2})]


def answered(at: float, name: str, outcome: Outcome) -> ToolAnswered:
    """Make the fact of an answered call."""
    return ToolAnswered(
        at=at, turn=0, key=f"k{at}", agent="a", digests=RequestDigests(parts={}, chain=""),
        provenance=Provenance(source="written"), call_id=f"c{at}", tool_name=name, arguments={"n": at}, outcome=outcome,
    )  # fmt: skip


def test_our_journals_are_read_up_to_their_head() -> None:
    """Answers are as the agent saw them; what was raised or not answered, and other branches, are left out."""
    journal = Journal(
        [SessionOpened(at=0, session_id="s", seed="x"), AgentSelected(at=0, agent_name="a", app_name="a")]
    )
    start = journal.append(TurnStarted(at=0, turn=0, message={"role": "user", "parts": [{"text": "hi"}]}))
    journal.append(answered(1, "undone", Returned(value={})))
    journal.move_head(start)
    error = RaisedError(type="builtins:TimeoutError", message="late")
    outcomes: tuple[Outcome, ...] = (
        Returned(value={"x": 1}),
        Returned(value=[1]),
        Failed(error_code=404, error_message="no"),
        Raised(error=error),
        Deferred(),
    )
    for at, outcome in enumerate(outcomes, 2):
        journal.append(answered(at, "t", outcome))
    recording = read_recording(journal.to_json())
    assert short(recording) == [
        ("t", {"n": 2.0}, {"x": 1}),
        ("t", {"n": 3.0}, {"result": [1]}),
        ("t", {"n": 4.0}, {"error_code": 404, "error_message": "no"}),
    ]
    raised, open_ = recording.problems
    assert "exception" in raised
    assert "not answered" in open_


@for_each(
    ("entry", "problem"),
    [
        (5, "tool_uses[1]: .*object"),
        ({"args": {}}, "tool_uses[1]: .*name"),
        ({"name": "t", "args": [1], "response": {}}, "tool_uses[1]: .*arguments of 't'"),
        ({"name": "t", "args": {}}, "tool_uses[1]: .*'t' has no"),
    ],
)
def test_a_damaged_entry_is_left_out_with_a_word(entry: object, problem: str) -> None:
    """The other calls are read, and the problem names the place and what is wrong there."""
    good = {"name": "t", "args": {}, "response": {}}
    recording = read({"tool_uses": [good, entry, good]})
    assert len(recording.calls) == 2
    (found,) = recording.problems
    assert re.match(problem.replace("[", r"\["), found)


def test_stray_responses_are_named() -> None:
    """A response to no call, a second one, and one without its content are problems, not calls."""
    data = {
        "tool_uses": [{"name": "a", "id": "1"}],
        "tool_responses": [
            {"name": "a", "id": "1", "response": {}},
            {"name": "a", "id": "1", "response": {}},
            {"name": "b", "response": {}},
            {"name": "a"},
        ],
    }
    places = [re.findall(r"^tool_responses\[(\d)\]: .*'([ab])'", problem) for problem in read(data).problems]
    assert places == [[("3", "a")], [("1", "a")], [("2", "b")]]


@for_each(
    ("text", "reason"),
    [
        ("", "line 1, column 1"),
        ('[{"a": 1},\n {"b" 2}]', "line 2, column 7"),
        ('{"a": 1}\n{"b": }', "in record 2"),
        ('{"a": NaN}', "NaN "),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(text: str, reason: str) -> None:
    """The error names the line and column, or the record."""
    with pytest.raises(RecordingError) as caught:
        read_recording(text)
    assert reason in str(caught.value)


def test_a_recording_without_calls_says_so() -> None:
    """Nothing found is told, not passed over."""
    assert len(read({"eval_set_id": "s", "eval_cases": []}).problems) == 1


@given(value=json_values(names=st.text(max_size=3) | st.sampled_from(NAMES), max_leaves=16))
def test_any_json_can_be_read(value: object) -> None:
    """Whatever stands in the file, calls and problems come out of it."""
    recording = read(value)
    assert recording.calls or recording.problems


# ---------------------------------------------------------------- the nearest calls


def recorded(name: str, answer: object, **arguments: Any) -> ObservedCall:
    """Make a recorded call."""
    return ObservedCall(tool_name=name, arguments=arguments, response=answer, place="")


CALLS = (
    recorded("find", 0, city="Oslo", nights=2),
    recorded("find", 1, city="Rome", nights=3),
    recorded("book", 2, city="Oslo", nights=2),
    recorded("find", 3, city="Oslo", nights=2),
    recorded("find", 4, city="Oslo Airport", nights=2, pets=True),
)


def order(found: tuple[Near, ...]) -> list[int]:
    """Return the numbers of what was found."""
    return [near.index for near in found]


def test_the_nearest_arguments_come_first() -> None:
    """Equal ones are at distance 0, near texts and numbers before far ones, other tools never."""
    found = nearest(CALLS, "find", {"city": "Oslo", "nights": 2})
    assert order(found) == [0, 3, 4, 1]
    assert [near.distance for near in found[:2]] == [0.0, 0.0]
    assert all(0.0 < near.distance < 1.0 for near in found[2:])
    assert nearest(CALLS, "cancel", {}) == ()
    assert order(nearest(CALLS, "find", {"city": "Rome", "nights": 30}, n=1)) == [1]


def test_what_differs_is_said_in_words() -> None:
    """Changed, missing and additional arguments are named with both values, inside of objects too."""
    differs = nearest(CALLS[4:], "find", {"city": "Rome", "nights": 2, "room": {"beds": 1}})[0].differs
    named = (
        "args.city was 'Oslo Airport' .*'Rome'",
        'args.room .*missing.*{"beds": 1}',
        "args.pets was true .*missing",
    )
    assert len(differs) == len(named)
    assert all(re.fullmatch(words, one) for words, one in zip(named, differs, strict=True)), differs
    nested = nearest([recorded("t", 0, order={"id": "a", "n": 1})], "t", {"order": {"id": "b", "n": 1.0}})[0]
    (changed,) = nested.differs
    assert re.fullmatch("args.order.id was 'a' .*'b'", changed)
    assert nearest(CALLS, "book", {"city": "Oslo", "nights": 2})[0].differs == ()


def test_the_same_call_again_gets_the_next_recorded_answer() -> None:
    """Asked twice it gives the first and then the second answer, and stays at the last."""
    used: dict[int, int] = {}
    given_answers = []
    for _ in range(4):
        best = nearest(CALLS, "find", {"city": "Oslo", "nights": 2}, n=1, used=used)[0]
        used[best.index] = used.get(best.index, 0) + 1
        given_answers.append(best.call.response)
    assert given_answers == [0, 3, 3, 3]


ARGUMENTS = st.dictionaries(
    st.sampled_from("abcd"),
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.just(10**400 + 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9) | st.lists(st.integers(), max_size=3),
    max_size=4,
)  # fmt: skip


@given(there=ARGUMENTS, here=ARGUMENTS)
def test_a_distance_lies_between_equal_and_nothing_in_common(
    there: dict[str, Any], here: dict[str, Any]
) -> None:
    """It is 0 exactly where nothing differs, never above 1, and the same in both directions."""
    near = nearest([recorded("t", 0, **there)], "t", here)[0]
    back = nearest([recorded("t", 0, **here)], "t", there)[0]
    assert 0.0 <= near.distance <= 1.0
    assert (near.distance == 0.0) == (near.differs == ())
    assert near.distance == pytest.approx(back.distance)
