"""What a docstring writes about single fields is read by narrow rules, and English is left alone."""

from __future__ import annotations

from simulator.environment.conventions.docstring_fields import (
    choices_in,
    default_in,
    examples_in,
    field_texts,
    shape_of_id,
)
from tests.simulator.base.rows import for_each

_GOOGLE = """Find orders.

    Args:
        order_id (str): The order's id,
            for instance "A-1001".
        status: one of 'open', 'closed'

    Returns:
        dict: What was found, with
        state: Either "ok" or "lost".

    Raises:
        status: never
"""


def test_each_field_has_the_lines_of_its_own_section() -> None:
    """A deeper line goes on with the one above; what another section says of the same name is not mixed in."""
    arguments = dict(field_texts(_GOOGLE))
    assert arguments == {
        "order_id": 'The order\'s id, for instance "A-1001".',
        "status": "one of 'open', 'closed'",
    }
    assert choices_in(field_texts(_GOOGLE, "response")["state"]) == ("ok", "lost")
    sphinx = dict(field_texts(":param str order_id: The id.\n:param n: How many.\n:returns: it"))
    assert sphinx == {"order_id": "The id.", "n": "How many."}


@for_each(
    ("text", "choices"),
    [
        ("status: one of 'open', 'closed'", ("open", "closed")),
        ("Either 'low' or 'high'.", ("low", "high")),
        ('Must be one of: "a", "b", or "c".', ("a", "b", "c")),
        ("The allowed values are `x` and `y`.", ("x", "y")),
        ("'json' | 'text'", ("json", "text")),
        ("Options: ['s', 'm', 'l']", ("s", "m", "l")),
        ("One of 'open'.", ()),
        ("Not one of 'x', 'y'.", ()),
        ("Either the user's name or the dog's name.", ()),
        ("The city, for instance 'Rome' or 'Oslo'.", ()),
        ("One of low, middle, high.", ()),
    ],
)
def test_choices_are_literals_behind_a_fixed_word(text: str, choices: tuple[str, ...]) -> None:
    """At least two in quotes; examples are no choices, and words without quotes are English."""
    assert choices_in(text) == choices


@for_each(
    ("text", "examples"),
    [
        ('The id, for instance "A-1001".', ("A-1001",)),
        ("The day (e.g. 2026-01-02).", ("2026-01-02",)),
        ("Cities such as 'Paris', 'Rome'.", ("Paris", "Rome")),
        ("For example the last one.", ()),
        ("Something like that.", ()),
    ],
)
def test_examples_are_literals_or_have_a_digit(text: str, examples: tuple[str, ...]) -> None:
    """What has neither quotes nor a digit is English."""
    assert examples_in(text) == examples


@for_each(
    ("text", "default"),
    [
        ("How many, defaults to 5.", 5),
        ('The unit. Default: "km".', "km"),
        ("Default is true", True),
        ("The default one.", None),
    ],
)
def test_a_default_is_a_literal(text: str, default: object) -> None:
    """Numbers, truth values and quoted texts."""
    assert default_in(text) == default


@for_each(
    ("example", "text", "found"),
    [
        ("A-1001", "Cancel order B-7, not XA-1001.", ["B-7"]),
        ("ORD-123", "ORD-9 and INV-9", ["ORD-9"]),
        ("2026-01-02", "On 2026-03-04 at 10-11-12", ["2026-03-04"]),
        ("12345", "98765 and 1234567", ["98765"]),
        ("ada@x.org", "Write to grace@example.com.", ["grace@example.com"]),
    ],
)
def test_an_example_says_what_other_ids_look_like(example: str, text: str, found: list[str]) -> None:
    """Words of letters stay as they are; whole ids are found alone."""
    shape = shape_of_id(example)
    assert shape is not None
    assert shape.findall(text) == found


@for_each("word", ["Rome", "12", "the order 12345"])
def test_what_is_no_id_has_no_shape(word: str) -> None:
    """Plain words, short numbers and several words."""
    assert shape_of_id(word) is None
