"""Tests of JSON values: one written form, copies that share nothing, and clear refusals."""

from __future__ import annotations

import json
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from simulator.base.json_values import Json, JsonObject, NotJsonError, canonical, copied, digest, same, taken
from tests.simulator.base.drawn_json import nested
from tests.simulator.base.rows import for_each

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
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
