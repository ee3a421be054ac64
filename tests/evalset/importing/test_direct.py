"""A plain case is recorded without a session between: the result is the one that a session would give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_case import EvalCase
from hypothesis import given
from hypothesis import strategies as st

from evalset import import_cases
from evalset.importing import known_answers as module
from evalset.importing.known_answers import KnownAnswers, direct_recording, known_answers
from evalset.recorded.recording import lean
from tests.evalset.files.examples import a_case
from tests.evalset.importing.test_files import EVENTS, LISTED, NAMELESS, call_of, said, set_of, turn_of

FILES = Path(__file__).parents[2] / "conformance" / "files"


def by_a_session(case: EvalCase) -> KnownAnswers:
    """Record a case as it was always done."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "direct_recording", lambda *_, **__: None)
        return known_answers(case)


def is_direct(case: EvalCase) -> bool:
    """Return whether a case is recorded without a session."""
    found: list[bool] = []

    def noted(*args: Any, **names: Any) -> Any:
        recording = direct_recording(*args, **names)
        found.append(recording is not None)
        return recording

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "direct_recording", noted)
        known_answers(case)
    return found == [True]


def assert_same(case: EvalCase, expected: KnownAnswers) -> None:
    """Compare with what a session records, byte by byte, in the order of the keys."""
    found = known_answers(case)
    assert found == expected
    assert str(lean(found.environment)) == str(lean(expected.environment))


def case_of(*turns: dict[str, Any]) -> EvalCase:
    """Make a case."""
    return EvalCase.model_validate(set_of(*turns)["eval_cases"][0])


UNANSWERED = turn_of(call_of("A-1"), call_of("A-2", id="c2"))
PLAIN = {
    "listed": case_of(LISTED),
    "without ids": case_of(NAMELESS),
    "events": case_of(EVENTS),
    "turns": case_of(LISTED, {**LISTED, "creation_timestamp": 5.5}, NAMELESS),
    "unanswered": case_of(UNANSWERED, LISTED),
    "without tools": case_of(
        {
            "user_content": said("Hi", "user"),
            "final_response": said("Hello"),
            "intermediate_data": {"tool_uses": []},
        }
    ),
    "with a final state": a_case("one", turns=3),
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_cases_are_recorded_without_a_session(name: str) -> None:
    """Calls with and without ids and responses, in both forms of ADK's, over several turns."""
    assert is_direct(PLAIN[name])
    assert_same(PLAIN[name], by_a_session(PLAIN[name]))


@pytest.mark.parametrize("path", sorted(FILES.rglob("*.json")), ids=lambda path: path.name)
def test_the_files_of_users_give_the_same_recordings(path: Path) -> None:
    """All cases of all files that are kept as examples."""
    for case in import_cases(path).cases:
        assert_same(case, by_a_session(case))


texts = st.sampled_from(["", "Where?", "größe ü", " x\n"])
ids = st.sampled_from(["", None, "c1", "c2", "call", "call-import-1"])
names = st.sampled_from(
    ["find_order", "find_order", "refund", "transfer_to_agent", "adk_request_confirmation", ""]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
objects = st.dictionaries(st.sampled_from(["a", "b"]), values, max_size=2)
asked = st.fixed_dictionaries({"id": ids, "name": names, "args": objects})
answered = st.fixed_dictionaries({"id": ids, "name": names, "response": objects})
text_parts = st.fixed_dictionaries({"text": texts}, optional={"thought": st.booleans()})
parts = st.lists(
    text_parts
    | st.fixed_dictionaries({"function_call": asked})
    | st.fixed_dictionaries({"function_response": answered}),
    max_size=3,
)
queries = st.just(said("Hi", "user")) | st.fixed_dictionaries({"parts": parts})
finals = st.just(said("Yes")) | st.none() | st.fixed_dictionaries({"parts": parts})
listed = st.fixed_dictionaries(
    {"tool_uses": st.lists(asked, max_size=3), "tool_responses": st.lists(answered, max_size=3)}
)
told = st.fixed_dictionaries(
    {
        "invocation_events": st.lists(
            st.fixed_dictionaries(
                {
                    "author": st.sampled_from(["desk", "desk", "helper", "user", "no name", ""]),
                    "content": st.fixed_dictionaries({"parts": parts}),
                }
            ),
            max_size=4,
        )
    }
)
invocations = st.fixed_dictionaries(
    {"user_content": queries, "final_response": finals, "intermediate_data": st.none() | listed | told},
    optional={"creation_timestamp": st.sampled_from([0.0, 7.25, 1.7e9])},
)


inputs = st.none() | st.fixed_dictionaries(
    {"app_name": st.sampled_from(["desk", ""]), "user_id": st.sampled_from(["u", ""])},
    optional={"state": st.dictionaries(st.sampled_from(["a", "temp:b", "user:c"]), values, max_size=2)},
)


@given(
    st.lists(invocations, min_size=1, max_size=3), inputs, objects, st.sampled_from(["one", "at 10:30", ""])
)
def test_any_case_is_recorded_as_a_session_would_record_it(
    conversation: Any, session_input: Any, final_state: Any, eval_id: str
) -> None:
    """Whatever it holds: one that is not plain takes the session; an error that a session raises is raised."""
    case = EvalCase.model_validate(
        {
            "eval_id": eval_id,
            "conversation": conversation,
            "session_input": session_input,
            "final_session_state": final_state,
        }
    )
    try:
        expected = by_a_session(case)
    except Exception as error:  # noqa: BLE001 - any error is to be the same
        with pytest.raises(type(error)):
            known_answers(case)
        return
    assert_same(case, expected)
