"""What a docstring writes about single fields is read by narrow rules, and English is left alone."""

from __future__ import annotations

from collections.abc import Callable

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
    ("read", "text", "found"),
    [
        (choices_in, "status: one of 'open', 'closed'", ("open", "closed")),
        (choices_in, "Either 'low' or 'high'.", ("low", "high")),
        (choices_in, 'Must be one of: "a", "b", or "c".', ("a", "b", "c")),
        (choices_in, "The allowed values are `x` and `y`.", ("x", "y")),
        (choices_in, "'json' | 'text'", ("json", "text")),
        (choices_in, "Options: ['s', 'm', 'l']", ("s", "m", "l")),
        (choices_in, "One of 'open'.", ()),
        (choices_in, "Not one of 'x', 'y'.", ()),
        (choices_in, "Either the user's name or the dog's name.", ()),
        (choices_in, "The city, for instance 'Rome' or 'Oslo'.", ()),
        (choices_in, "One of low, middle, high.", ()),
        (examples_in, 'The id, for instance "A-1001".', ("A-1001",)),
        (examples_in, "The day (e.g. 2026-01-02).", ("2026-01-02",)),
        (examples_in, "Cities such as 'Paris', 'Rome'.", ("Paris", "Rome")),
        (examples_in, "For example the last one.", ()),
        (examples_in, "Something like that.", ()),
        (default_in, "How many, defaults to 5.", 5),
        (default_in, 'The unit. Default: "km".', "km"),
        (default_in, "Default is true", True),
        (default_in, "The default one.", None),
    ],
)
def test_what_is_read_behind_a_fixed_word_is_a_literal(
    read: Callable[[str], object], text: str, found: object
) -> None:
    """Choices are at least two in quotes, examples have quotes or a digit; what has neither is English."""
    assert read(text) == found


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
