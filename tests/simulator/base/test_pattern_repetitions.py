"""Regular expressions whose repetitions multiply each other are refused before they are compiled."""

from __future__ import annotations

import pytest

from simulator.base.pattern_search import PatternError, searcher
from tests.simulator.base.rows import for_each


@for_each(
    "pattern",
    [
        "(((a{900}){900}){900}){900}",
        "(?:a{99999}){999}",
        r"a{1000000}",
        r"(?:a{999}\p{L}{999}){999}",
        "(?=(a{999}){999})b",
    ],
)
def test_too_many_repetitions_are_refused(pattern: str) -> None:
    """The package `regex` would take gigabytes to compile them."""
    with pytest.raises(PatternError):
        searcher(pattern)


@for_each(
    "pattern",
    [
        r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?",
        r"[a-f0-9]{64}",
        r"(\w{1,20}\s?){1,50}",
        r"a{2,}|\{100000\}",
    ],
)
def test_usual_repetitions_are_searched_for(pattern: str) -> None:
    """Dates, digests and words stay as they are."""
    assert searcher(pattern).search("2024-01-02T03:04:05 " + "ab" * 40 + "{100000} aaa", 5)
