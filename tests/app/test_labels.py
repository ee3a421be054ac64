"""Labels show any text literally, whatever Markdown would make of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.labels import safe_label

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
    """Give the text without what no font draws."""
    return "".join(char for char in text if char.isspace() or (char.isprintable() and char != JOINER))


@given(HOSTILE)
def test_no_mark_of_markdown_is_left_bare(text: str) -> None:
    """Whatever starts emphasis, code, HTML, a formula or a directive stands behind a backslash."""
    label = safe_label(text, 200).replace("\\\\", "")
    assert not re.search(r"(?<!\\)[`*<>#|~$&!{}:]", label)
    assert not re.search(r"(?<![\\a-zA-Z0-9])_|(?<!\\)_(?![a-zA-Z0-9])", label)


@given(HOSTILE)
def test_no_link_image_or_address_can_form(text: str) -> None:
    """No bracket touches what follows it, no colon or at sign touches a name, no www touches its dot."""
    label = safe_label(text, 200)
    assert not re.search(r"[\[\]:@](?!\u2060)", label)
    assert not re.search(r"(?i)www\.", label)


@pytest.mark.parametrize("text", ["1. first", "12) x", "+ x"])
def test_a_leading_list_mark_is_escaped(text: str) -> None:
    """A label that starts like a list item is shown as it is."""
    assert re.match(r"(\d+)?\\[.)+]", safe_label(text))


@pytest.mark.parametrize("name", ["get_order", "get_order_2", "server.tool", "a-b", "get order 2"])
def test_an_ordinary_name_needs_no_escape(name: str) -> None:
    """Names as tools have them stay as they are; so they can be found, copied and read out."""
    assert safe_label(name) == name


@pytest.mark.parametrize("text", ["", "  ", "\u200b\u202e", "\n"])
def test_an_empty_text_becomes_a_dash(text: str) -> None:
    """A label is never empty, not even for a name of invisible characters."""
    assert safe_label(text) == "\u2013"


@given(st.text(min_size=30, max_size=300), st.integers(min_value=5, max_value=25))
def test_a_long_text_is_cut(text: str, limit: int) -> None:
    """A label holds at most the given number of visible characters."""
    assert len(read(safe_label(text, limit))) <= limit
