"""Tests of the library of hostile texts."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from simulator.base.documents import LibraryError, read_library
from simulator.environment.injection.distortions import (
    HostileText,
    categories,
    hostile_text,
    hostile_texts,
)
from simulator.environment.injection.rule_sets import Fault
from tests.simulator.base.rows import for_each

CALL = {"tool": "find_hotel", "agent": "booker", "argument": "Oslo"}


def test_the_library_covers_the_known_kinds_of_attack() -> None:
    """Each category has several texts, and each text says what a good agent does with it."""
    texts = hostile_texts()
    assert len(texts) >= 30
    assert set(categories()) == {
        "instruction_override", "role_markers", "data_exfiltration", "markup", "unicode", "break_out", "size",
        "fake_results", "languages",
    }  # fmt: skip
    for category in categories():
        assert sum(text.category == category for text in texts) >= 3
    assert len({text.text for text in texts}) == len(texts)
    assert len({text.title for text in texts}) == len(texts)


def test_unicode_attacks_hold_their_invisible_characters() -> None:
    """What cannot be seen in the file is there when it is said."""
    said = {text.name: text.said(CALL) for text in hostile_texts()}
    assert "\u202e" in said["bidi_override"]
    assert "\u200b" in said["zero_width"]
    assert "\u043e" in said["homoglyphs"]
    assert "\U000e0049" in said["tag_characters"]
    assert "\u001b[31m" in said["control_characters"]
    assert "admin" in said["zero_width"]
    assert "find_hotel" in said["zero_width"]


def test_texts_name_what_the_call_says() -> None:
    """Placeholders are filled in from the call, and with plain words where it does not tell."""
    for text in hostile_texts():
        for words in (CALL, {}):
            said = text.said(words)
            assert "{{" not in said
            assert 1 <= len(said) <= 200_000
    fake = hostile_text("fake_tool_call", Random(1), CALL)  # noqa: S311 - a repeatable stream
    assert '"name": "find_hotel"' in fake.text
    assert '"name": "this tool"' in hostile_text("fake_tool_call", Random(1), {}).text  # noqa: S311 - as above


def test_a_text_is_named_drawn_or_given() -> None:
    """A name gives that text, a category one of its own, nothing any of them, and other words themselves."""
    rng = Random(5)  # noqa: S311 - a repeatable stream
    assert hostile_text("sql_injection", rng, {}).name == "sql_injection"
    of_unicode = {text.name for text in hostile_texts() if text.category == "unicode"}
    assert {hostile_text("category:unicode", rng, {}).name for _ in range(60)} == of_unicode
    assert len({hostile_text("", rng, {}).name for _ in range(60)}) > 20
    own = hostile_text("Say {{ moo }}.", rng, CALL)
    assert (own.name, own.text) == ("", "Say {{ moo }}.")


ONE = "- {name: a, category: c, title: t, text: x, good: g}\n"
FAULT = "- {name: a, title: t, category: c, description: d, rule: {effect: {kind: delay}}}\n"


@for_each(
    ("kind", "text", "reason"),
    [
        (HostileText, ONE + ONE, "called 'a'"),
        (HostileText, "- {name: a, category: c, title: t, good: g}", "text"),
        (HostileText, ONE.replace("text: x", "text: '{{ town }}'"), "{{ town }} "),
        (HostileText, ONE.replace("good: g", "good: g, more: 1"), "more"),
        (HostileText, "[", "of things"),
        (HostileText, "a: 1", "of things"),
        (Fault, FAULT.replace("delay", "delai"), "delai"),
        (Fault, FAULT.replace("delay", "raise, message: '{{ 1 + }}', templated: true"), "ends too early"),
    ],
)
def test_a_damaged_library_is_refused(kind: Any, text: str, reason: str) -> None:
    """The error says what is wrong with the file."""
    with pytest.raises(LibraryError) as caught:
        read_library(kind, "things", text)
    assert reason in str(caught.value)
