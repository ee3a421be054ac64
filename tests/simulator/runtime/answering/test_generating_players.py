"""Proves who answers where a generator plays a tool, and what becomes of answers that break a schema, of errors, and of things that do not exist."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import Field
from typing_extensions import TypedDict

from simulator.environment.injection.rule_effects import AskEffect
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.recordings import ObservedCall
from simulator.environment.world.tool_settings import EnvironmentSettings, ToolSettings
from simulator.facts import Failed, ToolProposed
from simulator.runtime import ContradictionError, Simulation, SimulationError
from simulator.seats.answers import ToolAnswer, returned
from tests.harness.processes import wait_until
from tests.simulator.runtime.answering.going import going, sources
from tests.simulator.runtime.desk import asked, response_of, waits
from tests.simulator.runtime.plugin.standing import FORMS, config, played
from tests.simulator.runtime.stage import (
    PATIENCE,
    StandIn,
    agent_of,
    call,
    opened,
    resumed,
    tool_facts,
    tool_requests,
)


class Order(TypedDict):
    """An order."""

    order_id: str
    sku: str
    quantity: int


def create_order(sku: str, quantity: int) -> Order:
    """Create an order."""
    raise AssertionError("the real tool ran")


def find_order(order_id: str) -> Order:
    """Find an order."""
    raise AssertionError("the real tool ran")


def mumble(x: str):  # type: ignore[no-untyped-def] # noqa: ANN201 - nothing is to be known of what it gives
    """Mumble."""
    raise AssertionError("the real tool ran")


def stock(sku: str) -> dict[str, object]:
    """Return what is left."""
    return {"sku": sku, "left": 3}


TOOLS = [create_order, find_order, mumble]
MUG = call("create_order", sku="mug", quantity=2)
MADE = {"order_id": "T-1", "sku": "mug", "quantity": 2}


class Teller(StandIn):
    """A model that says what it was told to, in order, and counts how often it was asked."""

    model: str = "teller"
    says: list[str] = Field(default_factory=list)
    heard: list[str] = Field(default_factory=list)
    looked_at: list[str] = Field(default_factory=list)
    connections: str = "nothing usable"

    def respond(self, request: LlmRequest) -> Any:
        """Say the next thing."""
        if "how they hang together" in str(request):
            self.looked_at.append(str(request))
            return self.connections
        self.heard.append(str(request.contents))
        said = self.says[min(len(self.heard), len(self.says)) - 1]
        counted = types.GenerateContentResponseUsageMetadata(prompt_token_count=11, candidates_token_count=7)
        return LlmResponse(content=types.ModelContent(said), usage_metadata=counted)


def told(sim: Simulation, *says: Any) -> Teller:
    """Return the environment a model that says these things."""
    teller = Teller(says=[said if isinstance(said, str) else json.dumps(said) for said in says])
    sim.environment.use_model(teller)
    return teller


# ---------------------------------------------------------------- offline


def test_the_offline_generator_answers_by_itself_and_agrees_with_what_it_said() -> None:
    """What was created is found again; nobody is asked, nothing real runs, and the fact says where it comes from."""
    agent = agent_of([MUG], lambda request: [call("find_order", order_id=_created(request))], tools=TOOLS)
    with going(agent, tools="offline") as sim:
        outcomes: Any = [fact.outcome for fact in tool_facts(sim)]
        created, found = outcomes
        assert created.kind == found.kind == "returned"
        assert found.value == created.value
        assert (created.value["sku"], created.value["quantity"]) == ("mug", 2)
        assert sources(sim) == [("generated", "offline")] * 2
        assert all(fact.provenance.notes for fact in tool_facts(sim))


def _created(request: LlmRequest) -> str:
    parts: Any = [part for content in request.contents for part in content.parts or ()]
    made = [part.function_response.response for part in parts if part.function_response]
    return str(made[-1]["order_id"])


def test_an_undo_takes_back_a_persons_step_and_not_what_was_generated() -> None:
    """A generated answer is nobody's step; a draft that a person took is one."""
    with going(agent_of([MUG], [MUG], tools=TOOLS), tools="offline") as sim:
        sim.undo()
        assert not sim.session.turns
    with opened(agent_of([MUG], [MUG], tools=TOOLS)) as sim:
        request = asked(sim)
        assert sim.answer(request, request.draft, wait=PATIENCE)
        assert sim.undo()
        assert sim.pending[0].key == request.key


# ---------------------------------------------------------------- a model


def test_a_player_that_cannot_play_leaves_the_call_to_the_person() -> None:
    """No model is set: the person is asked, and told what is missing; nothing is lost."""
    with opened(agent_of([MUG], tools=TOOLS), tools="model") as sim:
        request = asked(sim)
        assert any("no model" in problem for problem in sim.view().problems)
        assert sim.answer(request, {"order_id": "A", "sku": "mug", "quantity": 2}, wait=PATIENCE)


@pytest.mark.long
def test_a_resumed_session_asks_no_model_again() -> None:
    """Answers and drafts of a model are facts: the journal alone brings both back."""
    agent = agent_of([MUG], [call("find_order", order_id="T-1")], tools=TOOLS)
    with opened(agent, tools={"create_order": "model"}) as sim:
        teller = told(sim, MADE)
        request = asked(sim)
        sim.environment.ask_for_draft(request)
        wait_until(lambda: sim.pending[0].draft_by == "teller", what="the model's draft", seconds=PATIENCE)  # type: ignore[union-attr] # a tool call
        text = sim.journal.to_json()
    with resumed(text, agent) as again:
        (waits,) = again.pending
        assert getattr(waits, "draft", None) == MADE
        assert getattr(waits, "draft_by", None) == "teller"
        assert len(teller.heard) == 2


def test_a_draft_by_a_model_is_offered_while_the_call_can_be_answered() -> None:
    """The draft becomes the request's, and its author stays known; where there is none the offline draft stands, with a reason."""
    with opened(agent_of([MUG], tools=TOOLS)) as sim:
        request = asked(sim)
        with pytest.raises(SimulationError, match="no model"):
            sim.environment.ask_for_draft(request)
        told(sim, "nothing usable", "again nothing")
        sim.environment.ask_for_draft(request)
        wait_until(lambda: bool(waits(sim).draft_problem), what="the reason", seconds=PATIENCE)
        assert (waits(sim).draft_by, waits(sim).drafting, waits(sim).draft) == ("offline", "", request.draft)
        told(sim, {"order_id": "T-2", "sku": "mug", "quantity": 2})
        sim.environment.ask_for_draft(request)
        wait_until(lambda: waits(sim).draft_by == "teller", what="the draft", seconds=PATIENCE)
        assert waits(sim).draft == {"order_id": "T-2", "sku": "mug", "quantity": 2}
        assert sim.answer(request, waits(sim).draft, wait=PATIENCE)
        assert [fact.by for _, fact in sim.journal.path() if isinstance(fact, ToolProposed)] == ["teller"] * 2
        (fact,) = tool_facts(sim)
        assert fact.provenance.source == "generated"
        assert "teller" in fact.provenance.notes[0]


# ---------------------------------------------------------------- recordings


def test_a_recording_answers_the_same_question_in_its_order_and_leaves_others_to_the_person() -> None:
    """The same call twice gets the first and then the second answer; what was not recorded comes with what differs."""
    asks = [[call("find_order", order_id="R-1")]] * 2 + [[call("find_order", order_id="R-2")]]
    recorded = [
        ObservedCall(
            tool_name="find_order",
            arguments={"order_id": "R-1"},
            response={"order_id": "R-1", "sku": "mug", "quantity": quantity},
            place=f"call {quantity}",
        )
        for quantity in (1, 2)
    ]
    with opened(agent_of(*asks, tools=TOOLS), tools="recorded") as sim:
        sim.environment.give_recording("yesterday", recorded)
        request = asked(sim)
        assert sources(sim) == [("recorded", "call 1"), ("recorded", "call 2")]
        assert "order_id" in request.note
        assert "R-2" in request.note
        assert sim.answer(request, {"order_id": "R-2", "sku": "mug", "quantity": 3}, wait=PATIENCE)
        sim.environment.drop_recording("yesterday")
        assert sim.environment.now.recordings == {}


# ---------------------------------------------------------------- by itself


def test_by_itself_it_goes_on_until_a_rule_or_a_guess_needs_a_person() -> None:
    """What code says is answered; a tool of which nothing is known, and a rule that asks, stop it with a word."""
    turns = [
        [call("stock", sku="mug")],
        [call("mumble", x="a")],
        [call("create_order", sku="lamp", quantity=1)],
    ]
    ask = InjectionRule(
        rule_id="lamps", tool_name="create_order", effect=AskEffect(), match_args={"sku": "lamp"}
    )
    with opened(agent_of(*turns, tools=[*TOOLS, stock]), tools="auto", rules=[ask]) as sim:
        request = asked(sim)
        assert (request.tool_name, sources(sim)) == ("mumble", [("generated", "offline")])
        assert "guess" in request.note
        assert sim.answer(request, {"said": "mm"}, wait=PATIENCE)
        assert waits(sim).tool_name == "create_order"
        assert "lamps" in waits(sim).note


def test_by_itself_it_stops_where_an_answer_would_contradict_an_invariant() -> None:
    """What a model makes up against an invariant is held, and waits in the person's editor with the reason."""
    with opened(agent_of([MUG], tools=TOOLS), tools="auto") as sim:
        sim.environment.change(invariants=("order.quantity > 0",))
        told(sim, {"order_id": "T-1", "sku": "mug", "quantity": 0})
        request = asked(sim)
        assert "order.quantity > 0" in request.note
        assert request.draft == {"order_id": "T-1", "sku": "mug", "quantity": 0}
        with pytest.raises(ContradictionError) as caught:
            sim.answer(request, request.draft)
        assert caught.value.contradictions[0].invariant == "order.quantity > 0"
        despite = returned(request.draft).model_copy(update={"despite_contradictions": True})
        assert isinstance(despite, ToolAnswer)
        assert sim.answer(request, despite, wait=PATIENCE)
        (flag,) = sim.environment.world().flags
        assert flag.tool_name == "create_order"


# ---------------------------------------------------------------- connections by a model


def test_a_model_is_heard_once_about_the_connections_as_soon_as_it_is_asked_for_anything() -> None:
    """One analysis for all of the agent's tools and for all sessions with it; its word is a fact; settings can forbid it."""
    use = {"tool_name": "create_order", "parameter": "sku", "kind": "article", "use": "reads"}
    connections = json.dumps({"uses": [use], "produces": [], "roles": []})
    teller = Teller(model="teller of connections", says=[json.dumps(MADE)], connections=connections)
    for asked_for in (1, 1):
        with opened(agent_of([MUG], [MUG], tools=TOOLS), tools="model") as sim:
            sim.environment.use_model(teller)
            assert sim.query("go", wait=PATIENCE)
            wait_until(lambda: bool(sim.environment.now.by_model), what="the connections", seconds=PATIENCE)
            kinds = {each.parameter: each.kind for each in sim.environment.world().connections.uses}
            assert kinds["sku"] == "article"
            assert len(teller.looked_at) == asked_for
            assert len(teller.looked_at[0].split("find_order")) > 1
    with opened(agent_of([MUG], tools=TOOLS), tools="model") as sim:
        sim.environment.change(connections_by_model=False)
        sim.environment.use_model(Teller(model="quiet", says=[json.dumps(MADE)]))
        assert sim.query("go", wait=PATIENCE)
        assert sim.environment.now.analysed_by == ""


class Weather(TypedDict):
    """The weather."""

    city: str
    temperature: float


class Sold(TypedDict):
    """An order, and how far it is."""

    order_id: str
    status: Literal["open", "shipped"]


def weather(city: str) -> Weather:
    """Return the weather."""
    return {"city": city, "temperature": "mild"}  # type: ignore[typeddict-item] # tools lie


def forecast(city: str) -> Weather:
    """Return the weather of tomorrow."""
    raise AssertionError("the real tool ran")


def get_order(order_id: str) -> Sold:
    """Find an order."""
    raise AssertionError("the real tool ran")


ROME = call("weather", city="Rome")
NOPE = call("get_order", order_id="NOPE")
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
    """The error stands at once: no repair, and no success that is made up in its place. How a single tool hangs together nobody is asked."""
    with opened(agent_of([NOPE], tools=[get_order]), tools="model") as sim:
        teller = told(sim, error)
        assert sim.query("go", wait=PATIENCE)
        (fact,) = tool_facts(sim)
        assert (response_of(sim), fact.outcome.kind) == (error, kind)
        assert (fact.provenance.by, len(teller.heard)) == ("teller", 1)
        assert (teller.looked_at, sim.environment.now.analysed_by) == ([], "")


# ---------------------------------------------------------------- what does not exist


@pytest.mark.parametrize("player", ["model", "auto", "person"])
def test_no_model_is_asked_for_what_does_not_exist(player: str) -> None:
    """With a closed table, an unknown id is not found by rule, whatever a model would make up; for a person the offline draft stays, with the reason."""
    with opened(agent_of([NOPE], tools=[get_order]), tools=player) as sim:
        sim.environment.give_data(ORDERS)
        teller = told(sim, INVENTED)
        assert sim.query("go", wait=PATIENCE)
        for request in tool_requests(sim):
            sim.environment.ask_for_draft(request)
            wait_until(lambda: bool(waits(sim).draft_problem), what="the reason", seconds=PATIENCE)
            assert "no such entity" in waits(sim).draft_problem
            assert sim.answer(request, waits(sim).draft, wait=PATIENCE)
        assert "NOPE" in str(response_of(sim))
        assert "shipped" not in str(response_of(sim))
        (fact,) = tool_facts(sim)
        assert player == "person" or "no such entity" in fact.provenance.notes[0]
        assert (teller.heard, teller.looked_at) == ([], [])


# ---------------------------------------------------------------- answers that break the schema


@pytest.mark.parametrize("player", ["recorded", "auto"])
def test_a_recorded_answer_that_breaks_the_schema_is_held(player: str) -> None:
    """It waits in the person's editor, with the reason and with where it comes from; without the page another answer that fits stands."""
    given = config(players={"weather": player}, recordings={"yesterday": (RECORDED,)})
    for form in FORMS:
        (seen,), stage = played(form, agent_of([ROME], tools=[weather]), given)
        assert isinstance(seen["temperature"], float)
        (logged,) = stage.ours.calls()
        assert (logged.provenance.source, logged.provenance.by) == ("generated", "offline")
        assert BREACH in logged.provenance.notes[0]
    with opened(agent_of([ROME], tools=[weather]), tools=player) as sim:
        sim.environment.give_recording("yesterday", [RECORDED])
        request = asked(sim)
        assert BREACH in request.note
        assert (request.draft, request.draft_by) == (BAD, "call 1")
        assert sim.answer(request, BAD, wait=PATIENCE)  # the schema is only declared
        (fact,) = tool_facts(sim)
        assert BREACH in str(fact.provenance.notes)
        assert "recorded in call 1" in fact.provenance.notes


@pytest.mark.parametrize("player", ["recorded", "auto"])
def test_recorded_errors_and_a_wrapped_answer_break_no_schema(player: str) -> None:
    """What is told in ADK's form of an error is a failed call, any error needs not fit, and ADK records a text in a field of its own."""

    def said(city: str) -> str:
        """Say something."""
        raise AssertionError("the real tool ran")

    arguments = {"city": "Rome"}
    gone = {**ERROR, "order_id": "R-1"}
    told_ = {"weather": PLAIN_ERROR, "said": {"result": "sunny"}, "forecast": gone}
    calls = [
        ObservedCall(tool_name=name, arguments=arguments, response=response, place=name)
        for name, response in told_.items()
    ]
    turns = [[call(name, **arguments)] for name in told_]
    with opened(agent_of(*turns, tools=[weather, said, forecast]), tools=player) as sim:
        sim.environment.give_recording("yesterday", calls)
        assert sim.query("go", wait=PATIENCE)
        assert not sim.pending
        assert sources(sim) == [("recorded", name) for name in told_]
        assert tool_facts(sim)[-1].outcome == Failed(**ERROR, details={"order_id": "R-1"})
        assert response_of(sim) == gone


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
