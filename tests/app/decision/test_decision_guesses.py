"""The decision pane where a draft is a guess, is drawn, or comes from the tool's code: what is shown, and the ways to a better one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, JsonValue

from app.decision.pasted_examples import read_example, take_example
from app.forms.typed_json import TypedJsonError
from app.live.player_names import NO_MODEL
from simulator.environment.schema.schema_checks import check
from simulator.environment.world.tool_settings import EnvironmentSettings
from tests.app.decision.deciding import Deciding, answers, asked, first
from tests.app.decision.test_decision_drafts import Drafter
from tests.harness.processes import wait_until
from tests.simulator.runtime.stage import PATIENCE, call


class Customer(BaseModel):
    """A customer: an address can be drawn, points are not known."""

    email: str
    points: int


def find_customer(customer_id: str) -> Customer:
    """Find a customer."""
    return Customer.model_validate_json(Path(customer_id).read_text())


def greet(whom: str) -> dict[str, str]:
    """Greet somebody."""
    if whom == "Ada":
        return {"said": "Good day"}
    return {"said": f"Hello, {whom}!"}


def deciding(name: str) -> Deciding:
    """Open a session in which one call of a tool waits, and show it."""
    arguments = {"customer_id": "C-1"} if name == "find_customer" else {"whom": "Bo"}
    return Deciding(asked([call(name, **arguments)], tools=[find_customer, greet]))


def badges(page: Deciding) -> str:
    """Return the text of the badges."""
    return "\n".join(str(each.value) for each in page.tab.markdown)


def guessed(page: Deciding) -> bool:
    """Return whether the draft is shown as a guess."""
    return "Guess" in badges(page)


@pytest.mark.long
def test_a_draft_from_the_code_names_its_file_and_line() -> None:
    """Nothing is blank, so there is nothing to ask for; the code's other outcome stands among the candidates."""
    with deciding("greet").simulation as simulation:
        page = Deciding(simulation)
        line = 1 + Path(__file__).read_text().splitlines().index('    return {"said": f"Hello, {whom}!"}')
        assert re.search(rf"{re.escape(Path(__file__).name)}\W.*\b{line}\b", page.shown())
        assert not guessed(page)
        assert not [
            name for name in page.names() if name.startswith(("ask_model", "paste_example", "draw_again"))
        ]
        assert any("whom == 'Ada'" in one.title for one in first(simulation).candidates)


def test_blanks_are_listed_drawn_again_and_filled_by_a_model() -> None:
    """Without a model the button is off; what somebody typed stays when another is drawn; a model's draft is no guess."""
    said = {"email": "a@example.com", "points": 7}
    with deciding("find_customer").simulation as simulation:
        page = Deciding(simulation)
        assert "points (integer)" in badges(page)
        assert guessed(page)
        assert page._one(page.tab.button, "ask_model").disabled
        assert NO_MODEL in page.shown()
        before = page.text("response_")
        assert page.press("draw_again").text("response_") != before
        assert page.refreshed().text("response_") == page.text("response_")
        page.type("response_", '{"mine": 1}').press("draw_again")
        assert page.text("response_") == '{"mine": 1}'
        simulation.environment.use_model(Drafter(says=json.dumps(said)))
        page = page.press("reset_").press("ask_model")
        wait_until(lambda: first(simulation).draft_by == "drafter", what="the draft", seconds=PATIENCE)
        assert not guessed(page.run())
        assert json.loads(page.text("response_")) == said
        assert page.text("form:response.points") == 7
        assert "drafter" in badges(page)
        assert re.search(r"drafter, \d+\.\d s, 11 \D+, 7 \D+", page.shown())
        page.press("accept_")
        (fact,) = answers(simulation)
        assert (fact.provenance.source, "drafter" in fact.provenance.notes[0]) == ("generated", True)


def test_all_drafts_are_accepted_together_only_without_a_blank() -> None:
    """The call and the place are named, and nothing is sent; once it is filled in, both are."""
    calls = [call("greet", whom="Bo"), call("find_customer", customer_id="C-1")]
    with asked(calls, tools=[find_customer, greet]) as simulation:
        page = Deciding(simulation).press("accept_all")
        assert "$.points" in page.shown()
        assert not answers(simulation)
        simulation.answer(simulation.pending[1], {"email": "a@b.c", "points": 7}, wait=PATIENCE)
        assert Deciding(simulation).press("accept_").shown()


def test_a_pasted_example_is_the_draft_and_the_shape_from_now_on() -> None:
    """Text that begins as JSON and is none, and what breaks the schema, is refused with the place; nothing is lost."""
    with deciding("find_customer").simulation as simulation:
        page = Deciding(simulation).press("paste_example")
        page.type("example_text", '{"email": ').press("use_example")
        assert "Line 1" in page.shown()
        page.type("example_text", '{"email": "a@b.c", "points": "many"}').press("use_example")
        assert "$.points" in page.shown()
        assert first(simulation).draft_blanks
        page.type("example_text", '{"email": "a@b.c", "points": 3}').press("use_example")
        assert not page.problems
        assert json.loads(page.text("response_")) == {"email": "a@b.c", "points": 3}
        assert not guessed(page)
        page.press("accept_")
        assert answers(simulation)[0].outcome.model_dump()["value"] == {"email": "a@b.c", "points": 3}
        assert simulation.undo(wait=PATIENCE)
        assert simulation.undo(wait=PATIENCE)
        assert first(simulation).draft_blanks


SCHEMA: Any = {"type": "object", "properties": {"points": {"type": "integer"}}, "required": ["points"]}


def test_a_declared_schema_stays_and_an_earlier_example_goes() -> None:
    """The next example is held to what the tool declares, not to the shape of the example before."""
    settings = EnvironmentSettings()
    held = take_example(settings, "t", SCHEMA, {"points": 3}).fields["tools"]["t"].output_schema
    assert held == {**SCHEMA, "examples": [{"points": 3}]}
    assert read_example('{"points": "x"}', held).misfits
    again = take_example(settings, "t", held, {"points": 4}).fields["tools"]["t"].output_schema
    assert again == {**SCHEMA, "examples": [{"points": 4}]}
    made = take_example(settings, "t", None, {"status": "a"}).fields["tools"]["t"].output_schema
    assert check({"status": "b"}, made) == ()
    assert check({"other": 1}, made)
    assert not read_example('["another shape"]', made).misfits
    assert take_example(settings, "t", None, "It is done.").fields["tools"]["t"].output_schema is not None


def test_what_is_no_json_is_a_text_and_half_json_is_refused() -> None:
    """A tool may answer with a text, which nobody puts in quotes; what was meant as JSON hides no mistake as a text."""
    texts: dict[str, JsonValue] = {
        "done": "done",
        " 12 ": 12,
        "null": None,
        "12 pieces": "12 pieces",
        '"a"': "a",
        "<b>x": "<b>x",
    }
    assert {text: read_example(text, None).value for text in texts} == texts
    for text in ("", "  ", "{", '{"a": 1,}', "[1", '"open'):
        with pytest.raises(TypedJsonError):
            read_example(text, None)
