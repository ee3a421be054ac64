"""What of a case becomes a line of its script, told apart: whose move it is, what answers it, and what the user says on the way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.adk.evaluation.eval_case import EvalCase

from evalset import GoldenTraceBuilder
from evalset.errors import ScenarioError
from evalset.golden_trace.builder import TraceForm
from evalset.golden_trace.case_script import CaseScript, script_of_case
from simulator import demo_agent
from simulator.agents import DEMOS
from simulator.runtime.knowledge.knowledge import agents_as_tools
from simulator.scripts import read_script, write_script
from tests.evalset.golden_trace.traces import answers, calls, turns
from tests.evalset.sessions import agent, find_order
from tests.simulator.scripts.recording import play, play_with, record_demo

DONE: Any = {"parts": [{"text": "Done."}]}


def call(name: str, call_id: str | None = None, **args: Any) -> Any:
    """A call, as a part."""
    return {"functionCall": {"name": name, "args": args, **({"id": call_id} if call_id else {})}}


def response(name: str, call_id: str | None = None, **value: Any) -> Any:
    """An answer, as a part."""
    return {"functionResponse": {"name": name, "response": value, **({"id": call_id} if call_id else {})}}


def event(author: str, *parts: Any) -> Any:
    """Something that was said at once."""
    return {"author": author, "content": {"parts": list(parts)}}


def read(*events: Any, final: Any = DONE, nested: Any = None, **case: Any) -> CaseScript:
    """Read a case of one turn, whose way is kept as events."""
    turn = {
        "userContent": {"parts": [{"text": "go"}]},
        "finalResponse": final,
        "intermediateData": {"invocationEvents": list(events)},
    }
    return script_of_case(EvalCase.model_validate({"evalId": "e", "conversation": [turn], **case}), nested)


def listed(uses: Any, responses: Any, said: Any = (), final: Any = DONE) -> CaseScript:
    """Read a case of one turn, whose way is kept as lists."""
    way = {
        "toolUses": [each["functionCall"] for each in uses],
        "toolResponses": [each["functionResponse"] for each in responses],
        "intermediateResponses": list(said),
    }
    turn = {"userContent": {"parts": [{"text": "go"}]}, "finalResponse": final, "intermediateData": way}
    return script_of_case(EvalCase.model_validate({"evalId": "e", "conversation": [turn]}))


def lines(found: CaseScript) -> list[Any]:
    """Return the turns of a script as plain data, without what is not set."""
    return [json.loads(turn.model_dump_json(exclude_defaults=True)) for turn in found.script.turns]


def moves(found: CaseScript) -> list[Any]:
    """Return the moves of a script of one turn."""
    (turn,) = lines(found)
    found_moves: list[Any] = turn["moves"]
    return found_moves


def test_a_script_has_the_names_of_its_case() -> None:
    """Its id, its user and the state that it begins with; `user` and nothing where the case names none."""
    given = {"appName": "desk", "userId": "ada", "state": {"a": 1}}
    script = read(sessionInput=given).script
    assert (script.name, script.user_id, script.initial_state, script.agent) == (
        "e",
        "ada",
        {"a": 1},
        "person",
    )
    script = read().script
    assert (script.user_id, script.initial_state) == ("user", {})
    assert read(sessionInput={"appName": "desk", "userId": "", "state": {}}).script.user_id == "user"


def test_a_case_without_words_is_no_script() -> None:
    """Without a conversation, as a scenario's case is, and where the user says nothing."""
    with pytest.raises(ScenarioError, match=r"'e'.*conversation"):
        script_of_case(EvalCase.model_validate({"evalId": "e", "conversation": []}))
    scenario = {"startingPrompt": "Hello", "conversationPlan": "Ask."}
    with pytest.raises(ScenarioError, match=r"'plan'.*conversation"):
        script_of_case(EvalCase.model_validate({"evalId": "plan", "conversationScenario": scenario}))
    silent = {"userContent": {"parts": []}, "finalResponse": DONE}
    with pytest.raises(ScenarioError, match=r"turn 1 .*'e'.*user"):
        script_of_case(EvalCase.model_validate({"evalId": "e", "conversation": [silent]}))


def test_an_agent_is_named_where_there_are_several() -> None:
    """One alone needs no name, however often it moves."""
    assert moves(read(event("desk", {"text": "a"}), event("desk", {"text": "b"}))) == [
        {"text": "a"}, {"text": "b"}, {"text": "Done."}
    ]  # fmt: skip
    named = moves(read(event("desk", {"text": "a"}), event("clerk", {"text": "b"})))
    assert named == [
        {"agent": "desk", "text": "a"},
        {"agent": "clerk", "text": "b"},
        {"agent": "clerk", "text": "Done."},
    ]


def test_a_call_and_its_answer_are_two_lines() -> None:
    """The agent's with the call's id, where that is not one of ADK's; the tool's with the arguments of the call."""
    way = (event("desk", call("find", "c", x=1)), event("desk", response("find", "c", y=2)))
    assert moves(read(*way))[:2] == [
        {"calls": [{"name": "find", "args": {"x": 1}, "id": "c"}]},
        {"tool": "find", "args": {"x": 1}, "returns": {"y": 2}},
    ]
    adk = (event("desk", call("find", "adk-1", x=1)), event("desk", response("find", "adk-1", y=2)))
    assert moves(read(*adk))[:2] == [
        {"calls": [{"name": "find", "args": {"x": 1}}]},
        {"tool": "find", "args": {"x": 1}, "returns": {"y": 2}},
    ]
    assert moves(read(event("desk", call("find", x=1))))[0] == {"calls": [{"name": "find", "args": {"x": 1}}]}


@pytest.mark.parametrize(
    ("parts", "move"),
    [
        ([{"text": "a"}, call("f", "c")], {"text": "a", "calls": [{"name": "f", "id": "c"}]}),
        ([call("f", "c"), call("g", "d")], {"calls": [{"name": "f", "id": "c"}, {"name": "g", "id": "d"}]}),
        ([call("transfer_to_agent", "c", agent_name="x")], {"transfer": "x"}),
        (
            [call("transfer_to_agent", "c", agent_name="x"), call("f", "d")],
            {
                "calls": [
                    {"name": "transfer_to_agent", "args": {"agent_name": "x"}, "id": "c"},
                    {"name": "f", "id": "d"},
                ]
            },
        ),
    ],
)
def test_what_is_plain_has_a_line_of_its_own_form(parts: Any, move: Any) -> None:
    """A text, calls, a text before calls, a transfer; a call beside a transfer makes calls of both."""
    assert moves(read(event("", *parts), event("", {"text": "Done."})))[0] == move


@pytest.mark.parametrize(
    "parts",
    [
        [{"text": "a"}, {"text": "b"}],
        [call("f", "c"), {"text": "a"}],
        [{"text": "a", "thought": True}],
        [{"inlineData": {"data": "AA==", "mimeType": "image/png"}}],
    ],
)
def test_what_is_not_plain_is_kept_in_its_parts(parts: Any) -> None:
    """Several texts, a text behind a call, a thought and a file, each as it was."""
    (first, *_) = moves(read(event("", *parts)))
    assert len(first["parts"]) == len(parts)


def test_what_adk_answers_by_itself_needs_no_line() -> None:
    """A transfer; where nothing else tells, the agent that was handed over to says the final response."""
    transfer = event("desk", call("transfer_to_agent", "c", agent_name="x"))
    answer, hi = event("desk", response("transfer_to_agent", "c")), event("x", {"text": "hi"})
    over, done = {"agent": "desk", "transfer": "x"}, {"agent": "x", "text": "Done."}
    assert moves(read(transfer, answer, hi)) == [over, {"agent": "x", "text": "hi"}, done]
    assert moves(read(transfer)) == [over, done]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"result": "so"}, "so"),
        ({"result": ""}, '{"result":""}'),
        ({"result": 1}, '{"result":1}'),
        ({"a": "b"}, '{"a":"b"}'),
    ],
)
def test_an_agent_that_is_a_tool_says_what_it_came_to(value: Any, text: str) -> None:
    """A text as it is, anything else as JSON."""
    way = (event("desk", call("helper", "c")), event("desk", response("helper", "c", **value)))
    assert moves(read(*way, nested={"helper": "assistant"}))[1] == {"agent": "assistant", "text": text}


@pytest.mark.parametrize(
    ("last", "final", "said"),
    [
        ({"text": "Done."}, DONE, 1),
        ({"text": "Almost."}, DONE, 2),
        ({"text": "Done."}, {"parts": []}, 1),
        ({"text": "Done."}, {"parts": [{"text": "hm", "thought": True}]}, 1),
        (call("set_model_response", "c", a=1), DONE, 1),
    ],
)
def test_the_final_response_is_said_once(last: Any, final: Any, said: int) -> None:
    """Not again where the last step says the same, ends with data, or where there is none."""
    assert len(moves(read(event("desk", last), final=final))) == said


CONFIRM = "adk_request_confirmation"


def asked(**original: Any) -> Any:
    """A tool asks for a confirmation."""
    return event("desk", call(CONFIRM, "q", originalFunctionCall=original, toolConfirmation={}))


@pytest.mark.parametrize(
    ("answer", "turn"),
    [
        ({"confirmed": True}, {"confirm": True, "tool": "pay"}),
        ({"confirmed": True, "payload": {"a": 1}}, {"confirm": True, "tool": "pay", "payload": {"a": 1}}),
        ({"confirmed": True, "payload": None}, {"confirm": True, "tool": "pay"}),
        ({"response": '{"confirmed": true}'}, {"confirm": True, "tool": "pay"}),
        ({"confirmed": "yes"}, {"reply": {"confirmed": "yes"}, "tool": "pay"}),
        ({"response": "no JSON"}, {"reply": {"response": "no JSON"}, "tool": "pay"}),
        ({"response": "1", "more": 2}, {"reply": {"response": "1", "more": 2}, "tool": "pay"}),
    ],
)
def test_what_a_person_said_to_a_confirmation_begins_a_turn(answer: Any, turn: Any) -> None:
    """A yes or a no with its payload, in whichever form a front end sends it; anything else is a reply."""
    way = (
        event("desk", call("pay", "c", x=1)),
        asked(id="c", name="pay"),
        event("desk", response("pay", "c", error="needs confirmation")),
        event("user", response(CONFIRM, "q", **answer)),
        event("desk", response("pay", "c", paid=True)),
    )
    first, second = lines(read(*way))
    assert first["moves"] == [{"calls": [{"name": "pay", "args": {"x": 1}, "id": "c"}]}]
    wanted = [{"tool": "pay", "args": {"x": 1}, "returns": {"paid": True}}, {"text": "Done."}]
    assert second == {**turn, "moves": wanted}


def test_a_call_that_was_rejected_is_answered_by_adk() -> None:
    """What ADK says of it then is no line; the answer of another tool is."""
    way = (
        event("desk", call("pay", "c"), call("find", "d")),
        asked(id="c", name="pay"),
        event("desk", response("pay", "c", error="needs confirmation"), response("find", "d", a=1)),
        event("user", response(CONFIRM, "q", confirmed=False)),
        event("desk", response("pay", "c", error="rejected")),
    )
    first, second = lines(read(*way))
    assert first["moves"][1:] == [{"tool": "find", "returns": {"a": 1}}]
    assert second == {"confirm": False, "tool": "pay", "moves": [{"text": "Done."}]}


def test_a_late_result_is_a_reply() -> None:
    """Its tool was answered with something before, or is said to answer later."""
    ship = event("desk", call("ship", "c"))
    late = event("user", response("ship", "c", at="home"))
    first, second = lines(read(ship, event("desk", response("ship", "c", status="pending")), late))
    assert first["moves"][-1] == {"tool": "ship", "returns": {"status": "pending"}}
    assert second == {"reply": {"at": "home"}, "tool": "ship", "moves": [{"text": "Done."}]}
    first, second = lines(read(ship, late))
    assert first["moves"][-1] == {"tool": "ship", "later": True}
    other = event("desk", call("find", "d")), event("desk", response("find", "d", a=1))
    first, second = lines(read(ship, *other, late))
    assert first["moves"][-1] == {"tool": "ship", "later": True}


INPUT = "adk_request_input"


def test_a_question_is_named_where_there_are_several() -> None:
    """One alone is answered by its tool; of two, each reply says which."""
    one = event("desk", call(INPUT, "q", interruptId="q", message="who"))
    two = event("desk", call(INPUT, "r", interruptId="r", message="what"))
    answers = [event("user", response(INPUT, name, result=name)) for name in "qr"]
    alone = lines(read(one, answers[0]))
    assert alone[1] == {"reply": {"result": "q"}, "tool": INPUT, "moves": [{"text": "Done."}]}
    assert alone[0].get("moves", []) == []
    both = lines(read(one, two, *answers))
    assert [turn.get("question") for turn in both] == [None, "who", "what"]
    assert [turn.get("reply") for turn in both] == [None, {"result": "q"}, {"result": "r"}]


def test_answers_in_lists_are_set_behind_their_calls() -> None:
    """By their ids, or by their names in order; calls without an answer come last."""
    found = listed(
        [call("a"), call("b"), call("a"), call("c")],
        [response("b", n=2), response("a", n=1), response("a", n=3)],
    )
    (at_once,) = found.losses
    assert "at once" in at_once
    assert listed([call("a")], [response("a", n=1)]).losses == ()
    assert moves(found) == [
        {"calls": [{"name": "a"}]},
        {"calls": [{"name": "b"}]},
        {"tool": "b", "returns": {"n": 2}},
        {"tool": "a", "returns": {"n": 1}},
        {"calls": [{"name": "a"}]},
        {"tool": "a", "returns": {"n": 3}},
        {"calls": [{"name": "c"}]},
        {"text": "Done."},
    ]
    swapped = listed(
        [call("a", "x", n=1), call("a", "y", n=2)], [response("a", "y", r=2), response("a", "x", r=1)]
    )
    assert [move["args"] for move in moves(swapped) if "tool" in move] == [{"n": 2}, {"n": 1}]


def test_what_lists_do_not_tell_is_a_loss() -> None:
    """An answer that nobody asked for, and what was said nobody knows when."""
    found = listed([call("a")], [response("b", n=1)], [["desk", [{"text": "hm"}]]])
    answer, messages = found.losses
    assert all(loss.startswith("turn 1 ") and "'e'" in loss for loss in found.losses)
    assert ("'b'" in answer, "messages" in messages) == (True, True)


def test_a_second_answer_in_lists_is_the_users() -> None:
    """What the agents said meanwhile ends their turn before it; a call that was confirmed is answered twice by itself."""
    found = listed(
        [call("ship", "c")],
        [response("ship", "c", n=1), response("ship", "c", n=2)],
        [["desk", [{"text": "soon"}]]],
    )
    assert found.losses == ()
    first, second = lines(found)
    assert [sorted(move) for move in first["moves"]][-1] == ["agent", "text"]
    assert second["reply"] == {"n": 2}
    original = {"id": "c", "name": "pay"}
    confirmed = listed(
        [call("pay", "c"), call(CONFIRM, "q", originalFunctionCall=original)],
        [
            response("pay", "c", error="x"),
            response(CONFIRM, "q", confirmed=True),
            response("pay", "c", paid=1),
        ],
    )
    first, second = lines(confirmed)
    assert (second["confirm"], second["tool"]) == (True, "pay")
    assert second["moves"][0]["returns"] == {"paid": 1}


FORMS: tuple[TraceForm, ...] = ("intermediate_data", "invocation_events")


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(DEMOS))
def test_a_case_gives_the_same_trace_when_it_is_played_again(name: str) -> None:
    """Calls, answers and final responses of every turn are the same: transfers, confirmations and agents as tools too."""
    config = demo_agent(name)
    with record_demo(name) as recorded:
        cases = [GoldenTraceBuilder(recorded.session, form=form, eval_id="case").build() for form in FORMS]
    for form, case in zip(FORMS, cases, strict=True):
        script = script_of_case(case, agents_as_tools(config.root_agent)).script
        assert read_script(write_script(script)).script == script
        played = play_with(config, script)
        assert (played.waits, played.refused, played.failure, played.leftovers) == ((), None, "", ())
        again = GoldenTraceBuilder(played.session, form=form, eval_id="case").build()
        for before, after in zip(turns(case), turns(again), strict=True):
            assert [call for call in calls(after) if "adk_" not in str(call[0])] == [
                call for call in calls(before) if "adk_" not in str(call[0])
            ]
            assert answers(after) == answers(before)
            assert after.final_response == before.final_response


def test_what_a_case_lacks_is_asked_for() -> None:
    """A case of calls alone, as most are: the agent does the same, and its environment is asked."""
    turn = {
        "userContent": {"parts": [{"text": "Where is A-1?"}]},
        "finalResponse": {"parts": [{"text": "On its way."}]},
        "intermediateData": {"toolUses": [{"name": "find_order", "args": {"order_id": "A-1"}}]},
    }
    case = EvalCase.model_validate({"evalId": "by_hand", "conversation": [turn]})
    played = play(agent(tools=[find_order]), script_of_case(case).script)
    (waits,) = played.waits
    assert ("find_order" in waits.words, "order_desk" in waits.words) == (True, True)
