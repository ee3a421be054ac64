"""The decision pane with ready answers: chosen, compared, given at once, and nothing that was typed is lost."""

from __future__ import annotations

import json
from typing import Any, TypedDict

from app.decision.ready_answers import preview
from app.forms.safe_labels import literal
from simulator.facts import Failed, Returned
from tests.app.decision.deciding import HOSTILE, Deciding, answers, first
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened


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
    simulation = opened(agent_of(list(calls), tools=[find_order, read_note]), **more)
    simulation.query("go", wait=PATIENCE)
    return simulation


def offer(simulation: Any, label: str) -> Any:
    """Return one of the ready answers."""
    return next(one for one in first(simulation).candidates if one.label == label)


def test_each_ready_answer_says_what_it_is_and_where_it_comes_from() -> None:
    """There is a line for each with a preview and its source, and a key on each of its buttons."""
    with asked_for(call("find_order", order_id="A-1")) as simulation:
        page = Deciding(simulation)
        shown = page.shown()
        offered = first(simulation).candidates
        assert {one.label for one in offered} >= {"expected", "empty", "edge", "hostile"}
        for one in offered:
            assert literal(one.why) in shown
        keys = [button.proto.shortcut for button in page.tab.button if button.proto.shortcut]
        assert "1" in keys
        assert any("shift" in key.lower() and key.endswith("1") for key in keys)


def test_a_chosen_answer_stands_in_the_editor_with_what_differs() -> None:
    """Its text is in the editor and in the form, and the difference to the draft has a sign on each line."""
    with asked_for(call("find_order", order_id="A-1")) as simulation:
        edge = offer(simulation, "edge")
        page = Deciding(simulation).press("choose_edge")
        assert json.loads(page.text("response_")) == edge.value
        assert page.text("form:response.total") == edge.value["total"]
        lines = [
            line for code in page.tab.code if code.language == "diff" for line in code.value.splitlines()
        ]
        assert any(line.startswith("+ ") for line in lines)
        assert any(line.startswith("- ") for line in lines)
        page.press("accept_")
        (fact,) = answers(simulation)
        assert fact.outcome == Returned(value=edge.value)
        assert fact.provenance.source == "generated"
        assert fact.provenance.notes == (f"{edge.title}: {edge.why}",)


def test_an_answer_is_given_with_one_key() -> None:
    """The second button of a line gives its answer at once."""
    with asked_for(call("find_order", order_id="A-1")) as simulation:
        empty = offer(simulation, "empty")
        Deciding(simulation).press("give_empty")
        assert answers(simulation)[0].outcome == Returned(value=empty.value)


def test_what_was_typed_is_brought_back() -> None:
    """A ready answer takes its place, and one click brings it back, broken as it was."""
    with asked_for(call("find_order", order_id="A-1")) as simulation:
        page = Deciding(simulation).type("response_", '{"order_id": "mine", ').run()
        page.press("choose_empty")
        assert "mine" not in page.text("response_")
        page.press("choose_hostile").press("bring_back")
        assert page.text("response_") == '{"order_id": "mine", '
        assert not any(name.startswith("bring_back") for name in page.names())
        assert page.refreshed().text("response_") == '{"order_id": "mine", '


def test_only_what_was_typed_is_kept_aside() -> None:
    """Going from one ready answer to the next leaves nothing to bring back."""
    with asked_for(call("find_order", order_id="A-1")) as simulation:
        page = Deciding(simulation).press("choose_edge").press("choose_empty").press("choose_expected")
        assert not any(name.startswith("bring_back") for name in page.names())
        assert page.press("accept_").problems == []
        assert answers(simulation)[0].outcome == Returned(value=first_draft(simulation))


def first_draft(simulation: Any) -> Any:
    """Return the draft of the first call, from the journal's own answer."""
    return answers(simulation)[0].outcome.value  # type: ignore[union-attr] # it returned


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


def test_a_preview_says_what_is_special() -> None:
    """Of an answer that is like the expected one only the other fields are told."""
    with asked_for(call("find_order", order_id="A-1")) as simulation:
        expected, hostile = offer(simulation, "expected"), offer(simulation, "hostile")
        words = preview(hostile, expected.value)
        assert "order_id" not in words
        assert len(words) <= 160


def test_hostile_words_stay_words() -> None:
    """A name and an argument with Markdown and HTML come alive in no ready answer and no difference."""

    def hostile(**_: Any) -> dict[str, Any]:
        return {}

    hostile.__doc__ = hostile.__name__ = HOSTILE
    simulation = opened(agent_of([call(HOSTILE, **{HOSTILE: HOSTILE})], tools=[hostile]))
    with simulation:
        simulation.query("go", wait=PATIENCE)
        page = Deciding(simulation)
        for one in first(simulation).candidates:
            page.press(f"choose_{one.label}")
            marked = [*page.tab.markdown, *page.tab.caption, *page.tab.error]
            assert "http://evil" not in " ".join(str(each.value) for each in marked)
