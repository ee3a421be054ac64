"""An annotation that names no field does not take away what the tool's code says of the fields."""

from __future__ import annotations

import pytest

from simulator.base.json_values import JsonObject
from simulator.environment.drafts.draft_generator import Draft, DraftCall, drafted
from tests.simulator.environment.evidence.running import function_of

CODE = """
import requests

def logged(message: str) -> dict[str, str]:
    entry = {"timestamp": requests.get("now").text, "message": message}
    return {"status": "logged", "entry": entry, "total_entries": 1}

def news(topic: str) -> dict[str, list[dict[str, str]]]:
    return {"alpha": [{"title": requests.get(topic).text, "link": "https://a.example"}], "beta": requests.get(topic).json()}
"""
TEXTS: JsonObject = {"type": "object", "additionalProperties": {"type": "string"}}
LISTS: JsonObject = {"type": "object", "additionalProperties": {"type": "array", "items": TEXTS}}


def of(name: str, schema: JsonObject, **arguments: str) -> Draft:
    """Draft a call whose tool has an annotation and no schema that somebody set."""
    call = DraftCall(
        tool_name=name,
        arguments=arguments,
        code=function_of(CODE, name),
        state={},
        seed="s",
        response_schema=schema,
    )
    return drafted(call)


@pytest.mark.parametrize(
    ("draft", "said", "blank"),
    [
        (of("logged", TEXTS, message="hi"), {"status": "logged", "total_entries": 1}, "$.entry.timestamp"),
        (of("news", LISTS, topic="hi"), {}, "$.beta"),
    ],
    ids=["texts", "lists"],
)
def test_what_the_code_says_stays(draft: Draft, said: dict[str, object], blank: str) -> None:
    """With a mark where nobody knows the value, and a word on what does not fit the annotation."""
    assert isinstance(draft.value, dict)
    assert said.items() <= draft.value.items()
    assert blank in {one.path for one in draft.blanks}
    assert "$" not in {one.path for one in draft.blanks}
    assert draft.problems
