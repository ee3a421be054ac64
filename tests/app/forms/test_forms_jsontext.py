"""JSON that a person typed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.forms.typed_json import TypedJsonError, parse_json, parse_object, show_json, write_json
from tests.simulator.environment.drawn_json import json_values

_JSON = json_values(names=st.text(), max_leaves=8)


@given(_JSON)
def test_what_is_written_is_read_back(value: Any) -> None:
    """Writing a value for editing and reading it again gives the same value."""
    assert parse_json(write_json(value)) == value
    assert json.loads(show_json(value)) == value


@given(st.text('{}[]",:0123456789.eE+-truefalsnNaIity\\u \n', max_size=30))
def test_any_text_is_json_or_a_clear_error(text: str) -> None:
    """No text raises anything but the error that says where, and the place is inside the text."""
    problem: TypedJsonError | None = None
    try:
        json.dumps(parse_json(text), allow_nan=False)
    except TypedJsonError as error:
        problem = error
    assert problem is None or (1 <= problem.line <= text.count("\n") + 1 and problem.column >= 1)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", (1, 1), "this is empty"),
        ('{"a": 1,\n "b": }', (2, 7), "expected a value"),
        ("{'a': 1}", (1, 2), "double quotes"),
        ('{"a": True}', (1, 7), "in lowercase"),
        ("{} {}", (1, 4), "end of"),
        ("hello", (1, 1), "double quotes"),
        ('{"a": 1,\n"b": NaN}', (2, 6), "cannot represent"),
        ('{"NaN": -Infinity}', (1, 9), "cannot represent"),
        ('{"a": 1e999}', (1, 7), "too large"),
        ('"\\ud800"', (1, 1), "surrogate"),
        ("[" * 100_000, (1, 241), "too deeply"),
        ("1" * 5_000, (1, 1), "a number has 5,000 digits"),
        ('{"a": 1, "a": 2}', (1, 10), "duplicate key"),
        ('{"a": [{"b": 1}, {"b": 1}],\n "c": {"b": "a,b", "\\u0062": {}}}', (2, 20), "duplicate key"),
        ('{"a": "a", "b\\"": ["a"], "a": 2', (1, 32), "expected a comma"),
        ('{"a": "a", "b\\"": ["a", "a"],\n"a": 2}', (2, 1), "duplicate key"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_column(text: str, place: tuple[int, int], words: str) -> None:
    """The error says what is wrong in words, and where; it never repeats the text itself."""
    with pytest.raises(TypedJsonError, match=words) as raised:
        parse_json(text)
    assert (raised.value.line, raised.value.column) == place


def test_an_object_is_asked_for_where_one_is_needed() -> None:
    """An empty text is an empty object; a list is refused."""
    assert parse_object(" ") == {}
    assert parse_object('{"a": 1}') == {"a": 1}
    with pytest.raises(TypedJsonError, match="JSON object"):
        parse_object("[]")


def test_half_characters_can_be_shown() -> None:
    """A lone surrogate in a draft can be shown and sent to a browser, which takes UTF-8 only."""
    assert b"\\ud800" in write_json({"a": "\ud800"}).encode("utf-8")
    assert show_json("\ud800").encode("utf-8") == b'"?"'


@given(_JSON, st.sampled_from("\u200e\u200f\u202a\u202e\u2066\u2069"))
def test_a_character_that_turns_the_direction_is_written_as_an_escape(value: Any, char: str) -> None:
    """What is shown or edited does not turn what follows, and is read back as the same value."""
    turned: Any = {f"a\\{char}": [f"\\{char}b", value]}
    for text in (write_json(turned), show_json(turned)):
        assert char not in text
        assert parse_json(text) == turned


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), _JSON)
def test_an_object_with_a_key_twice_is_refused_wherever_it_stands(keys: list[str], value: Any) -> None:
    """Each key of an object stands once, or the text is no value; so no part of it is dropped in silence."""
    pairs = ", ".join(f'"{key}": {write_json(value)}' for key in keys)
    text = f'[1, {{"a": {{{pairs}}}}}]'
    if len(set(keys)) == len(keys):
        assert parse_json(text) == [1, {"a": dict.fromkeys(keys, value)}]
    else:
        with pytest.raises(TypedJsonError, match="duplicate key"):
            parse_json(text)
