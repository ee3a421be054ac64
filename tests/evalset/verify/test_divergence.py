"""Finds where two traces go apart, whatever they are: pure functions, without any agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalset.golden_trace.steps import CallPair, Step
from evalset.verify.divergence import (
    Compared,
    aligned,
    first_divergence,
    matched,
    text_pieces,
    value_differences,
)
from evalset.verify.results import Divergence
from evalset.verify.verify_request import Criteria, Match
from simulator.base.json_paths import parse
from simulator.base.json_values import same
from tests.evalset.recorded.test_files import json_values, objects

letters = st.lists(st.sampled_from("abc"), max_size=6)
tables = st.lists(st.lists(st.booleans(), min_size=4, max_size=4), max_size=4)


def alike_in(golden: Sequence[object], actual: Sequence[object]) -> Callable[[int, int], bool]:
    """Compare calls that are letters."""
    return lambda one, other: golden[one] == actual[other]


@given(letters, letters, st.sampled_from(["exact", "in_order", "any_order"]))
def test_each_call_stands_once_beside_another_and_the_match_is_adks(
    golden: list[str], actual: list[str], match: Match
) -> None:
    """In their order where that counts; all rows are alike exactly where ADK's evaluator finds a match."""
    rows = aligned(len(golden), len(actual), alike_in(golden, actual), match)
    assert sorted(row.golden for row in rows if row.golden is not None) == [*range(len(golden))]
    assert sorted(row.actual for row in rows if row.actual is not None) == [*range(len(actual))]
    pairs = [row for row in rows if row.golden is not None and row.actual is not None]
    assert all((golden[row.golden] == actual[row.actual]) == row.alike for row in pairs if row.alike)  # type: ignore[index] # neither is None
    if match != "any_order":
        assert [row.actual for row in pairs] == sorted(row.actual or 0 for row in pairs)
    assert all(row.alike for row in rows) == _matches_as_adk_does(golden, actual, match)


def _matches_as_adk_does(golden: list[str], actual: list[str], match: Match) -> bool:
    if match == "exact":
        return golden == actual
    if match == "in_order":
        rest = iter(actual)
        return all(call in rest for call in golden)
    return all(golden.count(call) <= actual.count(call) for call in golden)


@given(tables)
def test_as_many_find_a_partner_as_can(table: list[list[bool]]) -> None:
    """As many as in the best of all ways to pair them, each of them one that it goes with."""
    found = matched(len(table), 4, lambda one, other: table[one][other])
    assert all(table[one][other] for one, other in found.items())
    assert len(set(found.values())) == len(found)
    best = max(
        (
            len(chosen)
            for count in range(len(table) + 1)
            for chosen in combinations(range(len(table)), count)
            for places in permutations(range(4), count)
            if all(table[one][other] for one, other in zip(chosen, places, strict=True))
        ),
        default=0,
    )
    assert len(found) == best


def test_what_was_put_in_shifts_nothing() -> None:
    """The calls behind it stand beside their own."""
    assert aligned(2, 3, alike_in("ab", "xab"), "exact") == [
        CallPair(None, 0, alike=False),
        CallPair(0, 1, alike=True),
        CallPair(1, 2, alike=True),
    ]


@given(json_values, json_values)
def test_differences_are_where_values_differ(golden: Any, actual: Any) -> None:
    """None where they are the same; and what stands at each path is what is told."""
    found = [*value_differences(golden, actual)]
    assert (found == []) == same(golden, actual)
    for each in found:
        for value, told, is_there in (
            (golden, each.golden, each.in_golden),
            (actual, each.actual, each.in_actual),
        ):
            there = [inner for _, inner in parse(each.path).found(value)] if each.path else [value]
            assert there == ([told] if is_there else [])


@given(st.text("ab .,\n", max_size=30), st.text("ab .,\n", max_size=30))
def test_the_pieces_of_two_texts_make_both(golden: str, actual: str) -> None:
    """Those of one kind and the common ones, joined; texts that are the same have common ones alone."""
    pieces = text_pieces(golden, actual)
    assert "".join(piece.text for piece in pieces if piece.kind != "actual") == golden
    assert "".join(piece.text for piece in pieces if piece.kind != "golden") == actual
    assert (golden == actual) == all(piece.kind == "same" for piece in pieces)


# ---------------------------------------------------------------- turns

calls = st.lists(st.tuples(st.sampled_from(["find", "pay"]), st.integers(0, 1), objects), max_size=4)
conversations = st.lists(calls, min_size=1, max_size=3)


def turn_of(made: Sequence[tuple[str, int, dict[str, Any]]], text: str = "done") -> tuple[Step, ...]:
    """Make a turn of calls, each with an argument and its answer."""
    steps = [Step(kind="query", text="go")]
    for tool, argument, answer in made:
        steps.append(Step(kind="call", tool=tool, value={"x": argument}))
        steps.append(Step(kind="response", tool=tool, value=answer))
    return (*steps, Step(kind="text", text=text))


def divergence(golden: Any, actual: Any, **more: Any) -> Divergence | None:
    """Compare exactly."""
    return first_divergence(golden, actual, Compared(**{"criteria": Criteria(), **more}))


def differs(golden: Any, actual: Any, **more: Any) -> Divergence:
    """Return the divergence of two traces that are not the same."""
    found = divergence(golden, actual, **more)
    assert found is not None
    return found


def test_a_response_behind_a_call_that_differs_is_compared_too() -> None:
    """It is not marked as the same where it is not."""
    found = differs([turn_of([("pay", 1, {"paid": 1})])], [turn_of([("pay", 2, {"error": "no"})])])
    assert [pair.differs for pair in found.pairs[:2]] == [True, True]


@given(conversations, conversations)
def test_the_first_step_that_differs_is_found(golden: Any, actual: Any) -> None:
    """No earlier turn differs; none is found where the calls and answers are the same."""
    ours, theirs = [turn_of(each) for each in golden], [turn_of(each) for each in actual]
    common = [same(_plain(one), _plain(other)) for one, other in zip(golden, actual, strict=False)]
    if all(common) and len(golden) <= len(actual):
        assert divergence(ours, theirs) is None
        return
    found = differs(ours, theirs)
    assert found.turn == (common.index(False) if False in common else len(actual))
    first = found.pairs[0]
    assert first.differs
    assert not same(_shown(first.golden), _shown(first.actual))
    if first.golden is not None:
        assert ours[found.turn][found.step] == first.golden
    shown = [pair.golden for pair in found.pairs if pair.golden is not None]
    assert shown == [*ours[found.turn][len(ours[found.turn]) - len(shown) :]]


def _plain(made: Any) -> list[Any]:
    return [list(call) for call in made]


def _shown(step: Step | None) -> Any:
    return None if step is None else [step.kind, step.tool, step.value, step.text]


@given(conversations)
def test_a_trace_does_not_differ_from_itself(golden: Any) -> None:
    """Whatever is asked; nor where nothing but texts and states differ that were found good enough."""
    ours = [turn_of(each) for each in golden]
    theirs = [turn_of(each, text="well done") for each in golden]
    state = Step(kind="state", value={"a": 1})
    other = Step(kind="state", value={"a": 2})
    assert divergence(ours, ours) is None
    assert divergence([*ours[:-1], (*ours[-1], state)], [*theirs[:-1], (*theirs[-1], other)]) is None


def test_a_text_and_a_state_differ_where_their_check_says_so() -> None:
    """The text of the turn whose score is too low; the state behind the last turn."""
    golden = [turn_of([]), (*turn_of([]), Step(kind="state", value={"a": {"b": 1}}))]
    actual = [turn_of([], "no"), (*turn_of([]), Step(kind="state", value={"a": {"b": 2}}))]
    found = differs(golden, actual, wrong_texts=frozenset({0}), wrong_state=True)
    assert (found.turn, found.step, found.what) == (0, 1, "text")
    assert [(piece.kind, piece.text) for piece in found.text] == [("golden", "done"), ("actual", "no")]
    found = differs(golden, actual, wrong_state=True)
    assert (found.turn, found.step, found.what) == (1, 2, "state")
    assert [(each.path, each.golden, each.actual) for each in found.differences] == [("a.b", 1, 2)]


def test_calls_too_many_differ_only_where_the_match_is_exact() -> None:
    """As ADK has it."""
    golden, actual = [turn_of([("find", 1, {})])], [turn_of([("pay", 0, {}), ("find", 1, {})])]
    assert differs(golden, actual).what == "call"
    assert divergence(golden, actual, criteria=Criteria(match="in_order")) is None
    assert divergence(golden, actual, criteria=Criteria(match="any_order")) is None


def test_an_answer_that_the_golden_lacks_is_no_difference() -> None:
    """Old eval sets hold calls without answers."""
    golden = [
        (Step(kind="query"), Step(kind="call", tool="find", value={"x": 1}), Step(kind="text", text="done"))
    ]
    assert divergence(golden, [turn_of([("find", 1, {"a": 1})])]) is None
    assert divergence([turn_of([("find", 1, {"a": 1})])], golden) is not None


def test_a_run_that_stopped_shows_no_state_as_if_it_were_the_goldens() -> None:
    """What was not compared is neither right nor wrong."""
    golden = [(*turn_of([]), Step(kind="state", value={}))]
    found = differs(golden, [turn_of([], "no")], wrong_texts=frozenset({0}))
    assert [pair.golden.kind for pair in found.pairs if pair.golden is not None] == ["text"]
    assert differs(golden, [turn_of([])], wrong_state=True).what == "state"
