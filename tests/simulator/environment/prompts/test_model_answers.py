"""Proves how the answer of a model is read: what counts as the JSON that was asked for, and what is a problem."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from simulator.environment.prompts.json_answers import (
    MOST_CHARACTERS,
    AnswerSchema,
    answer_schema,
    read_answer,
)
from tests.simulator.base.rows import for_each
from tests.simulator.environment.drawn_json import json_values

ORDER = answer_schema(
    {
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "total": {"type": "number"}},
        "required": ["order_id"],
    }
)
GOOD = '{"order_id": "A-1", "total": 3}'
VALUE = {"order_id": "A-1", "total": 3}


@for_each(
    "text",
    [
        GOOD,
        f"\n\n  {GOOD}\n",
        f"\ufeff{GOOD}",
        f"```json\n{GOOD}\n```",
        f"\n\n```json\n{GOOD}\n```\n",
        f"```\n{GOOD}```",
        f"```JSON\r\n{GOOD}\r\n```",
        f"Here is the answer:\n\n```json\n{GOOD}\n```\nI hope that it helps {{a bit}}.",
        f"Sure! The tool says {GOOD} as it should.",
        f"<think>A {{plan}} and a draft {{}} first.</think>\n{GOOD}",
        f"{GOOD}\n{GOOD}",
        f'First I thought of {{"total": "?"}}, but it is {GOOD}.',
    ],
)
def test_the_one_object_that_is_meant_is_found(text: str) -> None:
    """Fences, newlines before them, prose, thoughts and repetition around one fitting object do not matter."""
    read = read_answer(text, ORDER)
    assert read.problems == ()
    assert read.value == VALUE


@for_each(
    ("text", "says"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("<think>Nothing else.</think>", "empty"),
        ("I cannot answer this.", "prose"),
        ('{"order_id": "A-1",}', "line 1, column 20"),
        ('{"order_id": "A-1" /* id */}', "not valid JSON"),
        ("{'order_id': 'A-1'}", "not valid JSON"),
        ('{"order_id": "A-1", "total": NaN}', "NaN "),
        ('{"order_id": "A-1", "total": 1e999}', "a JSON value"),
        ('{"order_id": "\\ud800"}', "a JSON value"),
        ('{"order": {"order_id": "A-1"},}', "line 1, column 31"),
        ('Here: {"order": {"order_id": "A-1"},}', "not valid JSON"),
        ('{"order": {"order_id": "A-1"}, "tot', "cut off"),
        ('{"order_id": "A-1", "tot', "cut off"),
        ('{"order_id": "A-1", "total": 3', "cut off"),
        ('```json\n{"order_id": "A-1", "lines": [', "cut off"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 300 + "1" + "}" * 300, "nested more than"),
        ('{"order_id": "A-1"} or {"order_id": "A-2"}', "2 JSON objects"),
        ('{"total": 3}', "$: 'order_id' "),
        ('{"order_id": 7}', "$.order_id: 7 "),
        ("[1]", "$: [1] "),
        ("null", "$: None "),
        (" " * MOST_CHARACTERS + GOOD, "characters long"),
    ],
)
def test_what_is_not_the_answer_is_a_problem_in_words(text: str, says: str) -> None:
    """Nothing is mended silently: each problem says what is wrong, and there is no value."""
    read = read_answer(text, ORDER)
    assert says in " ".join(read.problems)
    assert read.value is None


def test_many_problems_are_told_in_part() -> None:
    """A list of wrong values does not make a page of problems."""
    schema = answer_schema({"type": "object", "additionalProperties": {"type": "string"}})
    read = read_answer(json.dumps({str(number): number for number in range(40)}), schema)
    assert len(read.problems) == 13
    assert read.problems[-1] == "and 28 more"


@for_each("text", ['{"result": ["a"]}', '["a"]', '```json\n{"result": ["a"]}\n```'])
def test_a_value_that_is_no_object_comes_out_of_its_object(text: str) -> None:
    """A tool that returns a list is asked for as a field of an object; a bare list is taken too."""
    schema = answer_schema({"type": "array", "items": {"type": "string"}})
    assert schema.wrapped
    assert read_answer(text, schema).value == ["a"]


def test_a_schema_that_is_not_known_takes_any_json() -> None:
    """Without a schema the answer is whatever JSON was said."""
    assert read_answer("[1, 2]", AnswerSchema()).value == [1, 2]
    assert read_answer('so: {"a": 1}', AnswerSchema()).value == {"a": 1}
    assert "2 JSON objects" in read_answer('{"a": 1} {"a": 2}', AnswerSchema()).problems[0]


@given(st.text(max_size=200) | st.text(alphabet='{}[]"\\,:`\n json1', max_size=120))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    """Whatever a model says is an answer or a problem."""
    read = read_answer(text, ORDER)
    assert bool(read.problems) == (read.value is None)


@given(st.dictionaries(st.text(max_size=5), json_values(), max_size=4), st.booleans())
def test_each_object_is_read_as_it_was_written(value: dict[str, Any], fenced: bool) -> None:
    """An object comes back equal, in a fence too."""
    text = json.dumps(value)
    assert read_answer(f"\n```json\n{text}\n```" if fenced else text, AnswerSchema()).value == value


def test_an_error_is_an_answer_where_the_tool_may_fail() -> None:
    """It needs not fit the schema, wrapped or not; where only one object may be meant, one that fits comes first."""
    error = {"error_code": 404, "error_message": "no such order"}
    failing = ORDER.model_copy(update={"may_fail": True})
    assert read_answer(json.dumps(error), failing).value == error
    assert read_answer(json.dumps(error), ORDER).problems
    listed = answer_schema({"type": "array", "items": {"type": "string"}}, may_fail=True)
    assert read_answer(json.dumps({"result": error}), listed).value == error
    assert read_answer(json.dumps(error), listed).value == error
    assert read_answer(f"Sorry: {json.dumps(error)}", failing).value == error
    assert read_answer('{"result": [1]}', listed).problems
