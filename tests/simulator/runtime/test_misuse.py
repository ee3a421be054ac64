"""Proves that a command that makes no sense is refused in words, changes nothing, and leaves the session usable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents import LlmAgent

from simulator.agent_config import SimulatedAgentConfig
from simulator.environment.injection.rules import ErrorEffect, InjectionRule
from simulator.journal import Journal
from simulator.runtime import Simulation, SimulationError, model_reachability
from simulator.seats.answers import ModelAnswer, ToolAnswer, returned, said
from simulator.session import Seats, SessionState
from tests.simulator.runtime.desk import FIND, asked, find
from tests.simulator.runtime.stage import PATIENCE, agent_of, entries, opened, resumed, say, tool_facts

RULE = InjectionRule(rule_id="down", tool_name="find", effect=ErrorEffect(error_code=503, error_message="no"))
KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE")


def desk(**more: Any) -> Simulation:
    """Open a session with an agent that asks one tool."""
    return opened(agent_of(FIND, tools=[find]), **more)


def nested(levels: int) -> Any:
    """Make dicts in each other."""
    value: Any = {}
    for _ in range(levels):
        value = {"in": value}
    return value


# ---------------------------------------------------------------- a simulation that was closed


COMMANDS: tuple[Callable[[Simulation], object], ...] = (
    lambda sim: sim.query("again", wait=PATIENCE),
    lambda sim: sim.answer("0/0", {}),
    lambda sim: sim.run_real("0/0"),
    lambda sim: sim.confirm("call", confirmed=True),
    lambda sim: sim.reply("call", {}),
    lambda sim: sim.set_player("tool", "real"),
    lambda sim: sim.set_rules([]),
    lambda sim: sim.switch_rule("down", enabled=False),
    lambda sim: sim.stop(),
    lambda sim: sim.move_head(1),
    lambda sim: sim.undo(),
)


def test_a_simulation_that_was_closed_takes_no_command_and_can_be_seen_and_resumed() -> None:
    """Each command says that it is closed, and the journal stays; closing twice does nothing, and it resumes where it was."""
    sim = desk(rules=[RULE.model_copy(update={"enabled": False})])
    asked(sim)
    before = sim.journal.to_json()
    sim.close()
    for command in COMMANDS:
        with pytest.raises(SimulationError, match="closed"):
            command(sim)
    sim.close()
    assert sim.journal.to_json() == before
    assert sim.wait(PATIENCE)
    assert not sim.view().running
    assert sim.view().session.state is SessionState.ACTIVE
    assert (sim.pending, sim.can_undo(), sim.model_view()) == ((), True, None)
    with resumed(before, sim.config.agent) as again:
        assert again.answer(again.pending[0], {"status": "open"}, wait=PATIENCE)
        assert again.session.state is SessionState.COMPLETED


# ---------------------------------------------------------------- what the agent says


@pytest.mark.parametrize(
    "empty", ["", "  ", said(""), said("\n"), ModelAnswer(parts=({"text": ""}, {"text": " "}))]
)
def test_the_agent_does_not_say_nothing(empty: Any) -> None:
    """An answer without a word is refused; the request waits on, and takes a text."""
    with desk(agents="person") as sim:
        request = asked(sim)
        with pytest.raises(SimulationError, match="empty"):
            sim.answer(request, empty)
        assert sim.pending[0].key == request.key
        assert sim.answer(request, "Done.", wait=PATIENCE)
        assert [entry.content for entry in entries(sim, "final_response")] == ["Done."]


def test_what_the_model_itself_proposed_may_be_empty() -> None:
    """A person can approve a turn of the agent's own model that says nothing, for that is what it did."""
    with opened(agent_of([say("")]), agents="held") as sim:
        request = asked(sim)
        assert sim.answer(request, said(""), wait=PATIENCE)
        assert not sim.pending
        assert sim.session.turns[0].error is None


# ---------------------------------------------------------------- what the user says


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (" \n", "empty"),
        (None, "NoneType"),
        (5, "int"),
        ({"parts": []}, "one part"),
        ({"parts": [{"text": "  "}, {"text": ""}]}, "empty"),
        ({"role": "model", "parts": [{"text": "hi"}]}, "role.*'model'"),
        ({"role": 5, "parts": [{"text": "hi"}]}, "role.* 5"),
        ({"parts": [{"text": "hi"}], "said_by": "me"}, "said_by"),
        ({"parts": [{"text": nested(3000)}]}, "200 levels"),
        ({"parts": [{"function_response": {"id": "no-such", "name": "find", "response": {}}}]}, "no-such"),
        ({"parts": [{"functionResponse": {"name": "find", "response": {}}}]}, "id None"),
    ],
)
def test_a_query_that_says_nothing_or_speaks_for_another_is_refused(message: Any, words: str) -> None:
    """The text says what is wrong with the message, and no turn starts."""
    with desk() as sim:
        before = sim.journal.to_json()
        with pytest.raises(SimulationError, match=words):
            sim.query(message, wait=PATIENCE)
        assert sim.journal.to_json() == before
        assert asked(sim).tool_name == "find"


@pytest.mark.parametrize("role", [{}, {"role": None}, {"role": "user"}])
def test_a_content_without_a_role_is_the_users(role: dict[str, Any]) -> None:
    """The role of a query need not be said."""
    with opened(agent_of([say("hello")])) as sim:
        assert sim.query({"parts": [{"text": "hi"}], **role}, wait=PATIENCE)
        assert sim.session.turns[0].message == {"role": "user", "parts": [{"text": "hi"}]}


# ---------------------------------------------------------------- what tools answer


@pytest.mark.parametrize(
    "deep", [nested(201), nested(3000), returned(nested(201)), returned({}, state_delta=nested(201))]
)
def test_an_answer_that_no_journal_could_hold_is_refused(deep: Any) -> None:
    """Nesting without end is refused in words; the request waits on, and the journal can be written."""
    with desk() as sim:
        request = asked(sim)
        with pytest.raises(SimulationError, match=r"find .*nested"):
            sim.answer(request, deep)
        assert sim.pending[0].key == request.key
        assert sim.answer(request, nested(199), wait=PATIENCE)
        assert Journal.from_json(sim.journal.to_json()).session() == sim.session


def test_the_draft_taken_as_it_is_is_recorded_as_generated() -> None:
    """A plain value that equals the request's draft was generated; another one, or an answer that says so, was written."""
    for change, source in (({}, "generated"), ({"status": "elsewhere"}, "written")):
        with desk() as sim:
            request = asked(sim)
            assert sim.answer(request, {**request.draft, **change}, wait=PATIENCE)
            assert [fact.provenance.source for fact in tool_facts(sim)] == [source]
    with desk() as sim:
        request = asked(sim)
        answer = ToolAnswer(outcome=returned(request.draft).outcome, source="edited")
        assert sim.answer(request, answer, wait=PATIENCE)
        assert [entry.provenance.source for entry in entries(sim, "tool_output")] == ["edited"]


# ---------------------------------------------------------------- how a session begins


def test_two_rules_of_one_id_are_refused_at_the_beginning_as_later() -> None:
    """The error is the same kind, and names the id, whether the rules come first or later; so is that of what is no rule."""
    odd: Any = [5]
    with pytest.raises(SimulationError, match="rules"):
        desk(rules=odd)
    with pytest.raises(SimulationError, match="id down"):
        desk(rules=[RULE, RULE])
    with desk() as sim, pytest.raises(SimulationError, match="id down"):
        sim.set_rules([RULE, RULE])


def test_without_a_word_about_seats_a_person_plays_whom_no_model_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent's own model plays if it can be reached, and a person if not; who says seats, has them as said."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)  # what counts is the environment itself
    config = SimulatedAgentConfig("Clerk", LlmAgent(name="clerk", model="gemini-2.5-flash"), "set.json")
    assert model_reachability(config)
    with Simulation.open(config) as sim:
        assert sim.session.seats == Seats(agents={"*": "person"})
        assert asked(sim).agent == "clerk"
    with Simulation.open(config, seats=Seats()) as sim:
        assert sim.session.seats == Seats()
    monkeypatch.setenv("GEMINI_API_KEY", "key")
    assert model_reachability(config) is None
    with Simulation.open(config) as sim:
        assert sim.session.seats == Seats()
