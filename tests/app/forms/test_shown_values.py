"""A value is shown by names and tables, each of its values once; labels show any text literally; differences of two texts, and mistakes in JSON, are told as a person reads them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.forms.safe_labels import literal, safe_label
from app.forms.shown_values import MOST_FIELDS, ShownField, ShownTable, shown_parts, values_line
from app.forms.text_diff import MOST_LINES, difference, value_difference
from app.forms.typed_json import TypedJsonError, parse_json, parse_object, show_json, write_json
from tests.simulator.environment.drawn_json import json_values


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ("Hi", [("", "Hi")]),
        (45.0, [("", "45.0")]),
        ({"paid": True, "note": None, "tags": [], "by": ""}, [("paid", "yes"), *((n, None) for n in ("note", "tags", "by"))]),
        ({"to": {"city": "Oslo", "more": {}}}, [("to \u203a city", "Oslo"), ("to \u203a more", None)]),
        ({"tags": ["a", 2, False]}, [("tags", "a\n2\nno")]),
        ({"legs": [{"at": {"x": 1}}, 7]}, [("legs 1 \u203a at \u203a x", "1"), ("legs 2", "7")]),
        ([[1], [2]], [("1", "1"), ("2", "2")]),
    ],
)  # fmt: skip
def test_each_value_stands_beside_the_names_that_lead_to_it(
    value: Any, parts: list[tuple[str, str | None]]
) -> None:
    """Yes and no are words; what has no letters is said in our own words."""
    found = shown_parts(value)
    assert [
        (part.name, None if part.is_ours else part.text) for part in found if isinstance(part, ShownField)
    ] == parts
    assert len(found) == len(parts)


def test_flat_records_are_a_table_and_others_are_not() -> None:
    """A record may lack a column; one that holds a list has no cell for it."""
    table = ShownTable("items", [{"sku": "a", "left": "2"}, {"sku": "b", "left": ""}])
    value: Any = {"items": [{"sku": "a", "left": 2}, {"sku": "b"}]}
    assert shown_parts(value) == (table,)
    assert values_line({"id": 7, **value}) == "id=7, items=2 records"
    assert not any(isinstance(part, ShownTable) for part in shown_parts({"items": [{"sku": "a", "of": [1]}]}))


def test_a_large_or_deep_value_says_what_is_left_out() -> None:
    """No page has to draw a thousand fields, or a hundred levels."""
    *_, last = shown_parts({f"f{number}": number for number in range(MOST_FIELDS + 2)})
    assert isinstance(last, ShownField)
    assert last.is_ours
    assert last.text.startswith("2 ")
    deep: Any = 1
    for _ in range(100):
        deep = {"in": deep}
    (one,) = shown_parts(deep)
    assert isinstance(one, ShownField)
    assert one.text.startswith("{")


JOINER = "\u2060"
ODD = st.text(alphabet=st.sampled_from("\\`*_[]<>#|~$&!{}:@()/.-+=1wxW \n\u202e"), max_size=40)


def read(label: str) -> str:
    """Read a label as Markdown does: escapes resolved, invisible joiners not seen."""
    return re.sub(r"\\(.)", r"\1", label).replace(JOINER, "")


@given(st.text(max_size=50) | ODD)
def test_nothing_visible_is_lost(text: str) -> None:
    """A reader sees every printable character of a short text, its white space folded, and a dash for nothing."""
    assert read(safe_label(text, 200)) == (" ".join(read_plain(text).split()) or "\u2013")


def read_plain(text: str) -> str:
    """Return the text without what no font draws, and with what turns its direction as an escape."""
    return "".join(
        char for char in literal(text) if char.isspace() or (char.isprintable() and char != JOINER)
    )


@given(ODD)
def test_no_mark_of_markdown_is_left_bare(text: str) -> None:
    """Whatever starts emphasis, code, HTML, a formula or a directive stands behind a backslash.

    No bracket touches what follows it, no colon or at sign a name, and no www its dot: no link, image or address can form.
    """
    label = safe_label(text, 200).replace("\\\\", "")
    assert not re.search(r"(?<!\\)[`*<>#|~$&!{}:]", label)
    assert not re.search(r"(?<![\\a-zA-Z0-9])_|(?<!\\)_(?![a-zA-Z0-9])", label)
    assert not re.search(r"[\[\]:@](?!\u2060)|(?i:www\.)", safe_label(text, 200))


@pytest.mark.parametrize("name", ["get_order", "get_order_2", "server.tool", "a-b", "get order 2"])
def test_an_ordinary_name_needs_no_escape(name: str) -> None:
    """Names as tools have them stay as they are, so that they can be found and copied; a list mark is escaped, and nothing is a dash."""
    assert safe_label(name) == name
    for text in (f"1. {name}", f"12) {name}", f"+ {name}"):
        assert re.match(r"(\d+)?\\[.)+]", safe_label(text))
    assert {safe_label(text) for text in ("", "  ", "\u200b\u2060", "\n")} == {"\u2013"}


@given(st.text(min_size=30, max_size=300), st.integers(min_value=5, max_value=25))
def test_a_long_text_is_cut(text: str, limit: int) -> None:
    """A label holds at most the given number of visible characters."""
    assert len(read(safe_label(text, limit))) <= limit


@pytest.mark.parametrize(
    "char", [*"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"]
)
def test_a_character_that_turns_the_direction_is_shown_as_an_escape(char: str) -> None:
    """Nothing after it is turned, in a label and in a body, and a reader sees that it was there."""
    text = f"pay{char}gpj.exe"
    assert literal(text) == f"pay\\u{ord(char):04x}gpj.exe"
    assert read(safe_label(text)) == literal(text)


def test_a_body_keeps_all_else_as_it_is() -> None:
    """Letters of scripts that are written from the right, marks of Markdown and breaks of lines stay."""
    text = "\u05e9\u05dc\u05d5\u05dd **bold**\n\t\u0645\u0631\u062d\u0628\u0627"
    assert literal(text) == text


LINES = st.lists(st.sampled_from(["a", "b", "c", "  d", "- e", "+ f"]), max_size=30)


@given(LINES, LINES)
def test_what_is_shown_counts_and_signs_each_line(before: list[str], after: list[str]) -> None:
    """A line that went has a minus, one that came a plus, and no other has; nothing is shown where nothing differs."""
    found = difference("\n".join(before), "\n".join(after))
    shown = found.text.splitlines()
    assert sum(line.startswith("- ") for line in shown) == found.removed
    assert sum(line.startswith("+ ") for line in shown) == found.added
    assert len(before) - found.removed == len(after) - found.added
    assert bool(shown) == (before != after)


def test_only_what_is_near_a_change_is_shown() -> None:
    """Of a long text the unchanged parts are left out, and a mark stands for them."""
    before = [str(number) for number in range(40)]
    after = [*before[:20], "new", *before[20:]]
    assert difference("\n".join(before), "\n".join(after)).text.splitlines() == [
        "  \u2026",
        "  18",
        "  19",
        "+ new",
        "  20",
        "  21",
        "  \u2026",
    ]


def test_spacing_of_json_is_no_difference() -> None:
    """A draft that was only laid out anew is the draft; a text that is no JSON is compared as it is."""
    assert value_difference({"a": [1]}, '{"a":[1]}').text == ""
    assert "+ {oops" in value_difference({"a": 1}, "{oops").text


def test_a_very_long_text_is_compared_in_part() -> None:
    """It is said that the rest was not compared."""
    text = "\n".join(map(str, range(MOST_LINES + 5)))
    assert difference(text, "0\n" + text).is_cut


_JSON = json_values(names=st.text(), max_leaves=8)


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


@pytest.mark.long
@given(_JSON, st.sampled_from("\u200e\u200f\u202a\u202e\u2066\u2069"))
def test_a_character_that_turns_the_direction_is_written_as_an_escape(value: Any, char: str) -> None:
    """What is shown or edited does not turn what follows, and is read back as the same value."""
    turned: Any = {f"a\\{char}": [f"\\{char}b", value]}
    for text in (write_json(turned), show_json(turned)):
        assert char not in text
        assert parse_json(text) == turned
