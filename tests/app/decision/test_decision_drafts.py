"""The decision pane while drafts change under a person's hands, or are guesses: by a model, by the world, by a recording, by the tool's code."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncGenerator, Callable
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypedDict

import pytest
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import BaseModel, JsonValue

from app.decision.ready_answers import read_example, take_example
from app.forms.form_reading import place_in_words
from app.forms.typed_json import TypedJsonError
from app.live.player_names import NO_MODEL
from app.session.provenance_labels import RIGHT
from simulator.environment.recordings import ObservedCall
from simulator.environment.schema.schema_checks import check
from simulator.environment.world.entities import EntityChange
from simulator.environment.world.tool_settings import EnvironmentSettings
from simulator.facts import Failed, Raised, ToolAnswered
from simulator.runtime import Simulation
from simulator.seats.requests import ToolRequest
from tests.app.decision.deciding import Deciding, answers, asked, first
from tests.harness.processes import wait_until
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened


class Order(TypedDict):
    """An order, so that the tool has a response schema."""

    order_id: str
    status: str


def find_order(order_id: str) -> Order:
    """Find an order."""
    return {"order_id": order_id, "status": "open"}


class PaidOrder(Order):
    """An order, and what it comes to."""

    total: float


def find_paid_order(order_id: str) -> PaidOrder:
    """Find an order that was paid."""
    raise AssertionError(order_id)


class BusyError(Exception):
    """What a client raises where its provider asks to come again in 25 seconds."""

    code = 429
    response = SimpleNamespace(headers={"retry-after": "25"})


class Drafter(BaseLlm):
    """A model that drafts one answer; None stands for one that never ends, and a busy one has no time at all.

    One that `waits` answers when it is told to.
    """

    model: str = "drafter"
    says: str | None = None
    is_busy: bool = False
    waits: threading.Event | None = None

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer."""
        if self.is_busy:
            raise BusyError("too many requests")
        if self.says is None:
            await asyncio.Event().wait()
        if self.waits is not None:
            assert await asyncio.to_thread(self.waits.wait, PATIENCE)
        said = types.Content(role="model", parts=[types.Part(text=self.says)])
        counted = types.GenerateContentResponseUsageMetadata(prompt_token_count=11, candidates_token_count=7)
        yield LlmResponse(content=said, usage_metadata=counted)


BY_MODEL = {"order_id": "A-1", "status": "lost at sea"}
RETRY = ("429", "too many requests", "25 s")
"""What is known of a retry: the code, what the provider said, and how long is waited."""


def asked_for(*calls: Any, model: BaseLlm | None = None, **more: Any) -> Any:
    """Open a session whose agent makes these calls at once, with a model for its environment."""
    simulation = opened(agent_of(list(calls), tools=[find_order]), **more)
    if model is not None:
        simulation.environment.use_model(model)
    simulation.query("go", wait=PATIENCE)
    return simulation


def until(simulation: Any, holds: Callable[[ToolRequest], bool]) -> None:
    """Wait until the call that waits is as it should be."""
    wait_until(lambda: holds(first(simulation)), what="the call to change", seconds=PATIENCE)


def test_a_draft_that_arrives_while_somebody_types_is_offered_and_takes_nothing_away() -> None:
    """What was typed stays, also where it is broken; the new draft is compared with it, and taken, or not offered again, by a click.

    An editor that nobody touched follows the world.
    """
    model = Drafter(says=json.dumps(BY_MODEL), waits=(typed := threading.Event()))
    with asked_for(call("find_order", order_id="A-1"), model=model) as simulation:
        page = Deciding(simulation)
        change = EntityChange(op="put", kind="order", id="A-1", fields={"order_id": "A-1", "status": "burnt"})
        simulation.environment.edit(change)
        assert "burnt" in page.run().text("response_")
        assert page.text("form:response.status") == "burnt"
        page.press("ask_model").type("response_", '{"mine": ')
        typed.set()
        until(simulation, lambda request: request.draft_by == "drafter")
        assert page.run().text("response_") == '{"mine": '
        compared = "\n".join(code.value for code in page.tab.code if code.language == "diff")
        assert "lost at sea" in compared
        assert '{"mine": ' in compared
        kept = page.refreshed().press("keep_mine")
        assert not any(name.startswith("keep_mine") for name in kept.names())
        assert kept.text("response_") == '{"mine": '
        page.press("take_draft")
        assert json.loads(page.text("response_")) == BY_MODEL
        page.press("bring_back")
        assert page.text("response_") == '{"mine": '


def test_a_model_at_work_shows_what_it_is_at_and_can_be_stopped() -> None:
    """The offline draft stays, and the pane says why there is no other; nobody is asked again by itself."""
    with asked_for(call("find_order", order_id="A-1"), model=Drafter()) as simulation:
        simulation.environment.change(drafts_by_model=True)
        page = Deciding(simulation)
        # What the model is at goes on while the page is drawn.
        until(simulation, lambda asked: bool(asked.drafting) and asked.drafting in page.run().shown())
        offline = first(simulation).draft
        page.press("stop_drafting")
        until(simulation, lambda request: bool(request.draft_problem))
        page.run().run()
        assert "stopped" in page.shown()
        assert json.loads(page.text("response_")) == offline
        page.refreshed().run()
        assert not first(simulation).drafting
        assert [fact.kind for _, fact in simulation.journal.path()].count("tool_proposed") == 1


def test_a_model_that_plays_a_tool_is_seen_at_its_retries_and_can_be_stopped() -> None:
    """The page names the model beside the tool; the turn ends with the button beside it."""
    agent = agent_of([call("find_order", order_id="A-1")], tools=[find_order])
    with opened(agent, tools="model") as simulation:
        simulation.environment.use_model(Drafter(is_busy=True))
        simulation.query("go", wait=0)
        wait_until(
            lambda: all(each in _at_work(simulation) for each in RETRY), what="the retry", seconds=PATIENCE
        )
        page = Deciding(simulation)
        (words,) = [str(one.value) for one in page.tab.markdown if "**find_order**" in str(one.value)]
        assert "**drafter**" in words
        assert _at_work(simulation) in page.shown()
        page.press("stop_running")
        assert simulation.session.turns[-1].stopped


def _at_work(simulation: Simulation) -> str:
    return "".join(each.text for each in simulation.view().running)


def test_a_draft_that_is_an_error_is_taken_as_one() -> None:
    """What does not exist is a failed call when a person takes the draft, as when it is answered by itself."""
    data = json.dumps({"orders": [{"order_id": "A-1", "total": 5.0}]})
    with opened(agent_of([call("find_paid_order", order_id="NOPE")], tools=[find_paid_order])) as simulation:
        simulation.environment.give_data(data)
        simulation.query("go", wait=PATIENCE)
        Deciding(simulation).press("accept_")
        (fact,) = answers(simulation)
        assert isinstance(fact.outcome, Failed)
        assert (fact.outcome.error_code, fact.provenance.source) == (404, "generated")


class Severity(Enum):
    """How bad a claim is."""

    MINOR = "minor"
    MAJOR = "major"


RATES = {Severity.MINOR: "half", Severity.MAJOR: "whole"}


def compute_payout(claim: str, severity: Severity) -> Order:
    """Compute a payout by a table that has no text as a key."""
    return {"order_id": claim, "status": RATES[severity]}


def test_what_the_code_raises_is_drafted_as_an_exception() -> None:
    """ADK gives the tool the text of an enum, so the real tool raises. What was typed in its place is restored by a reset."""
    wanted = call("compute_payout", claim="CL-1", severity="major")
    with asked([wanted], tools=[compute_payout]) as simulation:
        page = Deciding(simulation)
        assert (page.text("mode_"), page.text("exception_type_")) == ("Exception", "KeyError")
        assert "value of an enum" in page.shown()
        page.choose("mode_", "Error").press("reset_")
        assert page.text("exception_message_") == "major"
        page.press("accept_")
        (fact,) = answers(simulation)
        assert isinstance(fact.outcome, Raised)
        assert (fact.outcome.error.type, fact.outcome.error.message) == ("builtins:KeyError", "'major'")
        assert (fact.provenance.source, fact.provenance.notes[0].split(":")[0]) == (
            "generated",
            "From the tool's code",
        )


def look_up(word: str) -> dict[str, Any]:
    """Look a word up."""
    raise NotImplementedError(word)


def test_a_tool_without_a_schema_gets_a_form_from_its_draft() -> None:
    """The first draft is a guess, and its form takes other fields too; the second has the shape of what was answered."""
    turns = ([call("look_up", word="ada")], [call("look_up", word="bob")])
    with asked(*turns, tools=[look_up]) as simulation:
        page = Deciding(simulation)
        assert not any(name.startswith("form:response:others:add") for name in page.names())
        page.type("form:response:add_name", "rank").type("form:response:add_kind", "Whole number")
        page.press("form:response:add_now")
        page.type("form:response.rank", "1").run()
        assert json.loads(page.text("response_")).keys() == {"result", "rank"}
        page.type("response_", '{"word": "ada", "meaning": "a name", "rank": 3}').press("accept_")
        assert page.text("form:response.meaning")
        page.type("form:response.rank", "7").run()
        assert json.loads(page.text("response_"))["rank"] == 7


def test_the_nearest_recorded_call_says_what_differs() -> None:
    """Where a recording plays and has no such call, it is said why, and its answer can be taken over."""
    recorded = ObservedCall(
        tool_name="find_order",
        arguments={"order_id": "A-2"},
        response={"order_id": "A-2", "status": "sunk"},
        place="trace 1",
    )
    with opened(agent_of([call("find_order", order_id="A-1")], tools=[find_order])) as simulation:
        simulation.environment.give_recording("old", [recorded])
        simulation.set_player("tool", "recorded", "find_order")
        simulation.query("go", wait=PATIENCE)
        page = Deciding(simulation)
        assert re.search(r"args\.order_id .*'A-2'.*'A-1'", page.shown())
        page.press("take_recorded")
        assert json.loads(page.text("response_")) == recorded.response


class Customer(BaseModel):
    """A customer: an address can be drawn, points are not known."""

    email: str
    points: int


def find_customer(customer_id: str) -> Customer:
    """Find a customer."""
    return Customer.model_validate_json(Path(customer_id).read_text())


class Visit(BaseModel):
    """Two fields that are not known."""

    floor: int
    room: int


def find_visit(visit_id: str) -> Visit:
    """Find a visit."""
    return Visit.model_validate_json(Path(visit_id).read_text())


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


def test_a_blank_is_no_guess_any_more_once_it_is_filled_in_or_said_to_be_right() -> None:
    """It is named as the form labels it; the other fields stay listed until they are filled in too."""
    with deciding("find_customer").simulation as simulation:
        page = Deciding(simulation)
        assert guessed(page)
        assert not any("$" in text for text in badges(page).splitlines())
        assert "(blank at points; uncertain at email)" in page.shown()
        page.type("form:response.points", "3").run()
        assert not guessed(page)
        assert "points (integer)" not in badges(page)
        assert guessed(page.press("reset_"))
        assert not guessed(page.choose("are_right", True))
    with asked([call("find_visit", visit_id="V-1")], tools=[find_visit]) as simulation:
        page = Deciding(simulation)
        assert all(f"{name} (integer)" in badges(page) for name in ("floor", "room"))
        page.type("form:response.floor", "2").type("form:response.room", "a few").run()
        assert not guessed(page)
        page.type("form:response.room", "").run()
        assert ("room (integer)" in badges(page), "floor (integer)" in badges(page)) == (True, False)
        assert [each.label for each in page.tab.checkbox] == [RIGHT]
        page.type("form:response.room", "4").run()
        assert not page.tab.checkbox
    look = asked([call("look_up", word="ada")], tools=[look_up])
    with look as simulation:
        page = Deciding(simulation)
        assert "result (string)" in badges(page)
        page.type("response_", '{"rank": 1}').run()
        assert not guessed(page)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("$", "the whole response"),
        ("$.result", "result"),
        ("$.items[0].kind", "items \u203a 1 \u203a kind"),
        ('$["a b"]', "a b"),
        ("$.a[", "$.a["),
    ],
)
def test_a_place_is_named_as_the_form_labels_it(place: str, words: str) -> None:
    """Rows are counted from 1; what is no path stays as it is."""
    assert place_in_words(place) == words


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
        assert simulation.undo(wait=PATIENCE)
        assert page.run().text("response_") == before
        page.type("response_", '{"mine": 1}').press("draw_again")
        assert page.text("response_") == '{"mine": 1}'
        simulation.environment.use_model(Drafter(says=json.dumps(said)))
        page = page.press("reset_").press("ask_model")
        wait_until(lambda: first(simulation).draft_by == "drafter", what="the draft", seconds=PATIENCE)
        assert not guessed(page.run())
        assert json.loads(page.text("response_")) == said
        assert page.text("form:response.points") == "7"
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
        assert "blank at points." in page.shown()
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
        assert "\npoints: 'many' is not" in page.shown()
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


@pytest.mark.parametrize("sure", [False, True])
def test_a_person_says_that_the_values_of_a_draft_are_right(sure: bool) -> None:
    """Then nothing of it is marked, though it is what the draft said: a number may be 0, and a yes or no may be no."""
    with deciding("find_customer").simulation as simulation:
        page = Deciding(simulation)
        if sure:
            page.type("are_right_", True).run()
        page.press("accept_")
        (fact,) = (fact for _, fact in simulation.journal.path() if isinstance(fact, ToolAnswered))
        assert bool(fact.provenance.blanks) is not sure
        assert bool(fact.provenance.uncertain) is not sure
