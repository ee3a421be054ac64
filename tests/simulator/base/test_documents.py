"""Texts are read in C, in bounded time; what is wrong is named with its line and column. JSON values have one written form, and copies that share nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import IntEnum, StrEnum
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue, ValidationError

from evalset.errors import ScenarioError
from evalset.eval_config.config_edits import ConfigError
from evalset.eval_config.config_edits import read_document as read_config
from evalset.golden_trace.scenarios import read_scenarios
from simulator.base import documents
from simulator.base.documents import DocumentError, Located, line_of, read_document, write_yaml
from simulator.base.json_values import Json, JsonObject, NotJsonError, canonical, copied, digest, same, taken
from simulator.environment.recordings import RecordingError, read_recording
from simulator.environment.world.entities import TablesError, read_tables
from simulator.journal import Journal, JournalError
from simulator.scripts import ScriptError, read_script
from simulator.store import StoreError, read_session
from tests.simulator.base.drawn_json import nested, places
from tests.simulator.base.rows import for_each

MANY: JsonValue = {
    "turns": [{"say": f"hello {number}", "more": [1, 2.5, True, None]} for number in range(600)]
}

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = nested(st.none() | st.booleans() | NUMBERS | st.text(max_size=8), st.text(max_size=8), most=10)


@given(JSON)
def test_both_forms_say_the_same(value: Any) -> None:
    """JSON and YAML of a value are read as that value."""
    assert read_document(json.dumps(value)) == value
    assert read_document(write_yaml(value)) == value


def test_nothing_is_read_by_python_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a large YAML, nor a large JSON with one thing wrong, nor where something stands. Patched: PyYAML's own scanner."""
    monkeypatch.setattr(yaml.scanner.Scanner, "fetch_more_tokens", None)
    text, yaml_form = json.dumps(MANY, indent=1), write_yaml(MANY)
    assert read_document(yaml_form) == MANY
    with pytest.raises(DocumentError, match=r"invalid JSON: Expecting .* at line \d+, column \d+"):
        read_document(text[:-10] + "}" + text[-10:])
    assert line_of(text, ("turns", 599, "say")) == text[: text.index("hello 599")].count("\n") + 1
    assert Located(yaml_form).line(("turns", 599, "more", 1)) == yaml_form.count("\n") - 2


@for_each(
    ("text", "words"),
    [
        ("a: &x [1]\nb: [*x, *x]", "aliases .*line 2, column 5"),
        ("a: &x {b: 1}\n*x : 1", "aliases .*line 2, column 1"),
        ("[" * 100_000, "too deeply .*line 1, column"),
        ("- " * 100_000, "too deeply.*line 1"),
        ("!!map {a: " * 100_000, "too deeply.*line 1, column"),
        ('{"a":' * 100_000, "too deeply"),
        ("[" * 220 + "]" * 220, "200 levels"),
        ("[" * 900 + "]" * 900, "too deeply .*line 1, column 241"),
        ("a: 1\na: 2", "'a' appears twice .*line 2, column 1"),
        ("1: 2", "strings.*line 1, column 1"),
        (f"x: {'9' * 5_000}", "5,000 digits.*4,000.*line 1, column 4"),
        (f"[1,\n {'9' * 5_000}]", "5,000 digits.*line 2, column 2"),
        ('{"a": NaN}', "NaN .*line 1, column 7"),
        ("a: !!binary aGk=", "'tag:yaml.org,2002:binary'.*line 1, column 4"),
        ("a: !!python/object/apply:os.system ['true']", "os.system'.*line 1, column 4"),
        ("a: !include other.yaml", "'!include'.*line 1, column 4"),
        ("- &a {say: hi}\n- *a", "aliases.*line 2, column 3"),
        ("a: !!int x", "'x' .*int.*line 1, column 4"),
        ("a: !!bool x", "'x' .*bool.*line 1, column 4"),
        ("--- 1\n--- 2", "document.*line 2, column 1"),
        ('a: "\ud800"', "surrogate.*line 1, column 5"),
        ("a: 'x", "end of stream"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(text: str, words: str) -> None:
    """Bombs, numbers without end, names twice and what JSON cannot say: each in a moment, with line and column."""
    with pytest.raises(DocumentError, match=words):
        read_document(text)


def test_yaml_of_any_size_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words say what to do. Patched, as a text of that size takes a while to make."""
    monkeypatch.setattr(documents, "MOST_CHARACTERS", 100)
    with pytest.raises(DocumentError, match=r"101 characters.*\b100\b.*JSON"):
        read_document("a" * 101)
    assert read_document(json.dumps(["a" * 101])) == ["a" * 101]


@given(JSON)
def test_each_place_has_its_line(value: Any) -> None:
    """In JSON as the standard library writes it, the line of a place is that of the value, or of its name."""
    text = json.dumps({"x": value}, indent=1)
    located, lines = Located(text), text.split("\n")
    for place in places(value, ("x",)):
        line, name = located.line(place), place[-1]
        assert line is not None
        assert json.dumps(name) in lines[line - 1] if isinstance(name, str) else lines[line - 1].strip()


def test_a_place_in_the_short_form_of_yaml_has_its_line() -> None:
    """It looks like JSON, and its names need no quotes."""
    assert line_of("{a: 1,\n b: [2,\n 3]}", ("b", 1)) == 3


READERS: tuple[tuple[Callable[[str], object], type[ValueError]], ...] = (
    (Journal.from_json, JournalError),
    (read_session, StoreError),
    (read_recording, RecordingError),
    (read_tables, TablesError),
    (read_scenarios, ScenarioError),
    (read_config, ConfigError),
    (read_script, ScriptError),
)


@for_each(("read", "kind"), READERS)
def test_a_number_of_any_length_is_an_error_and_no_traceback(
    read: Callable[[str], object], kind: type[ValueError]
) -> None:
    """Python reads integers up to a number of digits, and a depth; a text with more is refused wherever texts are read."""
    with pytest.raises(kind, match=r"5,000 digits.*4,300"):
        read(f'{{"a": {"1" * 5_000}}}')
    with pytest.raises(kind, match="nested too deeply"):
        read("[" * 100_000)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
json_values = nested(st.none() | st.booleans() | NUMBERS | TEXTS, TEXTS, size=4, most=10)

NOT_JSON: list[Any] = [float("nan"), float("inf"), {1, 2}, b"bytes", object(), "half \ud800", {"k\udfff": 1}]


class Word(StrEnum):
    """A word that is no plain one."""

    ONE = "one"


class Number(IntEnum):
    """A number that is no plain one."""

    ONE = 1


class Text(str):
    """A text that is no plain one."""

    __slots__ = ()


class Words(dict[str, int]):
    """A dict that is no plain one."""


class Holder(BaseModel):
    """Holds JSON in its fields."""

    value: Json = None
    fields: JsonObject = {}


@given(json_values)
def test_a_copy_is_equal_and_shares_nothing(value: Any) -> None:
    """Copies compare equal, have one canonical form, and lists and dicts are new ones."""
    copy = copied(value)
    assert copy == value
    assert same(copy, value)
    assert canonical(copy) == canonical(value)
    if isinstance(value, (list, dict)):
        assert copy is not value


_words = st.dictionaries(st.text(max_size=3), st.none() | st.booleans() | st.integers() | st.text(max_size=3))


@given(_words)
def test_a_dict_of_words_and_numbers_is_copied_as_json_would(value: dict[str, Any]) -> None:
    """The quick way takes nothing that writing and reading would not take, and changes nothing that they would not."""
    try:
        written = json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        with pytest.raises(NotJsonError):
            copied(value)
        return
    copy = copied(value)
    assert copy is not value
    assert repr(copy) == repr(json.loads(written)) == repr(value)


@for_each("value", [{1: "a"}, {"a": Word.ONE}, {"a": Number.ONE}, {"a": Text("t")}, Words(a=1)])
def test_what_only_looks_like_a_word_becomes_one(value: Any) -> None:
    """Keys that are no text, and values of classes of their own, come back as JSON has them."""
    copy = copied(value)
    assert type(copy) is dict
    assert {type(key) for key in copy} == {str}
    assert all(type(item) in {str, int} for item in copy.values())


@given(st.dictionaries(st.text(max_size=3), st.integers(), min_size=2))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    """A dict that was filled backwards has the same written form and the same fingerprint."""
    backwards = dict(reversed(value.items()))
    assert canonical(backwards) == canonical(value)
    assert digest(canonical(backwards)) == digest(canonical(value))


@pytest.mark.parametrize("value", NOT_JSON, ids=lambda value: type(value).__name__)
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    """No copy, and no field of a journal, takes what could not be stored; the text says why."""
    with pytest.raises(NotJsonError, match="a JSON value"):
        copied([value])
    with pytest.raises(ValidationError, match="a JSON value"):
        Holder(value=value)
    with pytest.raises(ValidationError, match="a JSON value"):
        Holder(fields={"deep": {"er": value}})


def test_true_is_not_one_but_one_is_one() -> None:
    """Comparing follows JSON: numbers by value, booleans apart, lists and dicts by their members."""
    assert same({"a": [1, 2.0]}, {"a": [1.0, 2]})
    assert not same({"a": [True]}, {"a": [1]})
    assert not same([1], [1, 1])


def test_fingerprints_tell_texts_from_their_joins() -> None:
    """Two texts are not one long text."""
    assert digest("ab", "c") != digest("a", "bc")
    assert len(digest("x")) == 16


def deep(levels: int) -> Any:
    """Make dicts and lists in each other."""
    value: Any = 1
    for level in range(levels):
        value = {"in": value} if level % 2 else [value]
    return value


@for_each("work", [copied, canonical, taken])
def test_what_is_too_deep_for_a_journal_is_refused_in_words(work: Any) -> None:
    """Thousands of levels are no JSON value for whoever copies or writes them, and no recursion error.

    From outside 200 are taken, and no more: pydantic could not write it with more around it.
    """
    with pytest.raises(NotJsonError, match="200 levels"):
        work(deep(3000))
    with pytest.raises(ValidationError, match="200 levels"):
        Holder(value=deep(3000))
    assert Holder(value=taken(deep(200))).model_dump_json()
    with pytest.raises(NotJsonError, match="200 levels"):
        taken(deep(201))
