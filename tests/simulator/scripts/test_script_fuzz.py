"""Whatever text is given as a script, it is read, or refused with a `ScriptError` that names the place."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.base import documents
from simulator.base.documents import write_yaml
from simulator.scripts import ScriptError, read_script
from simulator.scripts.script import FORMAT
from tests.simulator.base.drawn_json import nested, places

HEAD = f"format: {FORMAT}\nversion: 1\n"
GOOD: dict[str, Any] = {
    "format": FORMAT,
    "version": 1,
    "seed": "s",
    "initial_state": {"a": 1},
    "otherwise": "fail",
    "agent": {"desk": [{"text": "hi"}], "*": "model"},
    "players": {"*": "offline"},
    "rules": [{"rule_id": "r", "tool_name": "t", "effect": {"kind": "hang"}}],
    "environment": [{"tool": "t", "args": {"a": {"b": 1}}, "times": "any", "returns": [1, None]}],
    "turns": [
        {"say": "hi", "moves": [{"calls": [{"name": "t", "args": {}}]}, {"tool": "t", "raises": "ValueError: no"}]},
        {"confirm": True, "tool": "t", "before": [{"seat": "tool", "target": "t", "player": "real"}], "at": 1.5},
        {"reply": {"a": 1}, "ends": "failed", "moves": [{"prints": "x"}, {"transfer": "other"}]},
    ],
}  # fmt: skip

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
JSON = nested(LEAVES, st.text(max_size=8))


def tried(text: str) -> str:
    """Read a text; return what is said of it, or nothing where it is a script."""
    try:
        read_script(text)
    except ScriptError as error:
        return str(error) or "nothing is said"
    return ""


def changed(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """Return a document with another value at a place."""
    if not place:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = changed(copy[place[0]], place[1:], new)
    return copy


def test_the_good_one_is_read() -> None:
    """What the others are made from has nothing wrong with it, as JSON and as YAML."""
    assert tried(json.dumps(GOOD)) == ""
    assert tried(write_yaml(GOOD)) == ""


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but a `ScriptError` leaves the reader."""
    assert tried(text) not in {"", "nothing is said"}
    tried(HEAD + text)
    tried(HEAD + "turns:\n- say: " + text)


@given(st.sampled_from(places(GOOD)[1:]), JSON)
def test_a_wrong_value_anywhere_is_named_with_its_line_and_place(place: tuple[Any, ...], new: Any) -> None:
    """Any value at any place: it is read, or each line of the error says a line and where."""
    document = changed(GOOD, place, new)
    try:
        text = json.dumps(document, indent=1, allow_nan=False)
    except ValueError:
        text = json.dumps(document, indent=1)
    said = tried(text)
    for line in said.splitlines():
        assert line.startswith(("line ", "the text is ")) or " at line " in line, said


@given(st.data())
def test_a_damaged_file_is_read_or_refused(data: st.DataObject) -> None:
    """A file that was cut, or in which something was typed."""
    text = write_yaml(GOOD) if data.draw(st.booleans()) else json.dumps(GOOD, indent=1)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    said = tried(
        text[:start]
        + data.draw(st.text(alphabet="{}[]:,-&*!|>'\"#%@`\t\n\\ aé\x00\ud800", max_size=6))
        + text[end:]
    )
    assert said != "nothing is said"


def test_a_file_that_is_too_large_is_refused_before_it_is_looked_into(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its length is told, and the limit. Patched, as nothing else shows that nobody reads it."""

    def looks(text: str) -> None:
        raise AssertionError(len(text))

    monkeypatch.setattr(documents, "_read", looks)
    text = HEAD + "turns:\n" + "- say: hi\n" * 2_500_000
    said = tried(text)
    assert f"{len(text):,}" in said
    assert f"{documents.LIMITS['script']:,}" in said


def test_many_mistakes_are_told_in_few_lines() -> None:
    """A file with thousands of mistakes gives an error that a person can read: with a place, a field that is near, and a count."""
    said = tried(HEAD + "turns:\n" + "- sya: hi\n" * 1_000).splitlines()
    assert re.fullmatch(r"line 4: turns\.0\.sya: .*'say'.*", said[0])
    assert len(said) == 11
    assert re.search(r"990 more", said[-1])
