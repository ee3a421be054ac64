"""Regular expressions are searched for within bounds, with the package regex and without it."""

from __future__ import annotations

import pytest

from simulator.base.work_limit import PatternError, SearchError, StandardSearcher, searcher
from tests.simulator.base.rows import for_each

SECONDS = 0.05
USUAL = [
    (r"^[A-Z]{2,5}-\d+$", "ORD-1234", "order 12"),
    (r"^[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}$", "ada.lovelace@example.com", "ada at example"),
    (r"^(\d{1,3}\.){3}\d{1,3}$", "192.0.2.17", "192.0.2"),
    (r"late|lost", "the parcel is lost", "the parcel is here"),
    (r"^\d{4}-\d\d-\d\d(T.*)?$", "2026-05-01T08:00", "May"),
]


@for_each(("pattern", "found", "other"), USUAL)
def test_usual_patterns_are_searched_for_in_both_ways(pattern: str, found: str, other: str) -> None:
    """Without the package, what tools declare is told as with it."""
    for ready in (searcher(pattern), StandardSearcher(pattern, ignore_case=False)):
        assert [ready.search(text, SECONDS) for text in (found, other)] == [True, False]
        assert ready.fullmatch(f"{found}\n", SECONDS) is False


def test_case_is_ignored_where_that_is_asked_for() -> None:
    """Both ways know the flag."""
    for ready in (searcher("oslo", ignore_case=True), StandardSearcher("oslo", ignore_case=True)):
        assert ready.fullmatch("OSLO", SECONDS)


@for_each("pattern", [r"^(a|aa)+$", r"(a+)+$", r"(\w*,?)*!", r"a*a*a*a*a*b"])
def test_a_search_that_nothing_could_end_is_not_begun(pattern: str) -> None:
    """Python's `re` would search for days, so that this test would not end; the reason names the package that could end it."""
    with pytest.raises(SearchError, match=r"package regex"):
        StandardSearcher(pattern, ignore_case=False).search("a" * 200, SECONDS)


def test_a_search_that_takes_too_long_is_ended() -> None:
    """The package ends it."""
    with pytest.raises(SearchError, match="took too long"):
        searcher(r"^(a|aa)+$").search("a" * 200 + "!", SECONDS)


def test_what_only_the_package_reads_is_no_error_without_it() -> None:
    """A journal that holds such a pattern can still be read; the search says what is missing."""
    ready = StandardSearcher(r"^\p{Lu}+$", ignore_case=False)
    with pytest.raises(SearchError, match="re cannot read"):
        ready.search("OSLO", SECONDS)


@for_each("pattern", ["(", "[a", "*"])
def test_a_pattern_that_nobody_reads_is_an_error(pattern: str) -> None:
    """Both ways name what is wrong with it."""
    with pytest.raises(PatternError):
        searcher(pattern)
    with pytest.raises(PatternError):
        StandardSearcher(pattern, ignore_case=False)


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
