"""Whatever a person answers or says, a demo agent neither raises nor goes on for ever."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import failed
from simulator.agents import DEMOS
from simulator.agents.demo_model import MAX_STEPS, Answer, money, number, pick_number, pick_text, quoted
from simulator.agents.demos.expense_approver.tools import Decision
from simulator.seats.requests import ToolRequest
from simulator.session import SessionState, SimulationSession
from simulator.session.history import FinalResponse
from tests.simulator.agents.playing import failures, last_words, play
from tests.simulator.base.rows import for_each

# What the demos look for in answers: random words alone would hardly ever come near.
FIELDS = [
    "order_id", "id", "status", "state", "total", "amount", "price", "currency", "orders", "order", "items",
    "data", "tracking", "refund_id", "customer_id", "result", "error", "error_code", "error_message",
    "message", "flights", "hotels", "flight_id", "hotel_id", "name", "booking_id", "visa_required",
    "max_days", "outlook", "high", "low", "lines", "allowed_amount", "remaining", "payment_id", "budget",
    "explanation", "code",
]  # fmt: skip
WORDS = (
    "processing", "shipped", "delivered", "cancelled", "404", "503", "not found", "try again", "49.90 EUR",
    "-1", "A-1001", "This tool call is rejected.", "",
)  # fmt: skip
leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(WORDS)
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), inner, max_size=6)
    ),
    max_leaves=12,
)
errors = st.builds(failed, st.integers(0, 999) | st.sampled_from(WORDS), st.text(max_size=30))


@st.composite
def near_misses(draw: st.DrawFn, draft: Any) -> Any:
    """A fitting answer in which some fields are gone or hold something else."""
    if isinstance(draft, list):
        return [draw(near_misses(one)) for one in draft][: draw(st.integers(0, 3))]
    if not isinstance(draft, dict):
        return draw(st.just(draft) | values)
    kept = {key: value for key, value in draft.items() if draw(st.integers(0, 4))}
    return {key: draw(near_misses(value)) for key, value in kept.items()}


def answers_of(data: st.DataObject, request: ToolRequest) -> Any:
    """Draw an answer: anything at all, an error, the draft, or something near it."""
    return data.draw(values | errors | st.just(request.draft) | near_misses(request.draft))


def played(name: str, *said: str, data: st.DataObject) -> SimulationSession:
    """Play a session in which tool calls get any answers, and what ADK asks about is confirmed or not."""
    confirmed = st.booleans()
    return play(
        name,
        *said,
        answer=lambda request: answers_of(data, request),
        confirms=lambda: data.draw(confirmed),
    )


def ill_ended(session: SimulationSession, said: int = 1) -> list[str]:
    """Say what is wrong with a session's end: a failure, what still waits, fewer or emptier words than was said to the agent."""
    words = [one.content for one in session.history if isinstance(one, FinalResponse)]
    wrong = [
        (session.state is not SessionState.COMPLETED, f"the session is {session.state}"),
        (bool(session.open_calls), f"these calls wait: {session.open_calls}"),
        (len(words) < said, f"{said} messages and only these words: {words}"),
        (not all(map(str.strip, words)), f"empty among the words: {words}"),
    ]
    return [*failures(session), *(text for is_so, text in wrong if is_so)]


FRAGMENTS = [
    "cancel", "refund", "order", "A-1001", "A-1002", "C-17", "ada@example.com", "all", "2", "mugs", "1",
    "lamp", "yes", "no", "it", "20", "EUR", "flight", "hotel", "book", "Oslo", "Rome", "from", "to",
    "weather", "visa", "passport", "Norwegian", "2026-05-03", "2026-02-31", "5", "May", "2026", "3",
    "nights", "E-7", "engineering", "dinner", "45", "taxi", "600", "USD", "without", "receipt", "{", "}",
    "[1]", "\x00", "²", "١٢", "99999999999",
]  # fmt: skip
messages = (
    st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=12).map(" ".join)
    | st.text(min_size=1, max_size=40)
).filter(str.strip)


@pytest.mark.parametrize(
    ("name", "query"),
    [
        pytest.param(name, query, marks=pytest.mark.long if place else ())
        for name, demo in DEMOS.items()
        for place, query in enumerate([*demo.example_queries, None])
    ],
)
@settings(max_examples=settings().max_examples // 6)
@given(data=st.data())
def test_any_answer_and_any_words_lead_to_an_end(name: str, query: str | None, data: st.DataObject) -> None:
    """Missing fields, other types, texts, lists, errors, nothing: each session of each example ends with words.

    So do a few messages of any words, with any answers; later messages build on a history of nonsense.
    """
    said = [query] if query else data.draw(st.lists(messages, min_size=1, max_size=3))
    session = played(name, *said, data=data)
    assert ill_ended(session, len(said)) == []
    if query and name == "expense_approver":
        assert Decision.model_validate_json(last_words(session))


@pytest.mark.long
@for_each("name", DEMOS)
def test_a_turn_is_bounded(name: str) -> None:
    """With a service that is always busy, each agent of the demo speaks at most as often as its bound allows."""
    for query in DEMOS[name].example_queries[:2]:
        session = play(name, query, answer=lambda _: failed(503, "try again"), confirms=lambda: True)
        assert ill_ended(session) == []
        agents = {one.agent for one in session.history if hasattr(one, "agent")}
        assert len(session.turns[-1].events) <= 2 * MAX_STEPS * len(agents)


@given(value=values)
def test_reading_an_answer_never_raises(value: Any) -> None:
    """Records, failures, numbers and words are read out of any JSON value; what is not there is empty."""
    answer = Answer(value if isinstance(value, dict) else {"result": value})
    assert answer.failure is None or str(answer.failure)
    assert isinstance(answer.record("order", "data", order_id="A-1"), dict)
    assert all(isinstance(one, dict) for one in answer.records("orders", "data"))
    assert isinstance(str(answer), str)
    assert len(quoted(value)) <= 163
    record = {"field": value}
    assert isinstance(pick_text(record, "field"), str)
    found = pick_number(record, "field")
    assert found is None or money(found, "EUR").endswith("EUR")


@for_each(
    ("value", "wanted"),
    [
        (3, 3.0),
        ("49.90 EUR", 49.9),
        ("1,250.00", 1250.0),
        ("-2", -2.0),
        ("none", None),
        (True, None),
        (10**400, None),
        (float("inf"), None),
        ([1], None),
    ],
)
def test_a_number_is_read_out_of_what_people_write(value: object, wanted: float | None) -> None:
    """A text with a unit is a number; a truth value, an endless number or a list is none."""
    assert number(value) == wanted


def test_errors_are_known_in_the_forms_that_tools_use() -> None:
    """ADK's error dict, a nested error, a text and a status all are failures; busy and missing are told apart."""
    forms: list[dict[str, Any]] = [
        {"error_code": 404, "error_message": "No such order."},
        {"error": {"code": 404, "message": "No such order."}},
        {"error": "No such order."},
        {"status": "error", "message": "No such order."},
    ]
    for form in forms:
        failure = Answer(form).failure
        assert failure
        assert failure.is_missing
        assert "No such order." in str(failure)
    busy = Answer({"error_code": 503, "error_message": ""}).failure
    assert busy
    assert busy.is_busy
    assert Answer({"status": "shipped"}).failure is None
