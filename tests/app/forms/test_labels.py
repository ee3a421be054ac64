"""Labels show any text literally, whatever Markdown would make of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.forms.safe_labels import literal, safe_label

JOINER = "\u2060"
HOSTILE = st.text(alphabet=st.sampled_from("\\`*_[]<>#|~$&!{}:@()/.-+=1wxW \n\u202e"), max_size=40)


def read(label: str) -> str:
    """Read a label as Markdown does: escapes resolved, invisible joiners not seen."""
    return re.sub(r"\\(.)", r"\1", label).replace(JOINER, "")


@given(st.text(max_size=50) | HOSTILE)
def test_nothing_visible_is_lost(text: str) -> None:
    """A reader sees every printable character of a short text, its white space folded, and a dash for nothing."""
    assert read(safe_label(text, 200)) == (" ".join(read_plain(text).split()) or "\u2013")


def read_plain(text: str) -> str:
    """Return the text without what no font draws, and with what turns its direction as an escape."""
    return "".join(
        char for char in literal(text) if char.isspace() or (char.isprintable() and char != JOINER)
    )


@given(HOSTILE)
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
