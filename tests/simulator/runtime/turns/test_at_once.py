"""What the agent's own model and real tools answer without waiting is a fact in the same moment, and again so."""

from __future__ import annotations

import math
from typing import Any

import pytest
from google.adk.agents import LoopAgent

from simulator.facts import CallStarted, ModelAnswered, ToolAnswered
from simulator.journal import Journal
from simulator.runtime import Simulation
from simulator.runtime.turns import turn
from tests.harness.processes import wait_until
from tests.simulator.runtime.playing import played, resumed
from tests.simulator.runtime.shapes import SHAPES
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, going, opened, tool_facts
from tests.simulator.runtime.traces import Traces

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated in favor of Workflow:DeprecationWarning")


@pytest.fixture
def _on_a_machine_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no answer be put off because the machine is slow just now."""
    monkeypatch.setattr(turn, "LONGEST_BREATH", math.inf)


def _events(sim: Simulation) -> list[Any]:
    return [event for turn in sim.session.turns for event in turn.events]


def _turns(sim: Simulation) -> list[ModelAnswered]:
    return [fact for _, fact in sim.journal.path() if isinstance(fact, ModelAnswered)]


@pytest.mark.usefixtures("_on_a_machine_at_rest")
def test_what_waits_for_nothing_is_answered_at_once() -> None:
    """A model and a coroutine that never wait answer at once; a function that runs in a thread does not."""
    traces = Traces()
    agent = agent_of(
        [call("hit_later", mark="a")], [call("hit", mark="b")], tools=[traces.hit, traces.hit_later]
    )
    with going(agent, tools="real") as sim:
        assert [(fact.tool_name, fact.at_once) for fact in tool_facts(sim)] == [
            ("hit_later", True),
            ("hit", False),
        ]
        assert [fact.at_once for fact in _turns(sim)] == [True, True, True]
    assert traces.ran == ["a", "b"]


def test_a_person_is_never_at_once() -> None:
    """What a person answers comes in its turn, and so does what follows where others wait."""
    agent = agent_of([call("hit_later", mark="a"), call("hit_later", mark="b")], tools=[Traces().hit_later])
    with going(agent, tools={"*": "person"}) as sim:
        sim.run_real(sim.pending[1], wait=PATIENCE)
        sim.answer(sim.pending[0], {"played": True}, wait=PATIENCE)
        assert [fact.at_once for fact in tool_facts(sim)] == [False, False]


@pytest.mark.usefixtures("_on_a_machine_at_rest")
def test_an_answer_at_once_is_replayed_at_once() -> None:
    """Lanes that answer at once and later come back with the same events, and nothing real runs again.

    A word that it starts stands before each answer of a real tool.
    """
    shape = SHAPES["quick_and_slow"]
    play, traces = played(shape, "real"), Traces()
    facts = [fact for _, fact in play.journal.path()]
    answers = [(place, fact) for place, fact in enumerate(facts) if isinstance(fact, ToolAnswered)]
    assert len(answers) == 2 * 4
    assert {fact.at_once for _, fact in answers} == {True, False}
    for place, answer in answers:
        assert answer.key in {fact.key for fact in facts[:place] if isinstance(fact, CallStarted)}
    turn_ends = [number for number, fact in play.journal.path() if fact.kind == "turn_ended"]
    with resumed(play.journal.branched(turn_ends[0] - 1).to_json(), shape, traces) as sim:
        assert sim.view().divergence is None
        again = _events(sim)
    assert traces.ran == []
    assert again == list(play.journal.session().turns[0].events)


def test_a_journal_from_before_has_no_answer_at_once() -> None:
    """A fact that says nothing of it was not at once."""
    play = played(SHAPES["plain"], "real")
    text = play.journal.to_json().replace(', "at_once": true', "").replace(', "at_once": false', "")
    answers = [
        fact for _, fact in Journal.from_json(text).path() if isinstance(fact, (ModelAnswered, ToolAnswered))
    ]
    assert answers
    assert not any(fact.at_once for fact in answers)


def test_an_agent_that_never_waits_leaves_room_for_others() -> None:
    """A loop of a model that answers at once is stopped while it goes round, and can be resumed."""
    agent = LoopAgent(name="round", sub_agents=[agent_of(name="talker")], max_iterations=100_000)
    with opened(agent) as sim:
        assert not sim.query("go", wait=0.0, max_llm_calls=100_000)
        wait_until(lambda: not all(each.at_once for each in _turns(sim)), what="a pause", seconds=PATIENCE)
        sim.stop()
        view = sim.view()
        assert not view.busy
        assert {fact.at_once for fact in _turns(sim)} == {True, False}
        assert sim.session.turns[0].stopped
