"""A script plays every seat, says where it cannot go on, and leaves the session open there; or it plays beside people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.code_executors import BaseCodeExecutor
from google.adk.tools.function_tool import FunctionTool

from simulator import Simulation, SimulationError
from simulator.facts import ModelAnswered, ToolAnswered, TurnStarted
from simulator.scripts import Played, Script, ScriptAtWork, ScriptedSession, ScriptProgress, open_for_script
from simulator.scripts.script_player import MOVED, STOPPED, WENT_BACK
from simulator.session.history import FinalResponse, ToolError, ToolOutput
from tests.evalset.sessions import PATIENCE, Scripted, agent, call, find_order, refund, say
from tests.simulator.scripts.recording import LATEST, case_of, config, play


def desk(*turns: Any, **more: Any) -> LlmAgent:
    """Make an agent with two tools."""
    return agent(*turns, tools=[find_order, refund], **more)


def script(*moves: Any, say: str = "go", **more: Any) -> dict[str, Any]:
    """Make a script of one turn."""
    return {"turns": [{"say": say, "moves": list(moves)}], **more}


def results(session: Any) -> list[Any]:
    """Return what the tools answered."""
    found: list[Any] = []
    for entry in session.history:
        if isinstance(entry, ToolOutput):
            found.append(entry.result)
        elif isinstance(entry, ToolError):
            found.append(entry.error_type)
    return found


def last(session: Any) -> str:
    """Return the final response."""
    return next(each.content for each in reversed(session.history) if isinstance(each, FinalResponse))


FIND = {"calls": [{"name": "find_order", "args": {"order_id": "A-1"}}]}


def test_the_script_plays_agent_and_environment() -> None:
    """Calls, answers and the last word are those of the script; no model and no tool is asked."""
    steps: list[str] = []
    lines = script(FIND, {"tool": "find_order", "returns": {"status": "late"}}, {"text": "Late."})
    played = play(desk([say("the model spoke")]), lines, watch=lambda step: steps.append(step.words))
    assert played.came_through
    assert results(played.session) == [{"status": "late"}]
    assert last(played.session) == "Late."
    assert [re.findall("order_desk|find_order|turns[.0-9a-z]+", each) for each in steps] == [
        [],
        ["order_desk", "turns.0.moves.0"],
        ["find_order", "turns.0.moves.1"],
        ["order_desk", "turns.0.moves.2"],
    ]
    assert played.session.start_timestamp == LATEST


def test_the_agents_own_model_may_play_and_a_move_may_be_its() -> None:
    """By default it plays where the script has no moves; `model: true` lets it make one turn."""
    answers = [{"tool": "find_order", "fails": {"error_code": 404, "error_message": "no"}}]
    turns = [call("find_order", order_id="A-1")], [say("Its own words.")]
    played = play(desk(*turns), script(environment=answers))
    assert (results(played.session), last(played.session)) == (["404"], "Its own words.")
    mixed = script({"model": True}, {"tool": "*", "real": True}, {"text": "Mine."})
    played = play(desk(*turns), mixed)
    assert results(played.session) == [{"order_id": "A-1", "status": "real"}]
    assert last(played.session) == "Mine."


@pytest.mark.parametrize("otherwise", ["ask", "fail"])
def test_where_the_script_has_no_answer_it_ends(otherwise: str) -> None:
    """It says what waits, where the answer belongs, and gives a line that would do; the session is still open."""
    read = Script.model_validate(script(FIND, otherwise=otherwise))
    with ScriptedSession(config(desk()), read) as scripted:
        played = scripted.play()
        (waits,) = played.waits
        assert not played.came_through
        assert waits.place == ("turns", 0, "moves")
        assert re.findall("order_desk|find_order", waits.words) == ["find_order", "order_desk"]
        assert waits.snippet.startswith("- tool: find_order\n  args:\n    order_id: A-1\n  returns:")
        assert scripted.simulation.answer(scripted.simulation.pending[0], {"by": "hand"})
        assert results(scripted.simulation.session) == [{"by": "hand"}]
    with pytest.raises(SimulationError, match="closed"):
        scripted.simulation.query("more")
    (waits,) = play(desk(), script(agent="person", otherwise=otherwise)).waits
    assert re.findall("order_desk|find_order", waits.words) == ["order_desk"]
    assert "calls: [{name: find_order, args: {order_id: ...}}]\n" in waits.snippet
    assert "- agent: order_desk\n  text: " in waits.snippet


@pytest.mark.long
def test_players_answer_what_the_script_does_not() -> None:
    """The script's answers come first; then the draft, the real tool, or whoever takes over from there on."""
    calls = [[call("find_order", order_id=f"A-{number}")] for number in range(3)]
    answer = {"tool": "find_order", "args": {"order_id": "A-1"}, "returns": {"by": "script"}}

    def answers(player: str) -> list[Any]:
        played = play(desk(*calls), script(environment=[answer], players={"find_order": player}))
        assert played.came_through
        return results(played.session)

    real = [{"order_id": f"A-{number}", "status": "real"} for number in range(3)]
    assert answers("real") == [real[0], {"by": "script"}, real[2]]
    assert answers("offline")[1] == {"by": "script"}
    assert answers("refuse") == ["refused"] * 3
    everybody = play(desk(*calls), script(players={"*": "real"}))
    assert results(everybody.session) == real


def test_an_answer_for_every_tool_seats_the_script_everywhere() -> None:
    """`*` answers whichever tool is called, as often as it likes."""
    calls = [call("find_order", order_id="A-1"), call("refund", order_id="A-1", amount=1.0)]
    any_tool = {"tool": "*", "times": "any", "raises": "TimeoutError: slow"}
    played = play(
        desk(calls, on_tool_error_callback=lambda **_: {"caught": True}),
        script(environment=[any_tool], players={"refund": "real"}),
    )
    assert results(played.session) == ["TimeoutError", "TimeoutError"]
    assert played.leftovers == ()


def test_rules_and_seats_change_where_the_script_says() -> None:
    """Before the user speaks, and in the middle of a turn; what stands behind the last step is done at its end."""
    rule = {
        "rule_id": "down",
        "tool_name": "find_order",
        "effect": {"kind": "error", "error_code": 503, "error_message": "no"},
    }
    lines = {
        "agent": "model",
        "turns": [
            {
                "say": "go",
                "before": [{"rules": [rule]}],
                "moves": [{"rules": []}, {"seat": "tool", "target": "find_order", "player": "real"}],
            },
            {"say": "more", "moves": [{"tool": "refund", "returns": 1}]},
        ],
    }
    calls = [[call("find_order", order_id="A-1")], [say("1")], [call("find_order", order_id="A-2")]]
    played = play(desk(*calls, [call("refund", order_id="A-1", amount=1.0)]), lines)
    assert played.came_through
    assert results(played.session) == ["503", {"order_id": "A-2", "status": "real"}, 1]


def test_a_change_in_a_turn_that_lacks_a_line_is_made_all_the_same() -> None:
    """Lines that nothing asks for do not hold up what stands behind them; they are named in the end."""
    lines = script(
        {"tool": "refund", "returns": 1},
        {"environment": {"kind": "environment_data_given", "text": '{"orders": []}'}},
        {"tool": "find_order", "returns": 2},
        agent="model",
    )
    played = play(desk([call("find_order", order_id="A-1")]), lines)
    assert results(played.session) == [2]
    assert [each.place[-1] for each in played.leftovers] == [0]
    assert played.session.environment.data == '{"orders": []}'


def test_what_waits_for_the_user_in_the_end_is_named() -> None:
    """A script that forgets the confirmation is told how to say it; one that confirms what nobody asked, too."""
    tools = [FunctionTool(refund, require_confirmation=True)]
    turns: Any = [[call("refund", order_id="A-1", amount=1.0)]]
    (waits,) = play(agent(*turns, tools=tools), script(agent="model")).waits
    assert waits.place == ("turns", 1)
    assert "refund" in waits.words
    assert waits.snippet == "- confirm: true\n  tool: refund\n"
    misplaced = {"agent": "model", "turns": [{"say": "go"}, {"confirm": True, "tool": "find_order"}]}
    played = play(agent(*turns, tools=tools), misplaced)
    assert played.refused is not None
    assert played.refused.place == ("turns", 1)
    assert re.findall("confirm|find_order|refund", played.refused.words) == [
        "confirm",
        "find_order",
        "refund",
    ]


def test_an_answer_that_does_not_fit_ends_the_script() -> None:
    """The line is named, with the reason."""
    lines = script({"tool": "find_order", "later": True}, agent="model")
    played = play(desk([call("find_order", order_id="A-1")]), lines)
    assert played.refused is not None
    assert played.refused.place == ("turns", 0, "moves", 0)
    assert "not long-running" in played.refused.words


def test_a_turn_that_fails_ends_the_script_unless_it_is_meant_to() -> None:
    """And one that is meant to fail and does not is named."""
    raises = {"tool": "find_order", "raises": "ValueError: no"}
    calls = [[call("find_order", order_id="A-1")]]
    failure = play(desk(*calls), script(raises, agent="model")).failure
    assert failure.startswith("turn 1 ")
    assert failure.endswith("ValueError: no")
    meant = {
        "agent": "model",
        "turns": [{"say": "go", "moves": [raises], "ends": "failed"}, {"say": "on", "ends": "failed"}],
    }
    played = play(desk(*calls), meant)
    assert played.came_through
    assert [each.place for each in played.leftovers] == [("turns", 1, "ends")]


def test_a_turn_that_hangs_can_be_stopped() -> None:
    """A rule lets the call hang; the turn ends when the script stops it, and the next one goes on."""
    hang = {"rule_id": "hang", "tool_name": "find_order", "effect": {"kind": "hang"}}
    lines = {"agent": "model", "rules": [hang], "turns": [{"say": "go", "ends": "stopped"}, {"say": "on"}]}
    played = play(desk([call("find_order", order_id="A-1")]), lines)
    assert played.came_through
    assert [turn.stopped for turn in played.session.turns] == [True, False]


def test_code_prints_what_the_script_says() -> None:
    """A block of the agent's code is never run; without a line the script ends there, though it generates all else."""

    class Executor(BaseCodeExecutor):
        def execute_code(self, invocation_context: Any, code_execution_input: Any) -> Any:
            """Run code for real."""
            raise AssertionError("the code ran")

    def coder() -> LlmAgent:
        turns = [[say("```tool_code\nprint(6 * 7)\n```")], [say("It is 42.")]]
        return LlmAgent(name="coder", model=Scripted(turns=turns), code_executor=Executor())

    played = play(coder(), script({"prints": "42", "errors": "a warning"}, agent="model"))
    assert played.came_through, played.waits
    assert last(played.session) == "It is 42."
    (waits,) = play(coder(), script(agent="model", otherwise="generate")).waits
    assert re.search(r"^#   print\(6 \* 7\)\n- prints: \w", waits.snippet, re.MULTILINE)


def test_a_content_and_a_state_delta_may_be_said_and_an_agent_have_a_list_of_moves() -> None:
    """The query may be google-genai's content; what it changes in the state is there. `agent` may be a list, and answers serve all turns too."""
    image = {"inline_data": {"mime_type": "image/png", "data": "AAAA"}}
    content = {"role": "user", "parts": [{"text": "Look:"}, image]}
    lines = {
        "agent": [FIND, {"text": "I see."}],
        "environment": [{"tool": "find_order", "args": {"order_id": "A-1"}, "draft": True}],
        "turns": [{"say": content, "state_delta": {"seen": 1}}],
        "initial_state": {"a": 1},
    }
    played = play(desk(), lines)
    assert played.came_through
    assert last(played.session) == "I see."
    assert played.session.current_state == {"a": 1, "seen": 1}


def test_what_is_missing_may_be_generated_and_the_same_seed_repeats() -> None:
    """Drafts answer the tools, and the agent's own model plays the agent: ids and drafts are equal; a turn without a time has the present."""
    lines = {
        "seed": "s",
        "session_id": "id",
        "began": 5.0,
        "otherwise": "generate",
        "agent": "person",
        "turns": [{"say": "go", "at": 7.0}, {"say": "on"}],
    }
    agents = (desk([call("find_order", order_id="A-7")], [say("So.")], [say("On.")]) for _ in range(2))
    first, second = (play(each, lines).session for each in agents)
    assert case_of(first) == case_of(second)
    assert (results(first)[0]["order_id"], last(first)) == ("A-7", "On.")
    assert first.start_timestamp == 5.0
    assert [turn.started_at for turn in first.turns] == [7.0, LATEST]


LATE = script(FIND, {"text": "Late."})
TWO = [call("find_order", order_id="A-1"), call("refund", order_id="A-1", amount=1.0)]


def asking(progress: ScriptProgress) -> bool:
    """Return whether somebody is asked."""
    return bool(progress.asks)


def ended(work: ScriptAtWork) -> Played:
    """Wait until it is over; return how it went."""
    assert work.wait(lambda progress: progress.is_over, PATIENCE)
    assert work.progress.played is not None
    return work.progress.played


@contextmanager
def at_work(of: Any, lines: dict[str, Any]) -> Iterator[tuple[Simulation, ScriptAtWork]]:
    """Let a script play in the background until somebody is asked."""
    read = Script.model_validate(lines)
    with open_for_script(config(of), read) as simulation:
        work = ScriptAtWork(simulation, read)
        assert work.wait(asking, PATIENCE)
        try:
            yield simulation, work
        finally:
            work.stop()


def test_what_the_script_lacks_waits_for_a_person_and_then_it_goes_on() -> None:
    """A call that no line fits waits and is answered by hand; the other one has its line, and so it is told who said it."""
    lines = script({"tool": "refund", "returns": 1}, agent="model")
    with at_work(desk(TWO, [say("done")]), lines) as (simulation, work):
        (waits,) = work.progress.asks
        assert {"find_order", "order_desk"} <= set(re.findall(r"\w+", waits.words))
        assert simulation.answer(simulation.pending[0], {"by": "hand"}, wait=PATIENCE)
        assert ended(work).came_through
        assert sorted(map(str, results(simulation.session))) == ["1", "{'by': 'hand'}"]
        by = [
            (fact.kind, fact.provenance.by)
            for _, fact in simulation.journal.path()
            if isinstance(fact, (TurnStarted, ToolAnswered)) and fact.provenance
        ]
    assert sorted(by, key=str) == [
        ("tool_answered", "script"),
        ("tool_answered", None),
        ("turn_started", "script"),
    ]


def test_it_can_be_stopped_and_the_session_goes_on_by_hand() -> None:
    """While it asks; what it has done stays, and is told to be its doing."""
    with at_work(desk(), LATE) as (simulation, work):
        work.stop()
        assert ended(work).stopped not in {"", MOVED, STOPPED, WENT_BACK}
        assert len(simulation.pending) == 1
        assert simulation.answer(simulation.pending[0], {}, wait=PATIENCE)
        assert len(simulation.pending) == 1
        spoken = [fact for _, fact in simulation.journal.path() if isinstance(fact, ModelAnswered)]
        assert [fact.provenance.by for fact in spoken] == ["script"]


@pytest.mark.parametrize("how", [WENT_BACK, STOPPED])
def test_it_ends_where_somebody_goes_back_or_stops_the_turn(how: str) -> None:
    """Its lines belong to a way that is not gone any more."""
    with at_work(desk(), LATE) as (simulation, work):
        if how == WENT_BACK:
            assert simulation.undo(wait=PATIENCE)
        else:
            simulation.stop()
        assert ended(work).stopped == how


def test_it_goes_on_where_it_was_after_a_stop_and_after_an_undo() -> None:
    """What it has used is known from the journal: no line speaks twice, and one that was taken back speaks again."""
    turns = [
        {"say": "one", "moves": [FIND, {"tool": "find_order", "returns": 1}, {"text": "First."}]},
        {"say": "two", "moves": [FIND, {"text": "Second."}]},
    ]
    read = Script.model_validate({"turns": turns})
    with open_for_script(config(desk()), read) as simulation:
        work = ScriptAtWork(simulation, read)
        assert work.wait(asking, PATIENCE)
        work.stop()
        work = ScriptAtWork(simulation, read, resumes=True)
        assert work.wait(asking, PATIENCE)
        assert (work.progress.step.turn, len(simulation.session.turns)) == (2, 2)
        assert simulation.undo(wait=PATIENCE)  # the call of the second turn
        assert simulation.undo(wait=PATIENCE)  # the second query
        ended(work)
        work = ScriptAtWork(simulation, read, resumes=True)
        assert work.wait(asking, PATIENCE)
        assert simulation.answer(simulation.pending[0], 2, wait=PATIENCE)
        played = ended(work)
        assert played.came_through, work.progress
        assert played.leftovers == ()
        assert results(simulation.session) == [1, 2]
        assert last(simulation.session) == "Second."


def test_after_a_correction_it_goes_on_with_the_lines_that_are_left() -> None:
    """One that came through is stopped by a way back; the answer that took the place of a line uses it."""
    lines = [{"tool": "find_order", "returns": number} for number in (1, 2)]
    read = Script.model_validate(script(*lines, agent="model"))
    again = [[call("find_order", order_id="A-1")], [say("done")]]
    with open_for_script(config(desk(again[0], *again, *again)), read) as simulation:
        work = ScriptAtWork(simulation, read)
        assert ended(work).came_through
        first = next(number for number, fact in simulation.journal.path() if isinstance(fact, ToolAnswered))
        simulation.move_head(simulation.journal.parent(first), wait=PATIENCE)
        assert work.progress.played is not None
        assert work.progress.played.stopped == WENT_BACK
        assert simulation.answer(simulation.pending[0], 3, wait=PATIENCE)
        work = ScriptAtWork(simulation, read, resumes=True)
        assert ended(work).came_through
        assert results(simulation.session) == [3, 2], simulation.session.history
        second = [number for number, fact in simulation.journal.path() if isinstance(fact, ToolAnswered)][1]
        simulation.move_head(simulation.journal.parent(second), wait=PATIENCE)
        assert work.progress.played is not None
        assert not work.progress.played.came_through
        assert simulation.answer(simulation.pending[0], 4, wait=PATIENCE)
        assert work.progress.played is not None
        assert work.progress.played.came_through, "it was completed, and no turn is left"


def test_a_call_left_open_in_the_end_waits_and_the_scripts_lines_answer_what_follows() -> None:
    """A confirmation that the script forgot is given by a person; its answers for the environment still hold."""
    of = agent(
        [call("refund", order_id="A-1", amount=1.0)],
        [say("ok")],
        tools=[FunctionTool(refund, require_confirmation=True)],
    )
    lines = script(agent="model", environment=[{"tool": "refund", "returns": {"ok": 1}}])
    with at_work(of, lines) as (simulation, work):
        assert "refund" in work.progress.asks[0].words
        assert simulation.confirm(simulation.session.open_calls[0].call_id, True, wait=PATIENCE)
        ended(work)
        assert {"ok": 1} in results(simulation.session)


def test_what_breaks_is_told() -> None:
    """A session that is closed under it ends it with words."""
    with at_work(desk(), LATE) as (simulation, work):
        simulation.close()
        work.stop()
        assert work.progress.is_over
