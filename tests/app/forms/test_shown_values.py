"""A value is shown by names and tables, each of its values once, and none that is absent."""

from __future__ import annotations

from typing import Any

import pytest

from app.forms.shown_values import MOST_FIELDS, ShownField, ShownTable, shown_parts, values_line


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
