"""What is shown and downloaded is what ADK's own loader reads back, and a difference is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_case import EvalCase, IntermediateData, Invocation, SessionInput
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from evalset import ReadBackError, case_document, case_json, read_back
from tests.evalset.files.examples import a_case
from tests.evalset.files.formatting import TEXTS, VALUES

OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=3)


@given(text=TEXTS, arguments=OBJECTS, response=OBJECTS, state=OBJECTS, data=st.binary(max_size=9))
def test_any_case_is_read_back_equal(
    *, text: str, arguments: dict[str, Any], response: dict[str, Any], state: dict[str, Any], data: bytes
) -> None:
    """Arguments, responses and states of any JSON, nulls and numbers' types included, and files as bytes."""
    picture = types.Part(inline_data=types.Blob(data=data, mime_type="image/png"))
    turn = Invocation(
        user_content=types.Content(role="user", parts=[types.Part(text=text), picture]),
        final_response=types.Content(role="model", parts=[types.Part(text=text, thought_signature=data)]),
        intermediate_data=IntermediateData(
            tool_uses=[types.FunctionCall(id="1", name="find", args=arguments)],
            tool_responses=[types.FunctionResponse(id="1", name="find", response=response)],
            intermediate_responses=[("desk", [types.Part(text=text)])],
        ),
    )
    session = SessionInput(app_name="desk", user_id="user", state=state)
    case = EvalCase(eval_id="one", conversation=[turn], session_input=session, final_session_state=state)
    read_back(case_document("Desk", case, at=1.5), case)
    alone = json.loads(case_json(case))
    assert alone["session_input"]["state"] == state
    assert json.loads(case_document("Desk", case, at=1.5))["eval_cases"] == [alone]
    assert alone == case.model_dump(mode="json", exclude_none=True)


def changed(document: str, old: str, new: str) -> str:
    """Change a text that is there."""
    assert old in document
    return document.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('"A-0"', '"A-1"', r"conversation\[0\].intermediate_data.tool_uses\[0\].args.order_id"),
        ('"count": 2', '"count": 2.0', r"tool_responses\[0\].response.lines\[0\].count"),
        ('"deep": null', '"deeper": null', r"tool_uses\[0\].args.deep"),
        ('"role": "user"', '"role": "model"', r"conversation\[0\].user_content.role"),
        ('"tier": null', '"tier": 1', r"session_input.state.tier"),
        ('"ß"', '"ss"', r"final_session_state.größe"),
        ('      "eval_id": "one"', '      "x": 1, "eval_id": "one"', r"\.?x"),
    ],
)
def test_a_difference_is_named_by_its_place(old: str, new: str, place: str) -> None:
    """One changed value, one changed type, one more or one missing field: the error says where."""
    document = changed(case_document("Desk", a_case("one"), at=1.0), old, new)
    with pytest.raises(ReadBackError, match=rf"'one' .*{place}"):
        read_back(document, a_case("one"))


WHOLE = json.loads(case_document("Desk", a_case("one"), at=1.0))


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ("{", "JsonSyntaxError"),
        (
            '{"eval_set_id": "s", "eval_cases": [{"eval_id": "one"}]}',
            "eval_cases.0\n.*Exactly one of conversation",
        ),
        ('{"eval_set_id": "s", "eval_cases": []}', " 0 cases .*'one'"),
        (json.dumps(WHOLE | {"eval_cases": WHOLE["eval_cases"] * 2}), "finds 2 cases"),
        (Path("/nowhere/set.evalset.json"), "No such file"),
    ],
)
def test_what_adk_cannot_read_is_told(document: str | Path, says: str) -> None:
    """Where ADK's loader fails, or does not find the case once, the error says so in a sentence."""
    with pytest.raises(ReadBackError, match=says):
        read_back(document, a_case("one"))
