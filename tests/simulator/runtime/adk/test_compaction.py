"""What sums the events of an app up is a model like any other: nobody asks it whom nobody chose."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer

from evalset.verify import verify
from simulator import Seats, SimulatedAgentConfig, Simulation
from simulator.seats.answers import said
from tests.evalset.replay import asking
from tests.simulator.runtime.stage import ASKED, PATIENCE, Scripted, say

pytestmark = pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL:UserWarning")


def summing(*, own: bool) -> SimulatedAgentConfig:
    """Make an app whose events are summed up after each turn, by a model of its own or by that of its agent."""
    agent = LlmAgent(name="stage", model=Scripted(turns=[[say("one")], [say("two")]]))
    summarizer = LlmEventSummarizer(llm=Scripted(model="summing", turns=[[say("sum")]])) if own else None
    compaction = EventsCompactionConfig(compaction_interval=1, overlap_size=0, summarizer=summarizer)
    app = App(name="stage", root_agent=agent, events_compaction_config=compaction)
    return SimulatedAgentConfig("stage", app, "stage.evalset.json", app_name="stage")


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("player", ["person", "model"])
def test_the_model_that_sums_up_is_asked_where_it_was_chosen_and_in_no_replay(
    player: str, own: bool, tmp_path: Path
) -> None:
    """A person sums up where a person plays the models; what is recorded verifies, and no model is asked for that."""
    ASKED.clear()
    with Simulation.open(
        summing(own=own), seats=Seats.model_validate({"agents": {"*": player}})
    ) as simulation:
        answered = 0
        for query in ("a", "b"):
            simulation.query(query, wait=PATIENCE)
            while simulation.pending:
                simulation.answer(simulation.pending[0], said("hello"), wait=PATIENCE)
                answered += 1
        eval_set = asking.kept(simulation, tmp_path)
    by_models = ["scripted", "summing" if own else "scripted"] * 2
    assert (answered, ASKED) == ((4, []) if player == "person" else (0, by_models))
    ASKED.clear()
    (case,) = verify(eval_set, agent=summing(own=own), models="recorded").cases
    assert (case.status, ASKED) == ("passed", [])
