"""What exists is named for somebody who wrote a name that does not."""

from __future__ import annotations

import pytest

from simulator.base.validation_words import near

LONG = "refund_of_a_large_order_with_express_delivery_to_the_neighbour"


@pytest.mark.parametrize(
    ("name", "names", "words"),
    [
        ("find_ordr", ["cancel", "find_order"], "did you mean find_order?"),
        (f"{LONG}_1", [f"{LONG}_01"], f"did you mean {LONG}_01?"),
        ("zz_refnd", [*(f"case_{n}" for n in range(1400)), "zz_refund"], "did you mean zz_refund?"),
        ("desk_2026", ["till", "desk_2026-11-30_10-00"], "did you mean desk_2026-11-30_10-00?"),
        ("pay", ["x" * 70], f"available: {'x' * 59}\u2026"),
        ("pay", [], "nothing is available"),
    ],
)
def test_names_that_begin_alike_or_are_alike_come_first(name: str, names: list[str], words: str) -> None:
    """Also long ones, and among many; where none is like it, the first ones are named."""
    assert near(name, names) == words
