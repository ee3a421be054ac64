"""Hundreds of calls that wait at once: each look costs what is looked at, and every draft is right when it is read."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.genai import types
from pydantic import TypeAdapter

from app.session.past_calls import past_calls
from app.session.timeline_view import waiting_steps
from simulator.runtime import Simulation
from simulator.runtime.answering import call_environment
from simulator.seats.requests import Request, ToolRequest
from tests.simulator.runtime.stage import agent_of, call, opened, tool_requests

MANY = 60


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tool's name for each draft, and for each list of ready answers, that is made.

    Patched because what is claimed is how often they are made; nobody else could tell.
    """
    noted: list[str] = []

    def counted(name: str) -> Any:
        real = getattr(call_environment, name)

        def make(*args: Any) -> Any:
            noted.append(name)
            return real(*args)

        return make

    monkeypatch.setattr(call_environment, "offline_draft", counted("offline_draft"))
    monkeypatch.setattr(call_environment, "_offered", counted("_offered"))
    return noted


def find(order: str) -> dict[str, str]:
    """Find an order."""
    raise AssertionError(order)


@pytest.fixture
def waiting() -> Iterator[Simulation]:
    """A session in which many calls wait."""
    calls = [call("find", order=f"A-{number}") for number in range(MANY)]
    sim = opened(agent_of(calls, [types.Part(text="Done.")], tools=[find]), agents="model")
    sim.query("Where are they?")
    yield sim
    sim.close()


@pytest.mark.long
def test_as_many_drafts_are_made_as_calls_are_answered(waiting: Simulation, made: list[str]) -> None:
    """Whoever lists what waits, again after each answer, has the draft made of what is answered, and of nothing else."""
    while pending := waiting.pending:
        view = waiting.view()
        assert len(view.pending) == len(pending)
        waiting_steps(view.pending, view.session.open_calls)
        past_calls(view.session, tool_requests(waiting))
        waiting.answer(pending[-1], {"order": "A", "status": "sent"})
    assert not waiting.session.is_running
    assert made.count("offline_draft") <= MANY
    assert made.count("_offered") == 0


@pytest.mark.long
def test_each_draft_that_is_looked_at_is_made_once_until_something_changes(
    waiting: Simulation, made: list[str]
) -> None:
    """The second look, and another field of the same draft, cost nothing; an answer makes a draft of before outdated."""
    first = tool_requests(waiting)[0]
    assert (first.draft, first.draft_by, first.draft_from) == (first.draft, "offline", first.draft_from)
    assert first.candidates[0].value == first.draft
    assert tool_requests(waiting)[0] is first
    assert made == ["offline_draft", "_offered"]
    waiting.answer(tool_requests(waiting)[1], {"order": "A-1", "status": "sent"})
    again = tool_requests(waiting)[0]
    assert again.key == first.key
    assert again is not first
    assert "status" in again.draft  # type: ignore[operator] # a dict, as the answer was
    assert "status" not in first.draft  # type: ignore[operator] # as above: what was shown stays as it was


def test_a_view_that_is_kept_is_read_as_it_was(waiting: Simulation) -> None:
    """A draft that nobody had looked at follows from what was known when it was shown, not from its own answer; a new look knows more."""
    before, twin = (
        waiting.pending,
        [waiting.view().pending[number].model_copy(deep=True) for number in range(3)],
    )
    waiting.answer(before[1], {"order": "A-1", "status": "sent"})
    waiting.environment.give_data('{"orders": [{"order": "A-2", "status": "lost"}]}')
    unread, answered, told = before[2], before[1], waiting.pending[1]
    assert isinstance(unread, ToolRequest)
    assert isinstance(told, ToolRequest)
    assert isinstance(answered, ToolRequest)
    assert "sent" not in str(answered.draft)
    assert told.draft["status"] == "lost"  # type: ignore[index,call-overload] # a dict
    assert unread == twin[2]
    assert "status" not in unread.draft  # type: ignore[operator] # a dict
    waiting.stop()
    assert before[0] == twin[0]


def test_a_request_whose_draft_is_not_made_is_a_value_like_any(waiting: Simulation) -> None:
    """Written, copied, compared, shown, pickled and read again it has all its fields; a whole view as JSON holds each draft."""
    ways: tuple[Callable[[ToolRequest], Any], ...] = (
        lambda one: TypeAdapter(Request).validate_json(one.model_dump_json()),
        lambda one: TypeAdapter(Request).validate_python(TypeAdapter(Request).dump_python(one)),
        lambda one: one.model_copy(),
        lambda one: one.model_copy(deep=True),
        copy.copy,
        lambda one: pickle.loads(pickle.dumps(one)),  # noqa: S301 - what was pickled here
        lambda one: ToolRequest(**dict(one)),
    )
    for place, way in enumerate(ways):
        one = tool_requests(waiting)[place]
        assert not one.is_made("draft")
        other = way(one)
        assert other == one
        assert other.draft == one.draft
        assert other.candidates
    shown, unlike = tool_requests(waiting)[-2:]
    assert "candidates=(Candidate(" in repr(shown)
    assert shown != unlike
    assert shown != "another thing"
    with pytest.raises(AttributeError):
        _ = shown.nothing  # type: ignore[attr-defined] # that is the claim
    written = waiting.view().model_dump(mode="json")
    assert all("draft" in each and each["candidates"] for each in written["pending"])
