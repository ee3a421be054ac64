"""Follows sessions along recorded cases, without any agent: whatever the order, each call gets an answer of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalset.recorded.recording import Author, RecordedCall, RecordedCase, RecordedTurn
from evalset.recorded.tolerances import Ignore
from evalset.replay.case_following import AmbiguousError, IncomingCall, SessionFollowed, UnrecordedError
from simulator.facts import Returned

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


def test_an_answer_to_an_open_call_begins_no_turn() -> None:
    """What takes long is answered in a message of the user, and the turn goes on."""
    followed = SessionFollowed({"one": case_of(("go", [made("a", 1, 2)]), ("next", []))})
    followed.hear(said("go"))
    followed.hear(
        {"role": "user", "parts": [{"function_response": {"id": "1", "name": "b", "response": {}}}]}
    )
    assert followed.turn == 0
    assert followed.call(IncomingCall("a", {"x": 1})).outcome == Returned(value=2)
    followed.hear(said("next"))
    assert followed.turn == 1


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
