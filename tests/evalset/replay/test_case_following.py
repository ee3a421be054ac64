"""What a followed case gives for each kind of request, when it has nothing left, and in which words it says so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalset.recorded.recording import (
    Author,
    RecordedAgentRun,
    RecordedCall,
    RecordedCase,
    RecordedCode,
    RecordedInput,
    RecordedModelTurn,
    RecordedTurn,
    RejectedCall,
)
from evalset.recorded.tolerances import Ignore
from evalset.replay.case_following import (
    AmbiguousError,
    CaseFollowed,
    IncomingCall,
    InputQuestion,
    InputReply,
    UnrecordedError,
)
from evalset.replay.session_following import SessionFollowed
from simulator.facts import Returned, ToolEffects
from tests.evalset.there import there

WRITTEN = Author(source="written")


def said(text: str) -> dict[str, Any]:
    """Make what a user says."""
    return {"role": "user", "parts": [{"text": text}]}


def made(tool: str, argument: Any, answer: Any, *within: str) -> RecordedCall:
    """Make a recorded call."""
    return RecordedCall(
        tool=tool, arguments={"x": argument}, outcome=Returned(value=answer), author=WRITTEN, within=within
    )


def case_of(*turns: tuple[str, Sequence[RecordedCall]], **more: Any) -> RecordedCase:
    """Make a case of queries with their calls."""
    return RecordedCase(
        agent="desk",
        app_name="desk",
        turns=tuple(RecordedTurn(query=said(query), calls=tuple(calls)) for query, calls in turns),
        **more,
    )


GO = said("go")
ASKED, OTHER = (IncomingCall("a", {"x": x}) for x in (1, 2))
YES: Any = {"confirmed": True}
INSIDE = RecordedModelTurn(agent="a", within=("a",), author=WRITTEN)


def case(*turns: dict[str, Any], **more: Any) -> RecordedCase:
    """Make a case whose turns hold these things; the query of each is `go`."""
    made_turns = tuple(RecordedTurn(**{"query": GO, **turn}) for turn in turns)
    return RecordedCase(agent="desk", app_name="desk", turns=made_turns, **more)


def followed(*turns: dict[str, Any], turn: int = 1, **more: Any) -> CaseFollowed:
    """Follow such a case to a turn."""
    found = CaseFollowed("one", case(*turns, **more))
    for _ in range(turn):
        assert found.hears(GO)
    return found


def session(*cases: RecordedCase, turn: int = 1) -> SessionFollowed:
    """Follow a session along several cases to a turn."""
    found = SessionFollowed({f"case-{number}": each for number, each in enumerate(cases)})
    for _ in range(turn):
        found.hear(GO)
    return found


def ran(run_id: str = "r", tool: str = "a", x: int = 1, before: int = 0) -> RecordedAgentRun:
    """The agent of an agent tool ran."""
    return RecordedAgentRun(id=run_id, tool=tool, arguments={"x": x}, calls_before=before)


def called(call_id: str, tool: str = "a", x: int = 1, answer: Any = 0, **more: Any) -> RecordedCall:
    """A call with an id."""
    return RecordedCall(
        id=call_id, tool=tool, arguments={"x": x}, outcome=Returned(value=answer), author=WRITTEN, **more
    )


def asks(message: str | None, response: Any, question_id: str = "", path: str = "") -> RecordedInput:
    """A question that was answered."""
    arguments: Any = None if message is None else {"message": message}
    return RecordedInput(id=question_id, path=path, arguments=arguments, response={"result": response})


def question(message: str, question_id: str = "new", path: str = "") -> InputQuestion:
    """A question as it comes."""
    return InputQuestion(question_id, path, {"message": message})


def answer_of(found: CaseFollowed, asked: IncomingCall = ASKED) -> Any:
    """What a call would be answered with; None where there is nothing."""
    call = found.finds(asked)
    return call and call.outcome.model_dump()["value"]


def run_of(found: CaseFollowed, asked: IncomingCall = ASKED) -> str | None:
    """The id of the agent's run that belongs to a call; None where its agent does not run."""
    run = found.agent_runs(asked)
    return run.id if run else None


def test_a_case_goes_on_while_the_same_is_said() -> None:
    """Other words, and more turns than there are, are another way; blanks around them, and answers to a call, are none."""
    found = CaseFollowed("one", case({}, {"query": said("and on")}))
    assert (found.turn, found.now) == (-1, None)
    assert found.hears(said(" go\n"))
    assert found.hears({"role": "user", "parts": [{"functionResponse": {"id": "1"}}]})
    assert (found.turn, found.now) == (0, found.case.turns[0])
    assert found.hears(said("and on"))
    assert found.now == found.case.turns[1]
    assert not found.hears(said("and on"))
    assert found.turn == 1
    assert not CaseFollowed("one", case({})).hears(said("stop"))


def test_nothing_is_found_before_the_first_turn() -> None:
    """Neither a call nor a confirmation, an input, an agent's answer, or a model's."""
    found = followed({"calls": [called("c")], "inputs": [asks("who", 1)]}, turn=0)
    assert found.finds(ASKED) is None
    assert found.confirmation(ASKED) is None
    assert found.finds_input(question("who")) is None
    assert found.told_of(ran("c")) is None
    assert found.agent_runs(ASKED) is None
    found.uses(ASKED)
    found.uses_input(question("who"))
    with pytest.raises(UnrecordedError, match=r"turn 0 has 0 .* desk"):
        found.next_model_turn("desk", ())


def test_each_turn_has_its_own_answers() -> None:
    """What was used in one is not used in the next, and what is left in one is not given in the next."""
    found = followed({"calls": [called("c", answer=1)]}, {"calls": [called("d", answer=2)]})
    assert [answer_of(found), answer_of(found)] == [1, 1]
    found.uses(ASKED)
    assert answer_of(found) is None
    found.uses(ASKED)
    assert found.hears(GO)
    assert answer_of(found) == 2


def test_an_agent_runs_where_it_was_recorded_that_it_did() -> None:
    """Each run once; then its tool has no more, and what is not known runs too, with no id."""
    found = followed({"agents": [ran("r"), ran("s"), ran("t", x=2)]})
    assert [run_of(found), run_of(found)] == ["r", "s"]
    unknown = found.agent_runs(ASKED)
    assert unknown == RecordedAgentRun(id="", tool="a", arguments={"x": 1})
    assert run_of(found, OTHER) == "t"


def test_an_agent_does_not_run_where_its_call_was_answered() -> None:
    """By a rule or a player: then its answer is there, and nothing that happened inside."""
    answered = {"calls": [called("c")]}
    assert [run_of(followed(answered), each) for each in (ASKED, OTHER)] == [None, None]
    assert run_of(followed(answered), IncomingCall("b", {"x": 1})) is not None
    entered = {"calls": [called("c"), called("d", tool="b", within=("a",))]}
    assert run_of(followed(entered)) is None
    assert run_of(followed(entered), OTHER) is not None
    assert run_of(followed({**answered, "models": [INSIDE]}), OTHER) is not None


def test_whether_a_call_was_answered_or_its_agent_ran_goes_by_their_order() -> None:
    """An answer that was given before the agent ran comes first; the one that rules made of its own answer does not."""
    before = followed({"calls": [called("c")], "agents": [ran("r", before=1)]})
    assert run_of(before) is None
    before.uses(ASKED)
    assert run_of(before) == "r"
    assert run_of(followed({"calls": [called("c")], "agents": [ran("r", before=0)]})) == "r"
    assert run_of(followed({"calls": [called("r")], "agents": [ran("r", before=1)]})) == "r"


def test_what_rules_made_of_an_agents_answer_is_told_once() -> None:
    """By the id of the run; a call without an id is no such thing, and it answers no other call."""
    found = followed({"calls": [called("x"), called("r", answer=7)], "agents": [ran("r")]})
    assert there(found.told_of(ran("r"))).outcome == Returned(value=7)
    assert found.told_of(ran("r")) is None
    assert followed({"calls": [called("")]}).told_of(ran("")) is None
    calls = [called("r", answer=7), called("x", answer=8)]
    assert answer_of(followed({"calls": calls, "agents": [ran("r")]})) == 8


def test_answers_alone_are_told_from_a_tool_that_was_entered() -> None:
    """By a call or by a model inside of it, in whichever turn."""
    assert followed({"calls": [called("c")]}).answers_alone("a")
    assert not followed({"calls": [called("c")]}).answers_alone("b")
    assert not followed({"calls": [called("c")]}, {"models": [INSIDE]}).answers_alone("a")
    assert not followed({"calls": [called("c"), called("d", "b", within=("a",))]}).answers_alone("a")
    assert followed({}, {"calls": [called("c")]}).answers_agent("a")
    assert not followed({}, {"calls": [called("c")]}).answers_agent("b")


def test_a_confirmation_is_that_of_the_call_or_of_one_that_was_rejected() -> None:
    """A call that was asked without any has none, also where one like it was rejected."""
    no: Any = {"confirmed": False}
    rejected = RejectedCall(tool="a", arguments={"x": 2}, confirmed=no)
    found = followed({"calls": [called("c", confirmed=YES)], "rejected": [rejected]})
    assert [found.confirmation(each) for each in (ASKED, OTHER)] == [YES, no]
    assert found.confirmation(IncomingCall("a", {"x": 3})) is None
    plain = followed({"calls": [called("c", x=2)], "rejected": [rejected]})
    assert plain.confirmation(OTHER) is None


def test_a_call_that_ran_again_after_its_confirmation_counts_with_its_last_answer() -> None:
    """Its first answer only asked; the same without an id, or once, is a call of its own."""
    twice = [called("c", answer="asks", confirmed=YES), called("c", answer="done", confirmed=YES)]
    found = followed({"calls": twice})
    assert answer_of(found) == "done"
    found.uses(ASKED)
    assert answer_of(found) is None
    assert " 1 time " in found.why_not(ASKED)
    for alone in ([called("", answer=1, confirmed=YES), called("")], [called("c", answer=1), called("c")]):
        assert answer_of(followed({"calls": alone})) == 1


def test_models_answer_where_they_were_asked() -> None:
    """One that was only put off has no place; each of the others is given once, in its order."""
    turns = [
        RecordedModelTurn(agent="a", put_off=True, responses=({"n": 0},), author=WRITTEN),
        RecordedModelTurn(agent="a", responses=({"n": 1},), author=WRITTEN),
        RecordedModelTurn(agent="a", within=("t",), responses=({"n": 2},), author=WRITTEN),
        RecordedModelTurn(agent="a", responses=({"n": 3},), author=WRITTEN),
    ]
    found = followed({"models": turns})
    assert [found.next_model_turn("a", ()).responses for _ in range(2)] == [({"n": 1},), ({"n": 3},)]
    with pytest.raises(UnrecordedError, match=r"'one', turn 1 has 2 .* a,"):
        found.next_model_turn("a", ())
    assert found.next_model_turn("a", ("t",)).responses == ({"n": 2},)
    with pytest.raises(UnrecordedError, match=r"has 0 .* b,"):
        found.next_model_turn("b", ())


def test_code_answers_by_its_own_text() -> None:
    """But for blanks around it; of another agent, inside of another tool, and once more, it has no result."""
    ran_code = RecordedCode(
        agent="a", within=("t",), code="print(1)\n", result={"stdout": "1"}, author=WRITTEN
    )
    found = followed({"code": [ran_code, ran_code.model_copy(update={"code": "2"})]})
    for agent, within, code in (("b", ("t",), "2"), ("a", (), "2"), ("a", ("t",), "3")):
        with pytest.raises(UnrecordedError, match=f" {agent}: {code}"):
            found.next_code(agent, within, code)
    assert found.next_code("a", ("t",), " print(1)") == ran_code
    assert found.next_code("a", ("t",), "2").code == "2"
    with pytest.raises(UnrecordedError, match=r"'one', turn 1 .* a: print\(1\)$"):
        found.next_code("a", ("t",), "print(1) ")


@pytest.mark.parametrize(
    ("recorded", "place"),
    [
        ([asks("who", 1, "old"), asks("who", 2, "new")], 1),
        ([asks("who", 1, "new"), asks("who", 2, "old")], 0),
        ([asks("who", 1, "b", "other"), asks("who", 2, "c", "node")], 1),
        ([asks(None, 1, "b", "node"), asks("who", 2, "c", "node")], 1),
        ([asks("who", 1, "c", "node"), asks(None, 2, "b", "node")], 0),
        ([asks(None, 1, "new", "other"), asks("who", 2, "c", "node")], 0),
        ([asks("who", 1, "b", "other"), asks(None, 2, "c", "node")], 1),
        ([asks("what", 1, "new", "node"), asks("who", 2, "c", "other")], 1),
    ],
)
def test_of_several_questions_the_nearest_is_answered(recorded: list[RecordedInput], place: int) -> None:
    """Its id counts before its node, and its node before its words; other words are another question."""
    found = followed({"inputs": recorded})
    asked = question("who", "new", "node")
    reply = found.finds_input(asked)
    assert reply == InputReply(place, recorded[place])
    found.uses_input(asked)
    rest = found.finds_input(asked)
    assert rest is None or rest.place != place


def test_a_question_is_answered_once_in_its_turn() -> None:
    """Then it says that it is asked once more; the closest is one of those that are left."""
    found = followed({"inputs": [asks("who", 1), asks("what", 2)]}, {"inputs": [asks("who", 3)]})
    found.uses_input(question("who"))
    assert found.finds_input(question("who")) is None
    assert there(found.nearest_input(question("who"))).response == {"result": 2}
    found.uses_input(question("what"))
    assert found.nearest_input(question("who")) is None
    assert found.hears(GO)
    assert there(found.finds_input(question("who"))).recorded.response == {"result": 3}


@pytest.mark.parametrize(
    ("turn", "arguments", "words"),
    [
        ({}, {"message": "who"}, ("'who'", "no input")),
        ({}, {}, ("of the user: ", "no input")),
        ({"inputs": [asks("who", 1)]}, {"message": "who"}, ("'who'", "once more")),
        ({"inputs": [asks("what", 1)]}, {"message": "who"}, ("'who'", "different", "'what'", "'who'")),
    ],
)
def test_a_question_without_an_answer_says_why(turn: Any, arguments: Any, words: tuple[str, ...]) -> None:
    """None was asked, this one was asked less often, or another one was, and what differs."""
    text = followed(turn).why_no_input(InputQuestion("q", "", arguments))
    assert text.startswith("case 'one', turn 1 ")
    assert all(each in text for each in words)


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        ([{"calls": [called("c")]}], " 1 time .*once more$"),
        ([{"calls": [called("c"), called("d")]}], " 2 times .*once more$"),
        ([{}, {"calls": [called("c")]}], " in turn 2$"),
        ([{}, {}, {"calls": [called("b", x=2), called("c")]}], " in turn 3$"),
        ([{"calls": [called("c", "b")]}, {"calls": [called("c")]}], " in turn 2$"),
        ([{}], "not called .*tools: none$"),
        ([{"calls": [called("c", "b"), called("d", "e"), called("f", "b")]}], "not called .*tools: b, e$"),
        ([{"calls": [called("c", within=("t", "u"))]}], "same call .* u in t$"),
        ([{"calls": [called("c", x=2)]}], r"closest .* a\(x=2\); args\.x was 2 .*1$"),
    ],
)
def test_a_call_without_an_answer_says_what_is_nearest(turns: list[Any], words: str) -> None:
    """In the same turn, in another one, inside of another tool, with other arguments, or none at all."""
    text = followed(*turns).why_not(ASKED)
    assert re.search(rf"^case 'one', turn 1 .* a\(x=1\): .*{words}", text), text


def test_a_call_is_written_with_where_it_is_asked() -> None:
    """All arguments, and each tool that it is inside of."""
    text = followed({"calls": [called("c")]}).why_not(IncomingCall("a", {"x": 1, "y": "z"}, ("t", "u")))
    assert re.search(r'a\(x=1, y="z"\) .*t .*u: ', text)
    text = followed({"calls": [called("c")]}).why_not(IncomingCall("a", {"x": 1}, ("t",)))
    assert text.endswith("the agent itself")


def test_one_that_may_differ_counts_as_asked() -> None:
    """Its tolerance is of the case: also where it says that it was asked, and elsewhere."""
    anything = (Ignore(tool="a", path="x"),)
    other = IncomingCall("a", {"x": 9})
    called_once: Any = {"calls": [called("c")]}
    assert " 1 time " in followed(called_once, tolerances=anything).why_not(other)
    assert " in turn 2" in followed({}, called_once, tolerances=anything).why_not(other)
    assert run_of(followed({"agents": [ran()]}, tolerances=anything), other) == "r"


def test_a_session_is_one_of_the_cases_that_fit() -> None:
    """What is said and asked tells them apart; the nearest is the first, or the last that fitted."""
    found = SessionFollowed(
        {"one": case_of(("go", [made("a", 1, 1)])), "two": case_of(("go", [made("b", 1, 2)]))}
    )
    assert (found.turn, found.eval_ids) == (-1, ("one", "two"))
    found.hear(GO)
    found.hear({"role": "user", "parts": [{"function_response": {"id": "1"}}]})  # it answers an open call
    assert (found.turn, found.eval_ids) == (0, ("one", "two"))
    assert found.call(IncomingCall("b", {"x": 1})).outcome == Returned(value=2)
    assert list(found.eval_ids) == ["two"]
    found.hear(said("else"))
    assert list(found.eval_ids) == []
    assert found.nearest is not None
    assert (found.nearest.eval_id, found.turn) == ("two", 1)
    found.hear(said("again"))
    assert (found.nearest.eval_id, found.turn) == ("two", 2)
    assert SessionFollowed({}).nearest is None


def test_what_no_case_holds_says_how_many_others_there_are() -> None:
    """Of those that begin alike; none is told where there are none."""
    one, two = case_of(("go", [])), case_of(("go", []))
    with pytest.raises(UnrecordedError, match=" 2 other cases "):
        session(one, two, one).call(ASKED)
    with pytest.raises(UnrecordedError) as caught:
        session(one).call(ASKED)
    assert "other cases" not in str(caught.value)
    with pytest.raises(UnrecordedError, match=" 1 other cases "):
        session(one, two).input(question("who"))


def test_cases_that_answer_differently_are_named() -> None:
    """The first, and the first that differs, by its answer or by what the call did beside it."""
    alike = case({"calls": [called("c", answer=1)]})
    other = case({"calls": [called("c", answer=2)]})
    with pytest.raises(
        AmbiguousError,
        match=r"'case-0' and 'case-2' .*responses .*a\(x=1\)",
    ):
        session(alike, alike, other).call(ASKED)
    effects = ToolEffects(state_delta={"a": 1})
    with pytest.raises(AmbiguousError):
        session(alike, case({"calls": [called("c", answer=1, effects=effects)]})).call(ASKED)
    both = session(alike, alike)
    assert both.call(ASKED).outcome == Returned(value=1)
    with pytest.raises(UnrecordedError):
        both.call(ASKED)


def test_questions_models_and_code_of_cases_that_differ_are_ambiguous() -> None:
    """Where they are the same they are given, and used up in each."""
    one, two = case({"inputs": [asks("who", 1)]}), case({"inputs": [asks("who", 2)]})
    with pytest.raises(AmbiguousError, match=r"'case-0' and 'case-1' .*user replies"):
        session(one, two).input(question("who"))
    same = session(one, one)
    assert same.input(question("who")).recorded.response == {"result": 1}
    with pytest.raises(UnrecordedError, match="once more"):
        same.input(question("who"))
    first, second = (RecordedModelTurn(agent="a", responses=({"n": n},), author=WRITTEN) for n in (1, 2))
    with pytest.raises(AmbiguousError, match=r"'case-0' and 'case-1' .*differently"):
        session(case({"models": [first]}), case({"models": [second]})).model_turn("a", ())
    assert session(case({"models": [first]}), case({"models": [first]})).model_turn("a", ()) == first
    printed, silent = (
        RecordedCode(agent="a", code="1", result={"stdout": n}, author=WRITTEN) for n in ("1", "")
    )
    with pytest.raises(AmbiguousError):
        session(case({"code": [printed]}), case({"code": [silent]})).code("a", (), "1")
    assert session(case({"code": [printed]})).code("a", (), "1") == printed


def test_one_of_the_cases_may_hold_what_is_asked() -> None:
    """Then it is that one: of a question as of a call."""
    found = session(case({}), case({"inputs": [asks("who", 1)]}))
    assert found.input(question("who")).recorded.response == {"result": 1}
    assert found.eval_ids == ("case-1",)


def test_an_agent_runs_by_itself_or_where_that_was_recorded() -> None:
    """What rules made of its answer is told with it; a session that no case fits lets nothing run."""
    known = {"agents": [ran("r")], "calls": [called("r", answer=7)]}
    runs, told = session(case(known)).agent_runs(ASKED)
    assert runs
    assert told is not None
    assert told.outcome == Returned(value=7)
    assert session(case(known)).agent_runs(ASKED, by_itself=False)[0]
    assert session(case({})).agent_runs(ASKED) == (True, None)
    assert session(case({})).agent_runs(ASKED, by_itself=False) == (False, None)
    assert session(case({"calls": [called("c")]})).agent_runs(ASKED) == (False, None)
    assert SessionFollowed({}).agent_runs(ASKED) == (False, None)


def test_a_confirmation_is_that_of_the_first_case_that_has_one() -> None:
    """Also where another that fits has none."""
    rejected = RejectedCall(tool="a", arguments={"x": 1}, confirmed=YES)
    assert session(case({}), case({"rejected": [rejected]})).confirmation(ASKED) == YES
    assert session(case({})).confirmation(ASKED) is None


@pytest.mark.parametrize(
    ("queries", "heard", "words"),
    [
        ([], ["go"], "nothing is recorded"),
        (["a"], ["go"], "'go' in turn 1; recorded: 'a' (case-0)"),
        (["a", "b", "c"], ["go"], "turn 1; recorded: 'a' (case-0), 'b' (case-1), 'c' (case-2)"),
        (["a", "b", "c", "d", "e"], ["go"], "'c' (case-2) and 2 more"),
        (["a"], ["a", "go"], "'go' in turn 2"),
    ],
)
def test_what_no_case_begins_with_is_told_beside_what_they_do(
    queries: list[str], heard: list[str], words: str
) -> None:
    """Up to three of them; nothing where there is no such turn."""
    found = SessionFollowed({f"case-{n}": case_of((query, [])) for n, query in enumerate(queries)})
    for each in heard:
        found.hear(said(each))
    for ask in (
        lambda: found.call(ASKED),
        lambda: found.input(question("who")),
        lambda: found.model_turn("a", ()),
    ):
        with pytest.raises(UnrecordedError) as caught:
            ask()
        assert str(caught.value).endswith(words)


def asked(call: RecordedCall) -> IncomingCall:
    """Ask what was recorded."""
    return IncomingCall(call.tool, call.arguments, call.within)


drawn_calls = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.sampled_from([(), ("inner",)])), max_size=8
).map(lambda found: [made(tool, x, n, *within) for n, (tool, x, within) in enumerate(found)])


@given(drawn_calls, st.randoms(use_true_random=False))
def test_calls_in_any_order_use_up_each_answer_once(calls: list[RecordedCall], random: Any) -> None:
    """Equal calls get their answers in the recorded order; all together, each answer is given once, and then none is left."""
    followed = SessionFollowed({"one": case_of(("go", calls))})
    followed.hear(said("go"))
    order = [*calls]
    random.shuffle(order)
    given_answers = [followed.call(asked(call)) for call in order]
    assert sorted(answer.outcome.model_dump_json() for answer in given_answers) == sorted(
        call.outcome.model_dump_json() for call in calls
    )
    for call in calls:
        alike = [each for each in given_answers if asked(each) == asked(call)]
        assert alike == [each for each in calls if asked(each) == asked(call)]
        with pytest.raises(UnrecordedError, match="once more"):
            followed.call(asked(call))


def is_told_apart(followed: SessionFollowed, what: IncomingCall) -> bool:
    """Return whether the cases that fit answer a call alike; where they don't, see that nobody is answered."""
    found = [call.outcome for case in followed._fitting if (call := case.finds(what)) is not None]
    if all(outcome == found[0] for outcome in found):
        return True
    with pytest.raises(AmbiguousError, match="responses"):
        followed.call(what)
    return False


@given(st.lists(drawn_calls, min_size=2, max_size=4), st.integers(0, 3))
def test_among_cases_that_begin_alike_a_session_never_gets_a_strangers_answer(
    all_calls: list[list[RecordedCall]], which: int
) -> None:
    """What is given is what its own case holds; or it is said that the cases cannot be told apart."""
    cases = {
        f"case-{number}": case_of(("go", calls), (f"more {number}", [made("a", 9, number)]))
        for number, calls in enumerate(all_calls)
    }
    own = f"case-{which % len(cases)}"
    followed = SessionFollowed(cases)
    followed.hear(said("go"))
    for call in cases[own].turns[0].calls:
        if not is_told_apart(followed, asked(call)):
            return
        assert followed.call(asked(call)).outcome == call.outcome
        assert own in followed.eval_ids
    followed.hear(said(f"more {which % len(cases)}"))
    assert followed.eval_ids == (own,)
    assert followed.call(IncomingCall("a", {"x": 9})).outcome == Returned(value=which % len(cases))


def test_a_call_that_differs_in_what_may_differ_gets_the_answer_of_one_that_was_not_asked_yet() -> None:
    """One that is as it was recorded has its own, whichever comes first; and there are no more answers than were recorded."""
    anything = Ignore(tool="a", path="x")
    case = case_of(
        ("go", [made("a", 1, "one"), made("a", 2, "two"), made("b", 1, "b")]), tolerances=(anything,)
    )
    followed = SessionFollowed({"one": case})
    followed.hear(said("go"))
    order = [IncomingCall("a", {"x": 2}), IncomingCall("a", {"x": 7})]
    assert [followed.call(each).outcome for each in order] == [Returned(value="two"), Returned(value="one")]
    with pytest.raises(UnrecordedError, match=" 2 times "):
        followed.call(IncomingCall("a", {"x": 1}))
    with pytest.raises(UnrecordedError):
        followed.call(IncomingCall("b", {"x": 2}))
