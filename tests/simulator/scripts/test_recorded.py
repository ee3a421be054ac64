"""The script of a recorded session gives the same golden trace again, whatever happened in the session."""

from __future__ import annotations

import re
from typing import Any

import pytest
from google.adk.agents import LlmAgent, LoopAgent, ParallelAgent
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from simulator import (
    InjectionRule,
    Journal,
    Seats,
    Simulation,
    called,
    demo_agent,
    failed,
    raised,
    returned,
    said,
)
from simulator.agents import DEMOS
from simulator.scripts import ScriptError, play_script, read_script, script_of, write_script
from simulator.seats.answers import ModelAnswer
from tests.evalset.sessions import (
    PATIENCE,
    Scripted,
    agent,
    answer,
    ask,
    call,
    find_order,
    opened,
    refund,
    say,
)
from tests.simulator.scripts.recording import case_of, play, record_demo, replayed

# ADK warns of agents that many people still have.
pytestmark = pytest.mark.filterwarnings("ignore:(Loop|Parallel)Agent is deprecated:DeprecationWarning")


@pytest.mark.parametrize(
    ("name", "moves"),
    [
        ("order_desk", "moves"),
        *(
            pytest.param(name, "moves", marks=pytest.mark.long)
            for name in sorted(DEMOS)
            if name != "order_desk"
        ),
        *(pytest.param(name, "model", marks=pytest.mark.long) for name in DEMOS),
    ],
)
def test_a_demo_agent_is_played_again(name: str, moves: Any) -> None:
    """All example queries, with drafts and confirmations: the case is the same, with the moves and with the model; the script is derived from the facts alone."""
    with record_demo(name) as simulation:
        script = script_of(simulation, agent=moves)
        recorded = case_of(simulation.session)
        stored = Journal.from_json(simulation.journal.to_json())
    assert script_of(stored, agent=moves, name="X") == script.model_copy(update={"name": "X"})
    played = play_script(demo_agent(name), read_script(write_script(script)).script)
    assert played.came_through
    assert played.leftovers == ()
    assert case_of(played.session) == recorded


def both() -> list[Any]:
    """Make a turn that calls one tool twice, the same way."""
    return [say("Both."), call("find_order", order_id="A-1"), call("find_order", order_id="A-1")]


def test_equal_calls_that_were_answered_the_other_way_round_keep_their_answers() -> None:
    """Only then the script names the calls' ids."""
    with opened(agent(both(), [say("ok")], tools=[find_order])) as simulation:
        assert simulation.query("both", wait=PATIENCE)
        first, second = simulation.pending
        assert simulation.answer(second, {"n": 2}, wait=PATIENCE)
        assert simulation.answer(first, {"n": 1}, wait=PATIENCE)
        assert "call_id" in write_script(script_of(simulation))
        replayed(agent(tools=[find_order]), simulation)
    with opened(agent(both(), [say("ok")], tools=[find_order])) as simulation:
        ask(simulation, "both", {"n": 1}, {"n": 2})
        assert "call_id" not in write_script(script_of(simulation))


@pytest.mark.long
def test_agents_side_by_side_speak_in_the_order_in_which_they_did() -> None:
    """The one whose tool was answered first goes on first, though it was asked last."""

    def pair() -> ParallelAgent:
        left = agent([call("find_order", order_id="L")], [say("left")], name="left", tools=[find_order])
        right = agent([call("find_order", order_id="R")], [say("right")], name="right", tools=[find_order])
        return ParallelAgent(name="pair", sub_agents=[left, right])

    for order in ((0, 0), (1, 0)):
        with opened(pair()) as simulation:
            assert simulation.query("go", wait=PATIENCE)
            for place in order:
                assert simulation.answer(simulation.pending[place], {"n": place}, wait=PATIENCE)
            replayed(pair(), simulation)


def test_every_kind_of_answer_is_said_again() -> None:
    """Values, null, error dicts with details, exceptions with more than a message, state, and an error callback."""

    def handled(tool: Any, args: Any, tool_context: Any, error: Exception) -> dict[str, str]:
        return {"status": f"{type(error).__name__}: {error}"}

    def desk(*turns: Any) -> LlmAgent:
        return agent(*turns, tools=[find_order], on_tool_error_callback=handled)

    given = [
        returned({"status": "late"}, state_delta={"seen": ["A-1"]}),
        returned(None),
        returned(["2024-01-01", "no", 1.5]),
        failed("E7", "broken"),
        raised("TimeoutError", "too slow"),
        raised("KeyError", "A-1"),
    ]
    calls = [[call("find_order", order_id=f"A-{number}")] for number in range(len(given))]
    with opened(desk(*calls), initial_state={"tier": "gold"}, user_id="ada") as simulation:
        ask(simulation, "go", *given)
        replayed(desk(), simulation)
        text = write_script(script_of(simulation))
    assert re.findall("raises: '(.*)'", text) == ["TimeoutError: too slow", "KeyError: A-1"]


def test_rules_speak_again_and_what_they_changed_is_not_written_down() -> None:
    """An error by chance, a lost answer and a distorted one, with rules that were switched between and in turns."""

    def rule(rule_id: str, **fields: Any) -> InjectionRule:
        return InjectionRule.model_validate({"rule_id": rule_id, "tool_name": "find_order", **fields})

    down = rule("down", effect={"kind": "error", "error_code": 503, "error_message": "down"}, probability=0.5)
    lost = rule("lost", effect={"kind": "lose"})
    cut = rule("cut", effect={"kind": "distort", "distortions": [{"kind": "corrupt"}]})
    calls = [[call("find_order", order_id=f"A-{number}")] for number in range(8)]
    with opened(agent(*calls[:6], [say("1")], *calls[6:], tools=[find_order]), rules=[down]) as simulation:
        assert simulation.query("go", wait=PATIENCE)
        _answer_rest(simulation)
        simulation.set_rules([lost])
        assert simulation.query("more", wait=PATIENCE)
        simulation.set_rules([cut])
        _answer_rest(simulation)
        answered = [fact for _, fact in simulation.journal.path() if fact.kind == "tool_answered"]
        assert "injected" in {fact.provenance.source for fact in answered}
        script = script_of(simulation)
        replayed(agent(tools=[find_order]), simulation)
    assert [rule.rule_id for rule in script.rules] == ["down"]
    assert len(script.turns[1].before) == 1


def _answer_rest(simulation: Simulation) -> None:
    while simulation.pending:
        answer(simulation, {"status": "a long status"})


def test_a_tool_that_is_only_declared_joins_the_agent_again() -> None:
    """What a person declared, and the data they gave, are in the script; the agent may call the tool."""

    def track(parcel: str) -> dict[str, Any]:
        """Track a parcel."""
        raise NotImplementedError

    def desk(*turns: Any) -> LlmAgent:
        return agent(*turns, tools=[find_order])

    with opened(desk([call("track", parcel="P-1")])) as simulation:
        simulation.environment.declare(track)
        simulation.environment.give_data('{"orders": [{"order_id": "A-1"}]}')
        ask(simulation, "go", {"where": "Oslo"})
        simulation.environment.edit(
            {"op": "put", "kind": "orders", "id": "A-1", "fields": {"status": "lost"}}
        )
        ask(simulation, "and?")
        played = replayed(desk(), simulation)
    assert played.session.environment.declared[0].name == "track"
    assert len(played.session.environment.data) > 10


def test_late_answers_and_rejections_are_said_again() -> None:
    """A long-running tool answers in a turn of its own; a confirmation comes with a payload, and another is refused."""

    def approve(amount: float) -> dict[str, Any]:
        """Ask the boss."""
        return {}

    def desk(*turns: Any) -> LlmAgent:
        pay = FunctionTool(refund, require_confirmation=True)
        return agent(*turns, tools=[LongRunningFunctionTool(approve), pay])

    moves = [
        [call("approve", amount=3.0), call("approve", amount=4.0)],
        [say("I asked.")],
        [say("Fine.")],
        [call("refund", order_id="A-1", amount=3.0)],
        [say("Paid or not.")],
    ]
    with opened(desk(*moves)) as simulation:
        assert simulation.query("go", wait=PATIENCE)
        later = simulation.pending
        for request in later:
            assert simulation.answer(request, {"status": "asked"}, wait=PATIENCE)
        second = simulation.session.open_calls[1]
        assert simulation.reply(second.call_id, "yes", wait=PATIENCE)
        assert simulation.query("then pay", wait=PATIENCE)
        waiting = next(each for each in simulation.session.open_calls if each.is_confirmation)
        assert simulation.confirm(waiting.call_id, False, {"why": "no"}, wait=PATIENCE)
        text = write_script(script_of(simulation))
        replayed(desk(), simulation)
    assert "confirm: false" in text
    assert "tool: refund" in text
    assert second.call_id in text


@pytest.mark.long
def test_turns_that_came_to_nothing_are_played_too() -> None:
    """One that was stopped, and one that failed: the others keep their places, their ids and the case."""
    calls = [[call("find_order", order_id=f"A-{number}")] for number in range(3)]
    with opened(agent(*calls, tools=[find_order])) as simulation:
        assert simulation.query("stopped", wait=PATIENCE)
        simulation.stop()
        ask(simulation, "fails", raised("ValueError", "no"))
        ask(simulation, "well", {"n": 1})
        script = script_of(simulation)
        replayed(agent(tools=[find_order]), simulation)
    assert [turn.ends for turn in script.turns] == ["stopped", "failed", "well"]


def test_a_model_that_raised_is_stopped_there() -> None:
    """A script cannot make a model raise; its turn is left out of traces anyway."""

    class Flaky(Scripted):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            """Raise once, and speak then."""
            if not self.made:
                self.made = 1
                raise ConnectionError("quota")
            async for response in super().generate_content_async(llm_request, stream):
                yield response

    with opened(LlmAgent(name="order_desk", model=Flaky())) as simulation:
        ask(simulation, "one")
        ask(simulation, "two")
        assert script_of(simulation).turns[0].ends == "stopped"
        replayed(agent(), simulation)


def test_what_a_person_said_for_the_agent_is_said_again() -> None:
    """Thoughts and parts that have no shorter form stand in full, an id that was given is kept."""
    thought = ModelAnswer(
        parts=(
            {"text": "Hm.", "thought": True},
            {"function_call": {"name": "find_order", "args": {"order_id": "A-1"}, "id": "mine"}},
        )
    )
    seats = Seats(agents={"*": "person"})
    with opened(agent(tools=[find_order]), seats=seats) as simulation:
        ask(simulation, "go", thought, {"n": 1}, called(("find_order", {"order_id": "A-2"}), text="Next."))
        answer(simulation, {"n": 2}, said("Done."))
        script = script_of(simulation)
        replayed(agent(tools=[find_order]), simulation)
    assert "id: mine" in write_script(script)
    assert "text: Next." in write_script(script)


def test_a_real_tool_that_did_more_than_answer_runs_again() -> None:
    """A file that was saved is in no line of a script: it runs that tool, and no other. An action, which ends a loop, is in its line."""
    ran: list[str] = []

    async def keep(tool_context: ToolContext) -> dict[str, Any]:
        """Keep a file."""
        ran.append("keep")
        await tool_context.save_artifact("a.txt", types.Part(text="kept"))
        return {}

    def enough(tool_context: ToolContext) -> dict[str, Any]:
        """End the loop."""
        ran.append("enough")
        tool_context.actions.escalate = True
        return {}

    def look() -> dict[str, Any]:
        """Look."""
        ran.append("look")
        return {"seen": 1}

    def loop(*turns: Any) -> LoopAgent:
        return LoopAgent(
            name="loop", sub_agents=[agent(*turns, tools=[enough, look, keep])], max_iterations=5
        )

    turns: Any = [[call("look"), call("keep")], [say("again")], [call("enough")], [say("over")]]
    with opened(loop(*turns), seats=Seats(tools={"*": "real"})) as simulation:
        ask(simulation, "go")
        assert ran == ["look", "keep", "enough"]
        replayed(loop(), simulation)
    assert ran == ["look", "keep", "enough", "keep"]


def test_an_undone_step_is_in_no_script_and_what_waits_is_said() -> None:
    """The script goes along the path to the head; in the middle of a turn it ends where the session waits, and says what is wanted there."""
    with opened(agent([call("find_order", order_id="A-1")], tools=[find_order])) as simulation:
        ask(simulation, "go", {"status": "wrong"})
        assert simulation.undo(wait=PATIENCE)
        (waits,) = play(agent(tools=[find_order]), script_of(simulation)).waits
        answer(simulation, {"status": "right"})
        text = write_script(script_of(simulation.journal))
    assert waits.place == ("turns", 0, "moves")
    assert "find_order" in waits.words
    assert "right" in text
    assert "wrong" not in text


def test_a_session_without_a_turn_is_no_script() -> None:
    """There is nothing to play again, and the error says so."""
    with opened(agent()) as simulation, pytest.raises(ScriptError, match="message"):
        script_of(simulation)
