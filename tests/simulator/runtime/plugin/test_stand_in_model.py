"""Proves how a model answers in the environment without the page: asked once for all, held to the world, never in the way."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.tools.function_tool import FunctionTool

from simulator.environment.plugin_config import SimulatedEnvironmentConfig
from simulator.environment.world.tool_settings import EnvironmentSettings
from simulator.runtime.plugin import create_callback
from tests.simulator.runtime.plugin.order_tools import create_order, find_order
from tests.simulator.runtime.plugin.standing import Form, Oracle, config, in_threads, played
from tests.simulator.runtime.stage import PATIENCE, agent_of, call

CONNECTIONS: dict[str, Any] = {"uses": [], "produces": [], "roles": []}
FIND: Any = FunctionTool(find_order)
CREATE: Any = FunctionTool(create_order)
BY_MODEL = {"find_order": "model", "create_order": "model"}


def asked(prompt: str) -> bool:
    """Recognise the question how tools hang together from one for an answer."""
    return '"produces"' in prompt


def oracle(answer: Callable[[str], Any] = lambda _: {"status": "said"}) -> Oracle:
    """Make a model that knows nothing of connections, and answers calls so."""
    return Oracle(say=lambda prompt: CONNECTIONS if asked(prompt) else answer(prompt))


def test_the_model_answers_and_the_log_says_what_it_cost(form: Form) -> None:
    """A tool that the model plays is answered by it; the log names it."""
    model = oracle()
    agent = agent_of([call("find_order", order_id="A-1")], tools=[find_order, create_order])
    seen, stage = played(form, agent, config(players=BY_MODEL), model=model)
    assert seen == [{"status": "said"}]
    (logged,) = stage.ours.calls()
    assert (logged.provenance.source, logged.provenance.by) == ("generated", "oracle")
    assert [asked(prompt) for prompt in model.prompts] == [True, False]


def test_one_look_at_the_connections_serves_all_sessions_and_threads() -> None:
    """Eight threads, each with an event loop of its own, begin at once: one analysis, eight answers."""
    model = oracle()
    callback: Any = create_callback(config(players=BY_MODEL), model=model)
    callback.environment.note_tools(None, {"find_order": FIND, "create_order": CREATE})
    work = [lambda: asyncio.run(callback(FIND, {"order_id": "A-1"}, None))] * 8
    assert in_threads(work) == [{"status": "said"}] * 8
    assert sum(map(asked, model.prompts)) == 1


def test_who_waits_for_the_analysis_goes_on_when_the_first_one_is_cancelled() -> None:
    """The call that asked is stopped: another one asks, and answers."""
    begun = asyncio.Event()

    class Slow(Oracle):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            is_first = not self.prompts
            async for response in super().generate_content_async(llm_request, stream):
                if is_first:
                    begun.set()
                    await asyncio.Event().wait()
                yield response

    model = Slow(say=lambda prompt: CONNECTIONS if asked(prompt) else {"status": "said"})
    callback: Any = create_callback(config(players=BY_MODEL), model=model)
    callback.environment.note_tools(None, {"find_order": FIND, "create_order": CREATE})

    async def run() -> Any:
        first = asyncio.ensure_future(callback(FIND, {"order_id": "A-1"}, None))
        await begun.wait()
        second = asyncio.ensure_future(callback(FIND, {"order_id": "A-2"}, None))
        await asyncio.sleep(0)
        first.cancel()
        return await asyncio.wait_for(second, PATIENCE), first

    answer, first = asyncio.run(run())
    assert answer == {"status": "said"}
    assert first.cancelled()
    assert [each.arguments for each in callback.calls()] == [{"order_id": "A-2"}]
    assert sum(map(asked, model.prompts)) == 2


def test_an_analysis_that_fails_is_asked_for_again_by_the_next_session_only() -> None:
    """The connections that were found offline stand meanwhile, and the answers are the model's."""
    model = Oracle(say=lambda prompt: "no JSON" if asked(prompt) else {"status": "said"})
    turns = [[call("find_order", order_id="A-1")], [call("find_order", order_id="A-2")]]
    agent = agent_of(*turns, tools=[find_order, create_order])
    seen, stage = played("plugin", agent, config(players=BY_MODEL), model=model)
    first = sum(map(asked, model.prompts))
    assert seen == [{"status": "said"}] * 2
    asyncio.run(stage.turn("another"))
    assert sum(map(asked, model.prompts)) == 2 * first


@pytest.mark.parametrize(
    ("says", "wrong", "asked_twice"),
    [
        ({"product_id": "P-1", "name": "Mug", "stock": -5}, "stock", False),
        ("no JSON at all", "second response", True),
    ],
)
def test_an_answer_of_no_use_is_not_taken_and_has_its_cost_too(
    form: Form, says: Any, wrong: str, asked_twice: bool
) -> None:
    """Whether it contradicts the world or is no JSON: the offline draft stands, and the log says what was wrong, and what it cost."""
    data = json.dumps({"products": [{"product_id": "P-1", "name": "Mug", "stock": 12}]})

    def find_product(product_id: str) -> dict[str, Any]:
        """Find a product."""
        raise AssertionError("the real tool ran")

    agent = agent_of([call("find_product", product_id="P-1")], tools=[find_product])
    settings = EnvironmentSettings(invariants=("stock >= 0",))
    given = config(players={"find_product": "model"}, environment_data=data, settings=settings)
    (seen,), stage = played(form, agent, given, model=oracle(lambda _: says))
    assert seen["stock"] == 12
    (logged,) = stage.ours.calls()
    assert logged.provenance.by == "offline"
    reason, cost, *_ = logged.provenance.notes
    assert wrong in reason
    assert re.match(r"oracle, \d+\.\d s", cost)
    assert ("asked 2 times" in cost) is asked_twice
    assert logged.contradicts == ()


def test_a_recorded_answer_comes_before_the_model(form: Form) -> None:
    """`auto` takes the recorded answer to the same call, in its order, and asks the model for any other."""
    uses = [
        {"name": "find_order", "args": {"order_id": "A-1"}, "response": {"status": status}}
        for status in ("one", "two")
    ]
    trace = json.dumps([{"intermediate_data": {"tool_uses": uses}}])
    turns = [[call("find_order", order_id=order_id)] for order_id in ("A-1", "A-1", "B-2")]
    agent = agent_of(*turns, tools=[find_order])
    given = config(players={"find_order": "auto"}, tracing=trace)
    seen, stage = played(form, agent, given, model=oracle())
    assert seen == [{"status": "one"}, {"status": "two"}, {"status": "said"}]
    assert [each.provenance.source for each in stage.ours.calls()] == ["recorded", "recorded", "generated"]


@pytest.mark.parametrize("model", ["gemini-x-without-a-key", "nobody-has-this-model"])
def test_a_model_that_cannot_be_asked_leaves_the_draft_at_once(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No key or no such model: the offline draft answers, the log says why, and nothing real runs."""
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    given = SimulatedEnvironmentConfig(
        players={"find_order": "model"}, settings=EnvironmentSettings(simulation_model=model)
    )
    agent = agent_of([call("find_order", order_id="A-1")], tools=[find_order])
    (seen,), stage = played("callback", agent, given)
    assert seen["order_id"] == "A-1"
    assert model in stage.ours.calls()[0].provenance.notes[0]
