"""Proves what becomes of answers that break an output schema, of errors, and of things that do not exist: with and without the page."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from typing_extensions import TypedDict

from simulator.environment.injection.rules import InjectionRule
from simulator.environment.recordings.recorded_calls import ObservedCall
from simulator.environment.world.tool_settings import EnvironmentSettings, ToolSettings
from simulator.runtime import ContradictionError
from simulator.seats.answers import returned
from tests.harness.processes import wait_until
from tests.simulator.runtime.answering.test_generating_players import told
from tests.simulator.runtime.desk import asked, response_of
from tests.simulator.runtime.plugin.standing import FORMS, Form, both, config, played
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened, tool_facts


class Weather(TypedDict):
    """The weather."""

    city: str
    temperature: float


class Order(TypedDict):
    """An order."""

    order_id: str
    status: Literal["open", "shipped"]


def weather(city: str) -> Weather:
    """Return the weather."""
    return {"city": city, "temperature": "mild"}  # type: ignore[typeddict-item] # tools lie


def find_order(order_id: str) -> Order:
    """Find an order."""
    raise AssertionError("the real tool ran")


ROME = call("weather", city="Rome")
NOPE = call("find_order", order_id="NOPE")
GOOD = {"city": "Rome", "temperature": 21.5}
BAD: dict[str, Any] = {"city": "Rome", "temperature": "mild"}
BREACH = "$.temperature: 'mild'"
"""What each word about it names: the place, and the value that stands there."""

SET = ToolSettings(
    name="weather",
    output_schema={"type": "object", "properties": {"temperature": {"type": "number"}}},
)
ORDERS = json.dumps({"orders": [{"order_id": "A-1", "status": "open"}]})
INVENTED = {"order_id": "NOPE", "status": "shipped"}
ERROR = {"error_code": 404, "error_message": "No order NOPE."}
PLAIN_ERROR = {"status": "error", "error": "No order NOPE."}
RECORDED = ObservedCall(tool_name="weather", arguments={"city": "Rome"}, response=BAD, place="call 1")
MILD = InjectionRule.model_validate(
    {"rule_id": "mild", "tool_name": "weather", "effect": {"kind": "response", "value": BAD}}
)


# ---------------------------------------------------------------- errors of a model


@pytest.mark.parametrize(("error", "kind"), [(ERROR, "failed"), (PLAIN_ERROR, "returned")])
def test_a_model_may_answer_for_a_typed_tool_with_an_error(error: dict[str, Any], kind: str) -> None:
    """The error stands at once: no repair, and no success that is made up in its place."""
    with opened(agent_of([NOPE], tools=[find_order]), tools="model") as sim:
        teller = told(sim, error)
        assert sim.query("go", wait=PATIENCE)
        (fact,) = tool_facts(sim)
        assert (response_of(sim), fact.outcome.kind) == (error, kind)
        assert (fact.provenance.by, len(teller.heard)) == ("teller", 1)


# ---------------------------------------------------------------- what does not exist


@pytest.mark.parametrize("player", ["model", "auto"])
def test_no_model_is_asked_for_what_does_not_exist(player: str) -> None:
    """With a closed table, an unknown id is not found by rule, whatever a model would make up."""
    with opened(agent_of([NOPE], tools=[find_order]), tools=player) as sim:
        sim.environment.give_data(ORDERS)
        teller = told(sim, INVENTED)
        assert sim.query("go", wait=PATIENCE)
        assert "NOPE" in str(response_of(sim))
        assert "shipped" not in str(response_of(sim))
        (fact,) = tool_facts(sim)
        assert "no such entity" in fact.provenance.notes[0]
        assert (teller.heard, teller.looked_at) == ([], [])


def test_no_model_drafts_what_does_not_exist() -> None:
    """The offline draft stays, and the person reads why."""
    with opened(agent_of([NOPE], tools=[find_order])) as sim:
        sim.environment.give_data(ORDERS)
        teller = told(sim, INVENTED)
        request = asked(sim)
        sim.environment.ask_for_draft(request)
        wait_until(lambda: bool(sim.pending[0].draft_problem), what="the reason", seconds=PATIENCE)  # type: ignore[union-attr] # a tool call
        waits: Any = sim.pending[0]
        assert "no such entity" in waits.draft_problem
        assert waits.draft == request.draft
        assert (teller.heard, teller.looked_at) == ([], [])


# ---------------------------------------------------------------- answers that break the schema


@pytest.mark.parametrize("player", ["recorded", "auto"])
def test_a_recorded_answer_that_breaks_the_schema_is_held(player: str) -> None:
    """It waits in the person's editor, with the reason and with where it comes from."""
    with opened(agent_of([ROME], tools=[weather]), tools=player) as sim:
        sim.environment.give_recording("yesterday", [RECORDED])
        request = asked(sim)
        assert BREACH in request.note
        assert (request.draft, request.draft_by) == (BAD, "call 1")
        assert sim.answer(request, BAD, wait=PATIENCE)  # the schema is only declared
        (fact,) = tool_facts(sim)
        assert BREACH in str(fact.provenance.notes)
        assert "recorded in call 1" in fact.provenance.notes


def test_a_recorded_error_and_a_wrapped_answer_break_no_schema() -> None:
    """An error needs not fit, and ADK records a text in a field of its own."""

    def said(city: str) -> str:
        """Say something."""
        raise AssertionError("the real tool ran")

    calls = [
        ObservedCall(tool_name="weather", arguments={"city": "Rome"}, response=PLAIN_ERROR, place="call 1"),
        ObservedCall(
            tool_name="said", arguments={"city": "Rome"}, response={"result": "sunny"}, place="call 2"
        ),
    ]
    agent = agent_of([ROME], [call("said", city="Rome")], tools=[weather, said])
    with opened(agent, tools="recorded") as sim:
        sim.environment.give_recording("yesterday", calls)
        assert sim.query("go", wait=PATIENCE)
        assert not sim.pending
        assert [fact.provenance.source for fact in tool_facts(sim)] == ["recorded"] * 2


@both
@pytest.mark.parametrize("player", ["recorded", "auto"])
def test_without_the_page_a_recorded_answer_that_breaks_the_schema_gives_way(form: Form, player: str) -> None:
    """Another answer that fits stands, and the log says why."""
    given = config(players={"weather": player}, recordings={"yesterday": (RECORDED,)})
    (seen,), stage = played(form, agent_of([ROME], tools=[weather]), given)
    assert isinstance(seen["temperature"], float)
    (logged,) = stage.ours.calls()
    assert (logged.provenance.source, logged.provenance.by) == ("generated", "offline")
    assert BREACH in logged.provenance.notes[0]


def test_a_person_has_to_insist_on_what_breaks_a_schema_that_was_set() -> None:
    """It is refused like a contradiction, and given with a note when the person says so."""
    with opened(agent_of([ROME], tools=[weather])) as sim:
        sim.environment.change(tools={"weather": SET})
        request = asked(sim)
        assert BREACH in sim.environment.against(request.key, returned(BAD).outcome)[0].what
        with pytest.raises(ContradictionError, match=r"\$\.temperature"):
            sim.answer(request, BAD)
        assert sim.answer(
            request, returned(BAD).model_copy(update={"despite_contradictions": True}), wait=PATIENCE
        )
        (note,) = tool_facts(sim)[0].provenance.notes
        assert BREACH in note


@pytest.mark.parametrize(("player", "rules"), [("real", []), ("offline", [MILD])])
def test_what_a_real_tool_or_a_rule_says_is_given_and_flagged(
    player: str, rules: list[InjectionRule]
) -> None:
    """They are what they are; the fact, or without the page the log, says where they break the schema that was set."""
    agent = agent_of([ROME], tools=[weather])
    with opened(agent, tools=player, rules=rules) as sim:
        sim.environment.change(tools={"weather": SET})
        assert sim.query("go", wait=PATIENCE)
        assert response_of(sim) == BAD
        assert BREACH in str(tool_facts(sim)[0].provenance.notes)
    settings = EnvironmentSettings(tools={"weather": SET})
    given = config(*rules, players={"weather": player}, settings=settings)
    for form in FORMS:
        (seen,), stage = played(form, agent.clone(), given)
        assert seen == BAD
        assert BREACH in str(stage.ours.calls()[0].provenance.notes)


# ---------------------------------------------------------------- who made it


def test_no_model_is_asked_how_a_single_tool_hangs_together() -> None:
    """It hangs together with nothing."""
    with opened(agent_of([ROME], tools=[weather]), tools="model") as sim:
        teller = told(sim, GOOD)
        assert sim.query("go", wait=PATIENCE)
        assert (len(teller.heard), teller.looked_at) == (1, [])
        assert sim.environment.now.analysed_by == ""
