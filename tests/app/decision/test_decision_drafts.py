"""The decision pane while drafts change under a person's hands: by a model, by the world, by a recording."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncGenerator, Callable
from types import SimpleNamespace
from typing import Any, TypedDict

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from simulator.environment.recordings.recorded_calls import ObservedCall
from simulator.environment.world.entities import EntityChange
from simulator.facts import Failed
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


def look_up(word: str) -> dict[str, Any]:
    """Look a word up."""
    raise NotImplementedError(word)


def test_a_tool_without_a_schema_gets_a_form_from_its_draft() -> None:
    """The first draft is a guess, and its form takes other fields too; the second has the shape of what was answered."""
    turns = ([call("look_up", word="ada")], [call("look_up", word="bob")])
    with asked(*turns, tools=[look_up]) as simulation:
        page = Deciding(simulation)
        page.type("json:form:response:others", '{"rank": 1}').run()
        assert json.loads(page.text("response_")).keys() == {"result", "rank"}
        page.type("response_", '{"word": "ada", "meaning": "a name", "rank": 3}').press("accept_")
        assert page.text("form:response.meaning")
        page.type("form:response.rank", 7).run()
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
