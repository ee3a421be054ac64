"""Looks at final responses and states: as ADK's evaluators do, where they do; and what is told of what differs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_metrics import EvalMetric
from google.genai import types
from hypothesis import assume, given
from hypothesis import strategies as st

from evalset.golden_trace.steps import Step
from evalset.recorded.golden_digests import text_digest, value_digest
from evalset.recorded.recording import Author, RecordedModelTurn
from evalset.verify import run_checks
from evalset.verify.verdicts import Known
from simulator.base.json_values import same
from tests.evalset.recorded.test_files import json_values

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def said(text: str) -> Invocation:
    """Make a turn that ends with a text."""
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return Invocation(user_content=types.UserContent("go"), final_response=content)


@given(st.lists(texts, min_size=1, max_size=3))
def test_the_score_of_the_same_texts_is_adks(told: list[str]) -> None:
    """Which is known without asking it, but for texts of no words."""
    from google.adk.evaluation.final_response_match_v1 import RougeEvaluator  # noqa: PLC0415 - it takes 4 s, and this worker alone needs it

    turns = [*map(said, told)]
    metric = EvalMetric(metric_name="response_match_score", threshold=0.8)
    wanted = RougeEvaluator(metric).evaluate_invocations(turns, turns)
    found = run_checks.response_match(turns, turns, 0.8)
    assert (found.score, found.turns) == (
        wanted.overall_score,
        tuple(each.score for each in wanted.per_invocation_results),
    )
    assert (found.status == "passed") == (wanted.overall_eval_status.name == "PASSED")


@pytest.mark.parametrize("alike", [1, 9])
def test_other_texts_are_scored_by_adk_and_each_turn_has_to_pass(alike: int) -> None:
    """The one that is too low is named, however many are not."""
    turns = [said("it was shipped")] * alike
    actual, expected = [*turns, said("no idea")], [*turns, said("yes, it is there")]
    found = run_checks.response_match(actual, expected, 0.8)
    assert (found.name, found.status, found.turns, found.detail) == (
        "response_match_score",
        "failed",
        (*(1.0,) * alike, 0.0),
        f"turn {alike + 1}",
    )


def test_without_adks_evaluator_words_are_counted_and_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check has a name of its own then."""
    monkeypatch.setattr(run_checks, "has_rouge", lambda: False)  # it is installed wherever the tests run
    same = run_checks.response_match([said("it is Here")], [said("it is Here")], 0.8)
    assert (same.name, same.status, same.score) == ("response_word_overlap", "passed", 1.0)
    other = run_checks.response_match([said("it is Here, now")], [said("IT is here")], 0.9)
    assert (other.name, other.status, other.score) == ("response_word_overlap", "failed", 6 / 7)
    assert "google-adk[eval]" in other.detail


@pytest.mark.parametrize(
    ("here", "golden", "again", "of_trace", "status"),
    [
        ("rejected: 7 items", "approved: 7 items", None, False, "failed"),
        ("items approved on 3 May as dead-b33f", "approved on 4 April as cafe-b33f items", None, False, "passed"),
        ("at 10:30 of 2026-05-03", "at 9:05 pm of 2026-04-01T09:00:00Z", None, False, "passed"),
        ("due on 2026-07-01", "due on 2026-06-15", None, False, "failed"),
        ("it was $90.00", "it was $45.00", "it was $90.00", False, "failed"),
        ("it was $90.00 as 731", "it was $45.00 as 5", "it was $90.00 as 12", False, "failed"),
        ("it was $45.00 as 731", "it was $45.00 as 5", "it was $45.00 as 12", False, "passed"),
        ("it was 123-45-6789", "it was redacted", None, False, "failed"),
        ("it was approved", "Decision: it was approved", None, False, "failed"),
        ("it was approved", "Decision: it was approved", None, True, "passed"),
        ("it was 731", "Decision: it was 12 or so", "it was 5", True, "passed"),
        ("it was 731", "Decision: it was 12 or so", "it was 731", True, "failed"),
        ("it was approved", "it was not approved", None, True, "failed"),
        ("A model says so", "a person said so", None, False, None),
    ],
)  # fmt: skip
def test_words_of_an_end_that_no_model_said_are_looked_at(
    here: str, golden: str, again: str | None, of_trace: bool, status: str | None
) -> None:
    """Ids and dates that nobody gave, and what another replay has otherwise, may be others; who made a trace may have framed what the agent said; an unknown end is left out."""
    contents = ({"parts": [{"text": text}]} for text in ("It was", "a model says so"))
    models = RecordedModelTurn(
        agent="a", author=Author(source="agent"), responses=[{"content": each} for each in contents]
    )
    drawn = run_checks.Drawn(lambda: "due: 2026-06-15", [] if again is None else [again])
    found = run_checks.code_words(
        [said(here)], [said(golden)], [[models]], may_be_framed=of_trace, drawn=drawn
    )
    assert (found and found.status) == status
    unknown = said(golden).model_copy(update={"final_response": None})
    assert run_checks.code_words([said(here)], [unknown], [[models]]) is None


@given(texts, texts)
def test_the_words_in_common_are_a_share(one: str, other: str) -> None:
    """From 0 to 1, the same both ways, and 1 for the same text."""
    assert 0 <= run_checks.word_overlap(one, other) == run_checks.word_overlap(other, one) <= 1
    assert run_checks.word_overlap(one, one) == 1


def test_what_differs_in_the_state_is_named() -> None:
    """What is new, gone, or another."""
    found = run_checks.final_state({"a": 1, "new": [1]}, {"a": True, "gone": 0})
    assert found.status == "failed"
    assert re.fullmatch(r"a .*1.*true, gone .*, new .*\[1\]", found.detail), found.detail
    assert run_checks.final_state({"a": 1.0}, {"a": 1}).status == "passed"


def test_stored_responses_may_come_in_any_order_and_each_counts_once() -> None:
    """Two that are the same need two, and each belongs to its call where that was made."""
    call = Step(kind="call", tool="find", value={})
    one, two = (Step(kind="response", tool="find", value={"n": number}) for number in (1, 2))
    assert run_checks.stored_responses([[call, one, call, two]], [[call, two, call, one]]).status == "passed"
    found = run_checks.stored_responses([[call, one, call, two]], [[call, one, call, one]])
    assert (found.status, found.score) == ("failed", 0.5)
    assert all(each in found.detail for each in ("turn 1: ", "find", '{"n":1}'))
    assert '{"n":2}' not in found.detail
    assert run_checks.stored_responses([[call, one]], [[]]).score == 1.0
    other = call.model_copy(update={"value": {"id": 2}})
    assert run_checks.stored_responses([[call, two, other, one]], [[call, one, other, two]]).score == 0.0
    assert run_checks.stored_responses([[other, two, call, one]], [[call, one, other, two]]).score == 1.0


LONG = {f"field_{number}": "x" * 20 for number in range(20)}
long_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


def change_of(then: Any, now: Any) -> str:
    """Return how one response became another."""
    steps = [Step(kind="response", tool="find", value=value) for value in (then, now)]
    return Known([steps]).change(value_digest(then), value_digest(now))


def test_a_long_response_is_named_by_the_places_that_differ() -> None:
    """By their paths, with what stood there and what stands there; a short one is shown whole."""
    words = change_of({**LONG, "total": 5, "old": 1}, {**LONG, "total": 7, "new": "a"})
    assert re.fullmatch('total .*5.*7; old .*1.*; new .*"a"', words), words
    words = change_of({"total": 5}, {"total": 7})
    assert re.fullmatch('.*{"total":5}.*{"total":7}', words), words


def test_many_places_are_counted() -> None:
    """Three are named."""
    words = change_of(LONG, dict.fromkeys(LONG, "y"))
    assert words.startswith("field_0 was ")
    assert words.endswith("; 17 more places differ")


@given(json_values, json_values)
def test_the_two_sides_of_a_change_never_read_the_same(then: Any, now: Any) -> None:
    """Whatever is cut, what differs is shown."""
    assume(not same(then, now))
    for told in change_of({**LONG, "it": then}, {**LONG, "it": now}).split("; "):
        was, found, now_is = told.rpartition(", now it is ")
        assert not found or not was.endswith(f" was {now_is}")


@given(long_texts, long_texts, long_texts)
def test_a_long_text_is_shown_from_where_it_differs(start: str, then: str, now: str) -> None:
    """And so are two answers of the agent."""
    assume(then != now)
    then, now = start + then, start + now
    steps = [Step(kind="text", text=text) for text in (then, now)]
    was, _, now_is = Known([steps]).change(text_digest(then), text_digest(now)).partition(", now it is ")
    assert was.removeprefix("it was ") != now_is
