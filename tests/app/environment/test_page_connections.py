"""The connections on the page of the environment: the graph, the table that can be edited, and the model that can be asked."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import pytest
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import Field

from simulator.environment.world.tool_settings import DeclaredTool
from simulator.kernel.kernel_agent import model_problem
from tests.app.environment.shaped import CANCEL, Shaped
from tests.app.page_driver import HOSTILE, Tab
from tests.harness.processes import wait_until


@pytest.fixture
def shaped() -> Shaped:
    """A session whose first call waits."""
    shaped = Shaped(CANCEL)
    shaped.open("Connections")
    return shaped


def _graph(tab: Tab) -> str:
    (chart,) = tab.app.get("graphviz_chart")
    return str(chart.proto.spec)


def test_the_graph_shows_tools_and_things_as_the_table_says(shaped: Shaped) -> None:
    """Each tool is a box, each kind an ellipse; a changed use counts at once and can be taken back, a senseless one is named."""
    drawn = _graph(shaped.tab)
    assert 'label="cancel_order", shape="box"' in drawn
    assert 'label="order", shape="ellipse"' in drawn
    assert 'label="changes order_id"' in drawn
    table = shaped.tab.app.data_editor[0].value
    place = table.index[(table["tool"] == "cancel_order") & (table["part"] == "parameter")][0]
    shaped.edit("connections_", edited_rows={int(place): {"use": "deletes"}})
    assert 'label="deletes order_id"' in _graph(shaped.tab)
    assert "you" in shaped.tab.app.data_editor[0].value.loc[place, "said_by"]
    shaped.tab.click("connections_reset")
    assert "deletes" not in _graph(shaped.tab)
    added = {"tool": "cancel_order", "part": "parameter", "place": "nothing", "kind": "order", "use": "reads"}
    shaped.edit("connections_", added_rows=[added])
    assert "cancel_order, nothing: " in shaped.tab.literal
    assert not shaped.environment.settings.connections.uses
    shaped.tab.fill("connections_only", ["find_order"])
    drawn = _graph(shaped.tab.run())
    assert "find_order" in drawn
    assert "cancel_order" not in drawn


@pytest.mark.usefixtures("no_key")
def test_a_model_that_cannot_be_asked_says_why(shaped: Shaped) -> None:
    """Without a model the button is off; with one that lacks its key the reason stands there, and a failure is shown."""
    assert shaped.tab.app.button(key="analysis_ask").disabled
    shaped.environment.change(simulation_model="gemini-2.5-flash")
    tab = shaped.tab.run()
    reason = model_problem("gemini-2.5-flash")
    assert reason
    assert reason in tab.literal
    assert not tab.app.error
    tab.click("analysis_ask")
    wait_until(lambda: bool(shaped.environment.now.not_analysed), what="the failure", seconds=60)
    tab.run()
    assert not tab.app.button(key="analysis_ask").disabled
    assert shaped.environment.now.not_analysed in tab.literal
    assert tab.app.error


class Analyst(BaseLlm):
    """A model that says of one tool what it deletes."""

    model: str = "analyst"
    asked: list[str] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Say it in JSON."""
        self.asked.append(str(llm_request.contents))
        use = {"tool_name": "cancel_order", "parameter": "order_id", "kind": "order", "use": "deletes"}
        said = {"uses": [use], "produces": [], "roles": []}
        yield LlmResponse(content=types.ModelContent(json.dumps(said)))


@pytest.mark.long
def test_what_a_model_says_stands_in_the_graph_and_holds_for_all_sessions(shaped: Shaped) -> None:
    """Its word stands over what names tell; another session of the agent has it at no cost; "Ask again" really asks."""
    model = Analyst()
    other = Shaped(CANCEL)
    for each in (shaped, other):
        each.environment.use_model(model)
        each.open("Connections").click("analysis_ask")
        now = each.environment
        wait_until(lambda now=now: bool(now.now.by_model), what="the model's word", seconds=60)  # type: ignore[misc] # bound
    assert len(model.asked) == 1
    tab = other.tab.run()
    assert 'label="deletes order_id"' in _graph(tab)
    assert "**analyst**" in tab.words
    assert "model analyst" in set(tab.app.data_editor[0].value["said_by"])
    tab.click("analysis_ask")
    wait_until(lambda: len(model.asked) == 2, what="the second question", seconds=60)


def test_hostile_names_are_letters(shaped: Shaped) -> None:
    """A description, a parameter and a model's name are shown as they are."""
    fields = {"type": "object", "properties": {f"{HOSTILE}_id": {"type": "string", "description": HOSTILE}}}
    shaped.environment.declare(DeclaredTool(name="create_x", description=HOSTILE, parameters=fields))
    shaped.environment.change(simulation_model=HOSTILE)
    tab = shaped.tab.run()
    assert [mark for mark in tab.live_marks() if not mark.startswith("graphviz_chart")] == []
