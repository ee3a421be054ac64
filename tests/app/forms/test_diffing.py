"""Differences of two texts, as a person reads them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.forms.text_diff import MOST_LINES, difference, value_difference

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
