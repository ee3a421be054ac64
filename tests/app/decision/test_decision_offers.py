"""The decision pane with ready answers: chosen, compared, given at once, and nothing that was typed is lost."""

from __future__ import annotations

import json
from typing import Any, TypedDict

import pytest

from app.decision.ready_answers import preview
from app.forms.safe_labels import literal
from simulator.facts import Failed, Returned
from tests.app.decision.deciding import HOSTILE, Deciding, answers, asked, first
from tests.simulator.runtime.stage import call


class Order(TypedDict):
    """An order, so that the tool has a response schema."""

    order_id: str
    total: float
    note: str


def find_order(order_id: str) -> Order:
    """Find an order."""
    return {"order_id": order_id, "total": 1.0, "note": ""}


def read_note(note_id: str) -> dict[str, Any]:
    """Read a note."""
    return {"note_id": note_id}


def asked_for(*calls: Any, **more: Any) -> Any:
    """Open a session whose agent makes these calls at once, and ask it."""
    return asked(list(calls), tools=[find_order, read_note], **more)


def offer(simulation: Any, label: str) -> Any:
    """Return one of the ready answers."""
    return next(one for one in first(simulation).candidates if one.label == label)


@pytest.mark.long
def test_a_chosen_answer_stands_in_the_editor_with_what_differs() -> None:
    """Each has a line with its source and a key on each of its buttons; the chosen one is in the editor, the form and a difference."""
    with asked_for(call("find_order", order_id="A-1")) as simulation:
        edge, page = offer(simulation, "edge"), Deciding(simulation)
        shown, offered = page.shown(), first(simulation).candidates
        assert {one.label for one in offered} >= {"expected", "empty", "edge", "hostile"}
        assert all(literal(one.why) in shown for one in offered)
        keys = [button.proto.shortcut for button in page.tab.button if button.proto.shortcut]
        assert "1" in keys
        assert any("shift" in key.lower() and key.endswith("1") for key in keys)
        words = preview(offer(simulation, "hostile"), offer(simulation, "expected").value)
        assert "order_id" not in words
        assert len(words) <= 160
        page.press("choose_edge")
        assert json.loads(page.text("response_")) == edge.value
        assert page.text("form:response.total") == edge.value["total"]
        compared = "\n".join(code.value for code in page.tab.code if code.language == "diff")
        assert {line[:2] for line in compared.splitlines()} >= {"+ ", "- "}
        page.press("accept_")
        (fact,) = answers(simulation)
        assert fact.outcome == Returned(value=edge.value)
        assert fact.provenance.source == "generated"
        assert fact.provenance.notes == (f"{edge.title}: {edge.why}",)


def test_what_was_typed_is_brought_back() -> None:
    """A ready answer takes its place, and one click brings it back, broken as it was; between ready answers nothing is kept aside."""
    with asked_for(call("find_order", order_id="A-1"), call("find_order", order_id="A-2")) as simulation:
        empty = offer(simulation, "empty")
        page = Deciding(simulation).press("choose_edge").press("choose_empty").press("choose_expected")
        assert not any(name.startswith("bring_back") for name in page.names())
        page.type("response_", '{"order_id": "mine", ').run().press("choose_empty")
        assert "mine" not in page.text("response_")
        page.press("choose_hostile").press("bring_back")
        assert page.text("response_") == '{"order_id": "mine", '
        assert not any(name.startswith("bring_back") for name in page.names())
        assert page.refreshed().text("response_") == '{"order_id": "mine", '
        page.press("give_empty")
        assert answers(simulation)[0].outcome == Returned(value=empty.value)
        draft = first(simulation).draft
        assert page.press("choose_edge").press("choose_expected").press("accept_").problems == []
        assert answers(simulation)[1].outcome == Returned(value=draft)


@pytest.mark.long
def test_an_error_of_a_tool_without_a_schema_keeps_its_shape() -> None:
    """The message is changed, the rest of the tool's own error stays."""
    with asked_for(call("read_note", note_id="N-1")) as simulation:
        made = offer(simulation, "error")
        page = (
            Deciding(simulation)
            .press("choose_error")
            .type("error_message_", "Gone for good")
            .press("accept_")
        )
        outcome = answers(simulation)[0].outcome
        seen = outcome.response() if isinstance(outcome, Failed) else getattr(outcome, "value", {})
        assert "Gone for good" in seen.values()
        assert seen.keys() == made.value.keys()
        assert page.problems == []


def test_hostile_words_stay_words() -> None:
    """A name and an argument with Markdown and HTML come alive in no ready answer and no difference."""

    def hostile(**_: Any) -> dict[str, Any]:
        return {}

    hostile.__doc__ = hostile.__name__ = HOSTILE
    with asked([call(HOSTILE, **{HOSTILE: HOSTILE})], tools=[hostile]) as simulation:
        page = Deciding(simulation)
        for one in first(simulation).candidates:
            page.press(f"choose_{one.label}")
            marked = [*page.tab.markdown, *page.tab.caption, *page.tab.error]
            assert "http://evil" not in " ".join(str(each.value) for each in marked)
