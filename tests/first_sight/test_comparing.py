"""Tests of how drafts are judged."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from simulator.base.python_source import parsed
from simulator.environment.evidence.sketch import Hole, Module
from tests.first_sight import measuring
from tests.first_sight.arguments import Function
from tests.first_sight.calls import declared
from tests.first_sight.choosing import folder_of
from tests.first_sight.comparing import Known, are_equal, have_same_shape, is_marked, leaves
from tests.first_sight.drafter import answer
from tests.simulator.base.rows import for_each


@for_each(
    ("draft", "real", "equal", "shape"),
    [
        ({"a": 1, "b": "x"}, {"b": "x", "a": 1}, True, True),
        ({"result": 3}, 3, True, True),
        ({"result": "a"}, {"result": "a"}, True, True),
        (1, 1.0, False, True),
        (True, 1, False, False),
        ({"a": [1, "x"]}, {"a": [2]}, False, True),
        ({"a": []}, {"a": [2]}, False, False),
        ({"a": None}, {"a": "x"}, False, False),
        ({"a": 1}, {"a": 1, "b": 1}, False, False),
    ],
)
def test_equal_and_of_the_same_shape(draft: JsonValue, real: JsonValue, equal: bool, shape: bool) -> None:
    """Types count to the letter for equal values; numbers are one type for shapes, and lists show their first element."""
    assert (are_equal(draft, real), have_same_shape(draft, real)) == (equal, shape)


def test_values_with_a_source_are_told_from_others() -> None:
    """Constants, arguments, words of the docstring and what the code decides are sources; other values are none."""
    known = Known(["Sunny in ", "Paris", 21, True], "Give the weather", [{"sum": 33, "open": Hole()}], None)
    draft: dict[str, Any] = {
        "text": "Sunny in Paris", "is": True, "temperature": 21, "sum": 33, "open": 99, "wind": "strong", "list": [21, 7], "not": False,
    }  # fmt: skip
    assert [path for path, one in leaves(draft) if not known.holds(path, one)] == [
        "$.open", "$.wind", "$.list[1]", "$.not",
    ]  # fmt: skip
    assert is_marked("$.list[1]", ["$.list"])
    assert not is_marked("$.lists", ["$.list"])


def test_fields_of_a_declared_schema_have_a_source() -> None:
    """What an output schema names may be drawn."""
    schema = {
        "type": "object",
        "properties": {"rows": {"type": "array", "items": {"properties": {"id": {"type": "string"}}}}},
    }
    known = Known([], "", [], schema)
    assert known.holds("$.rows[0].id", "X-1")
    assert not known.holds("$.rows[0].name", "X-1")


def test_a_tool_is_declared_from_its_text() -> None:
    """The declaration is ADK's own; types that the text does not explain stand for objects."""
    text = "def find(city: str, options: Options, tool_context: ToolContext, days: int = DAYS) -> dict:\n    '''Find it.'''\n    return open('x')\n"
    function: Any = parsed(text).body[0]
    found: Function = function
    declaration = declared(found)
    assert (declaration.name, declaration.description) == ("find", "Find it.")
    properties = declaration.parameters["properties"]
    assert isinstance(properties, dict)
    types = {name: one["type"] for name, one in properties.items() if isinstance(one, dict)}
    assert types == {"city": "string", "options": "object", "days": "integer"}


CODE = 'def add(first: int, second: int) -> dict:\n    return {"sum": first + second}\n'


def test_a_question_in_json_is_answered_with_what_the_code_returns() -> None:
    """The code comes as texts, as the version that drafts may be another one."""
    asked: dict[str, Any] = {
        "tool_name": "add",
        "description": "",
        "parameters": {},
        "response_schema": None,
        "arguments": {"first": 2, "second": 3},
        "seed": "1",
        "code": {"module": asdict(Module("tools.py", CODE)), "name": "add", "line": 1, "project": {}},
    }
    found = answer(asked)
    assert (found["value"], found["blanks"], found["is_guess"]) == ({"sum": 5}, [], False)


@pytest.mark.long
def test_a_checkout_that_is_missing_is_named_and_the_others_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each once; where none is there, nothing was measured."""
    tools = [
        {
            "repository": name,
            "commit": "",
            "path": "tools.py",
            "function": "add",
            "arguments": {"first": 1, "second": 2},
            "computes": True,
        }
        for name in ("a/there", "b/gone", "b/gone")
    ]
    (tmp_path / "tools.json").write_text(json.dumps({"tools": tools}))
    monkeypatch.setattr(measuring, "HOME", tmp_path)
    monkeypatch.setattr(sys, "argv", ["measuring", str(tmp_path)])
    with pytest.raises(SystemExit, match="nothing was measured"):
        measuring.main()
    checkout = folder_of(tmp_path, "a/there")
    checkout.mkdir()
    (checkout / "tools.py").write_text(CODE)
    capsys.readouterr()
    measuring.main()
    shown = capsys.readouterr()
    assert shown.err.count("b/gone has no checkout") == 1
    assert "a/there" not in shown.err
    assert shown.out.splitlines()[-1].split()[:2] == ["all", "1"]
