"""Proves injection rules through whole sessions: what each effect does, order, matching, chance, latency, switches, and what is recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typing_extensions import TypedDict

from simulator.environment.injection.conditions import (
    ArgumentIs,
    CallNumber,
    Expression,
    Matches,
    OneOf,
    WorldIs,
)
from simulator.environment.injection.distortions import Distortion
from simulator.environment.injection.rule_effects import (
    AskEffect,
    DelayEffect,
    DistortEffect,
    ErrorEffect,
    HangEffect,
    LoseEffect,
    RaiseEffect,
    ResponseEffect,
    SequenceEffect,
    UniformLatency,
)
from simulator.environment.injection.rule_sets import faults
from simulator.environment.injection.rules import Effect, InjectionRule
from simulator.facts import Failed, Returned, ToolAnswered, ToolEffects
from simulator.journal import Journal
from simulator.runtime import Simulation, SimulationError
from simulator.runtime.adk.codec import SimulatedToolError
from simulator.scripts import Script, play_script, script_of
from simulator.scripts.script import ToolMove
from simulator.session import SessionState
from simulator.session.commands import FailCall
from tests.simulator.runtime.answering.going import answers_of, going, sources
from tests.simulator.runtime.desk import asked, other, response_of, waits_noted
from tests.simulator.runtime.stage import (
    PATIENCE,
    agent_of,
    answer_all,
    call,
    entries,
    opened,
    play,
    say,
    stage_config,
    tool_facts,
    tool_requests,
)


class Found(TypedDict):
    """An order that was found."""

    order_id: str
    status: str


def find(order_id: str) -> Found:
    """Find an order."""
    return Found(order_id=order_id, status="really open")


def rule(effect: Effect, rule_id: str = "rule", tool: str = "find", **more: Any) -> InjectionRule:
    """Make a rule."""
    return InjectionRule(rule_id=rule_id, tool_name=tool, effect=effect, **more)


def finding(*order_ids: str, **more: Any) -> Any:
    """Make an agent that looks for these orders, one after the other."""
    turns = [[call("find", order_id=order_id)] for order_id in order_ids]
    return agent_of(*turns, tools=[find, other], **more)


# ---------------------------------------------------------------- effects that answer


def test_an_error_carries_its_details_to_the_agent_and_a_hang_ends_by_its_timeout() -> None:
    """What a rate limit says besides its code reaches the agent, and the fact keeps it; a hang raises `TimeoutError`."""
    limited = ErrorEffect(error_code=429, error_message="slow down", details={"retry_after": 30})
    rules = [rule(limited, match_args={"order_id": "A-1"}), rule(HangEffect(timeout_seconds=0.05), "hang")]
    with going(finding("A-1", "B-2"), rules=rules) as sim:
        limit, hang = entries(sim, "tool_error")
        assert (limit.error_type, limit.error_message) == ("429", "slow down")
        assert tool_facts(sim)[0].outcome == Failed(
            error_code=429, error_message="slow down", details={"retry_after": 30}
        )
        assert answers_of(sim)[0] == {"error_code": 429, "error_message": "slow down", "retry_after": 30}
        assert hang.error_type == "TimeoutError"
        assert Journal.from_json(sim.journal.to_json()).session().history == sim.session.history


@pytest.mark.parametrize(
    ("error_type", "raised", "noted"),
    [
        ("TimeoutError", TimeoutError, False),
        ("UnicodeDecodeError", UnicodeDecodeError, False),
        ("builtins:ExceptionGroup", ExceptionGroup, False),
        ("json:JSONDecodeError", json.JSONDecodeError, False),
        ("os:system", SimulatedToolError, True),
        ("not_there:Error", SimulatedToolError, True),
    ],
)
def test_what_a_rule_raises_is_made_or_named(error_type: str, raised: type[Exception], noted: bool) -> None:
    """The agent's error callback sees the type, and what it gives is what the agent sees; where none can be made, notes say so."""
    seen: list[Exception] = []

    def on_error(tool: Any, args: Any, tool_context: Any, error: Exception) -> dict[str, str]:
        seen.append(error)
        return {"handled": str(error)}

    agent = agent_of([call("find", order_id="A-1")], tools=[find], on_tool_error_callback=on_error)
    with going(agent, rules=[rule(RaiseEffect(error_type=error_type, message="too odd"))]) as sim:
        assert [isinstance(error, raised) for error in seen] == [True]
        assert type(seen[0]).__name__ == error_type.rpartition(":")[2]
        assert "too odd" in response_of(sim)["handled"]
        notes = tool_facts(sim)[0].provenance.notes
        assert [error_type in note for note in notes] == [True] * noted


def test_a_template_knows_the_call_the_state_the_world_and_earlier_answers() -> None:
    """Expressions keep their types; what `fake` says is the same when the session is played again."""
    first = ResponseEffect(value={"order_id": "{{ args.order_id }}", "total": 10}, templated=True)
    second = ResponseEffect(
        value={
            "before": "{{ calls[0].response.total }}",
            "known": "{{ world.orders['A-1'].total }}",
            "who": "{{ state.user }} {{ agent }}",
            "number": "{{ call_number }}",
            "name": "{{ fake.name() }}",
        },
        templated=True,
    )
    rules = [
        rule(first, "first", when=CallNumber(which="nth", n=1, counted="tool")),
        rule(second, "second"),
    ]
    names = []
    for _ in range(2):
        with going(finding("A-1", "B-2"), rules=rules, initial_state={"user": "ada"}) as sim:
            said = answers_of(sim)[1]
            names.append(said.pop("name"))
            assert said == {"before": 10, "known": 10, "who": "ada clerk", "number": 2}
    assert names[0] == names[1]


def test_a_template_that_cannot_be_filled_leaves_the_call_to_the_person() -> None:
    """What a template names and is not there is said, and nothing is lost."""
    broken = ResponseEffect(value={"x": "{{ args.nothing.more }}"}, templated=True)
    with opened(finding("A-1"), rules=[rule(broken)]) as sim:
        request = asked(sim)
        assert any("nothing" in problem for problem in sim.view().problems)
        assert sim.answer(request, {"ok": 1}, wait=PATIENCE)


# ---------------------------------------------------------------- effects on the answer that follows


@pytest.mark.parametrize("player", ["person", "offline", "real"])
def test_a_distortion_changes_whoever_answers_and_what_really_happened_is_kept(player: str) -> None:
    """The agent sees the distorted answer; the fact holds both, with what was done, and the world knows the truth."""
    cut = DistortEffect(distortions=(Distortion(kind="drop", at="status"),))
    with going(finding("A-1"), tools=player, rules=[rule(cut)]) as sim:
        if sim.pending:
            (request,) = sim.pending
            assert getattr(request, "modifiers", None) == ("rule",)
            assert sim.answer(request, {"order_id": "A-1", "status": "open"}, wait=PATIENCE)
        (fact,) = tool_facts(sim)
        beneath: Any = fact.beneath
        outcome: Any = fact.outcome
        assert beneath.kind == outcome.kind == "returned"
        assert "status" in beneath.value
        assert outcome.value == {key: value for key, value in beneath.value.items() if key != "status"}
        assert response_of(sim) == outcome.value
        assert fact.provenance.fired == ("rule",)
        assert any("status" in note for note in fact.provenance.notes)
        (orders,) = sim.environment.world().tables
        assert orders.rows[0].get("status", "success") == beneath.value["status"]


def test_a_distortion_reaches_what_another_rule_answers() -> None:
    """Rules that change an answer and one that gives it work together, in their order."""
    nothing = DistortEffect(distortions=(Distortion(kind="null", at="status"),))
    fixed = ResponseEffect(value={"status": "open", "id": 1})
    with going(finding("A-1"), rules=[rule(nothing, "null"), rule(fixed, "fixed")]) as sim:
        assert response_of(sim) == {"status": None, "id": 1}
        (fact,) = tool_facts(sim)
        assert (fact.provenance.by, fact.provenance.fired) == ("fixed", ("null", "fixed"))


def test_an_answer_that_is_lost_has_taken_effect() -> None:
    """The ambiguous timeout: the write is in the world, and the agent only sees that it does not know."""
    agent = agent_of([call("create_order", sku="mug")], tools=[create_order])
    for way, kind in (("error", "failed"), ("raise", "raised")):
        lost = rule(LoseEffect(way=way), tool="create_order")
        with going(agent.clone(), rules=[lost]) as sim:
            assert sim.answer(sim.pending[0], {"order_id": "A-9", "sku": "mug"}, wait=PATIENCE)
            (fact,) = tool_facts(sim)
            assert fact.outcome.kind == kind
            (orders,) = sim.environment.world().tables
            assert orders.ids == ("A-9",)


def create_order(sku: str) -> dict[str, str]:
    """Create an order."""
    return {"order_id": "A-9", "sku": sku}


def test_a_delay_changes_nothing_but_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Latency without an answer: it is waited for, and the player answers as ever."""
    waited = waits_noted(monkeypatch)
    slow = rule(DelayEffect(), latency=UniformLatency(low=0.05, high=0.06))
    with going(finding("A-1"), tools="real", rules=[slow]) as sim:
        (fact,) = tool_facts(sim)
        assert fact.provenance.source == "real"
        assert fact.provenance.fired == ("rule",)
        assert response_of(sim) == {"order_id": "A-1", "status": "really open"}
    (seconds,) = waited
    assert seconds is not None
    assert 0.05 <= seconds <= 0.06


def test_a_rule_that_asks_hands_the_call_to_the_person() -> None:
    """Whoever else plays the tool, the person is asked, and told why."""
    ask = rule(
        AskEffect(note="look at this one"), when=ArgumentIs(path="order_id", test=Matches(pattern="^B"))
    )
    with opened(finding("A-1", "B-2"), tools="refuse", rules=[ask]) as sim:
        request = asked(sim)
        assert (request.arguments, request.note) == ({"order_id": "B-2"}, "look at this one")
        assert sim.answer(request, {"mine": True}, wait=PATIENCE)
        assert [fact.provenance.source for fact in tool_facts(sim)] == ["refused", "written"]
        assert tool_facts(sim)[1].provenance.fired == ("rule",)


# ---------------------------------------------------------------- when a rule is for a call


def test_a_rule_for_every_tool_counts_calls_and_sees_the_world() -> None:
    """`*`, call numbers, the world and expressions decide in a session as they do alone."""
    gone = ErrorEffect(error_code=410, error_message="gone")
    rules = [
        rule(gone, "third", "*", when=CallNumber(which="nth", n=3, counted="session")),
        rule(
            gone,
            "closed",
            when=WorldIs(entity="order", id_from="order_id", field="status", test=OneOf(values=("closed",))),
        ),
        rule(gone, "same again", when=Expression(text="calls | length > 1 and args.order_id == 'B-2'")),
    ]
    turns = [
        [call("other", order_id="A-1")],
        [call("find", order_id="A-1")],
        [call("other", order_id="X")],
        [call("find", order_id="A-1")],
        [call("find", order_id="B-2")],
    ]
    with going(agent_of(*turns, tools=[find, other]), rules=rules) as sim:
        assert sim.answer(sim.pending[0], {"ok": True}, wait=PATIENCE)
        assert sim.answer(sim.pending[0], {"order_id": "A-1", "status": "closed"}, wait=PATIENCE)
        assert [fact.provenance.by for fact in tool_facts(sim)] == [
            None, None, "third", "closed", "same again",
        ]  # fmt: skip
        assert sim.session.state is SessionState.COMPLETED


def test_a_step_back_takes_counters_and_draws_back() -> None:
    """What a rule counted, drew and how often it fired go back with the head, in a resumed session too: played again, all is as before."""
    steps = SequenceEffect(values=({"n": 1}, {"n": 2}, {"n": 3}))
    half = named("half", probability=0.5, random_seed=7)
    every_second = rule(steps, when=CallNumber(which="every", n=2))
    with opened(finding(*"ABCDEF"), rules=[every_second, half]) as sim:
        play(sim, answer={"by": "me"})
        before, by = answers_of(sim), sources(sim)
        assert [each.get("n") for each in before][1::2] == [1, 2, 3]
        assert {rule_id for _, rule_id in by} == {None, "rule", "half"}
        answered = [number for number, fact in sim.journal.path() if fact.kind == "tool_answered"]
        journal = Journal.from_json(sim.journal.to_json())
        journal.move_head(answered[2])
        sim.move_head(answered[2])
        with Simulation.resume(journal, sim.config) as again:
            for each in (sim, again):
                each.go_on(wait=PATIENCE)
                answer_all(each, {"by": "me"})
                assert (answers_of(each), sources(each)) == (before, by)


def test_rules_are_tried_against_calls_that_were_and_that_wait() -> None:
    """Would it have fired, and why not: with the counts and the world of that moment, the nearest first."""
    tried = [
        rule(AskEffect(), "second", when=CallNumber(which="nth", n=2, counted="tool")),
        rule(AskEffect(), "A only", match_args={"order_id": "A-1"}),
        rule(AskEffect(), "another", "other"),
    ]
    with opened(finding("A-1", "B-2")) as sim:
        request = asked(sim)
        waiting = {trial.rule_id: trial for trial in sim.environment.try_rules(tried, request)}
        assert [waiting[name].fired for name in ("second", "A only", "another")] == [False, True, False]
        assert sim.answer(request, {"ok": 1}, wait=PATIENCE)
        past = sim.environment.try_rules(
            tried, next(n for n, f in sim.journal.path() if f.kind == "tool_answered")
        )
        assert {trial.rule_id: trial.fired for trial in past} == {
            name: trial.fired for name, trial in waiting.items()
        }
        now = sim.environment.try_rules(tried, sim.pending[0].key)
        assert [trial.rule_id for trial in now if trial.fired] == ["second"]
        assert "B-2" in next(trial.reason for trial in now if trial.rule_id == "A only")


@pytest.mark.long
@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.name)
def test_every_fault_of_the_library_plays(fault: Any) -> None:
    """Each fault makes a rule that does something in a session and leaves it in order."""
    made = fault.rule("find", "fault").model_copy(
        update={"latency_seconds": 0.0, "latency": None, "probability": 1.0, "random_seed": 1}
    )
    if isinstance(made.effect, HangEffect):
        made = made.model_copy(update={"effect": HangEffect(timeout_seconds=0.01)})
    with going(finding(*"ABCDEFGHIJKL"), tools="real", rules=[made]) as sim:
        while sim.pending:
            assert sim.answer(sim.pending[0], {"order_id": "A", "status": "open"}, wait=PATIENCE)
        assert any("fault" in fact.provenance.fired for fact in tool_facts(sim))
        assert Journal.from_json(sim.journal.to_json()).session().history == sim.session.history


BUSY = ErrorEffect(error_code=503, error_message="busy")
LOST = ResponseEffect(value={"status": "lost"})


def named(rule_id: str, effect: Effect = LOST, tool: str = "find", **more: Any) -> InjectionRule:
    """Make a rule of this name; by default one of a fixed response."""
    return rule(effect, rule_id, tool, **more)


# ---------------------------------------------------------------- what a rule answers


@pytest.mark.parametrize("value", [{"status": "lost"}, {}])
@pytest.mark.parametrize("player", ["person", "real", "refuse"])
def test_a_rule_speaks_before_every_player(player: str, value: dict[str, str]) -> None:
    """A fixed response, `{}` too, answers at once; the agent's callbacks see it as the tool's result, and the timeline names the rule."""
    seen: list[Any] = []

    def after(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> None:
        seen.append(tool_response)

    agent = finding("A-1", after_tool_callback=after)
    with going(agent, tools=player, rules=[named("fixed", ResponseEffect(value=value))]) as sim:
        assert sim.session.state is SessionState.COMPLETED
        (output,) = entries(sim, "tool_output")
        assert (output.result, output.provenance.source, output.provenance.by) == (value, "injected", "fixed")
    assert seen == [value]


def test_the_first_rule_that_matches_answers_and_misses_say_why() -> None:
    """Rules speak in order; a call that none answers tells the person why each one for this tool did not."""
    rules = [
        named("off", enabled=False),
        named("other tool", tool="other"),
        named("only B-2", match_args={"order_id": "B-2"}),
        named("never", probability=0.0),
        named("only C-3", BUSY, match_args={"order_id": "C-3"}),
        named("also C-3", match_args={"order_id": "C-3"}),
    ]
    with opened(finding("A-1", "B-2", "C-3"), rules=rules) as sim:
        request = asked(sim)
        reasons = {miss.rule_id: miss.reason for miss in request.misses}
        assert set(reasons) == {"off", "only B-2", "never", "only C-3", "also C-3"}
        assert reasons["off"] == "switched off"
        assert "B-2" in reasons["only B-2"]
        assert "needed less than 0" in reasons["never"]
        assert sim.answer(request, {"by": "person"}, wait=PATIENCE)
        assert sources(sim) == [("written", None), ("injected", "only B-2"), ("injected", "only C-3")]
        assert tool_facts(sim)[0].provenance.misses == request.misses


def test_parallel_calls_are_judged_one_by_one() -> None:
    """Of parallel calls each is judged by itself; those that no rule answers wait for the person together."""
    calls = [call("find", order_id=f"A-{number}") for number in range(4)]
    rules = [named(name, match_args={"order_id": name}) for name in ("A-0", "A-2")]
    with going(agent_of(calls, tools=[find]), rules=rules) as sim:
        assert [request.arguments["order_id"] for request in tool_requests(sim)] == ["A-1", "A-3"]
        assert sorted(by or "" for _, by in sources(sim)) == ["A-0", "A-2"]


# ---------------------------------------------------------------- latency


def test_latency_counts_into_the_calls_duration_and_is_not_waited_for_again() -> None:
    """The timeline's duration holds the latency; a resume takes the answer from the journal at once."""
    slow = named("slow", latency_seconds=0.02, match_args={"order_id": "A-1"})
    with opened(finding("A-1", "B-2"), rules=[slow]) as sim:
        request = asked(sim)
        (output,) = entries(sim, "tool_output")
        assert output.duration_ms >= 20
        text = sim.journal.to_json()
        assert text.count('"latency_seconds": 0.02') == 1
        hours = Journal.from_json(text.replace('"latency_seconds": 0.02', '"latency_seconds": 120.0'))
        with Simulation.resume(hours, sim.config) as again:
            assert again.pending == (request,)


# ---------------------------------------------------------------- switches


def test_a_switch_takes_effect_at_the_next_call() -> None:
    """The call that waits already was asked before the switch and keeps waiting; the next one is judged anew. An unknown name is refused."""
    agent = finding("A-1", "B-2")
    with opened(agent.clone(), rules=[named("fixed", enabled=False)]) as sim:
        request = asked(sim)
        with pytest.raises(SimulationError, match="'fixd'"):
            sim.switch_rule("fixd", enabled=True)
        sim.switch_rule("fixed", enabled=True)
        assert sim.pending == (request,)
        assert sim.answer(request, {"by": "person"}, wait=PATIENCE)
        assert sources(sim) == [("written", None), ("injected", "fixed")]
    with opened(agent, rules=[named("only A-1", match_args={"order_id": "A-1"})]) as sim:
        request = asked(sim)
        sim.set_rules([named("new", BUSY)])
        assert sim.answer(request, {"by": "person"}, wait=PATIENCE)
        assert sim.query("again", wait=PATIENCE)
        notes = [note.content for note in entries(sim, "session_note")]
        assert any("added new" in note and "removed only A-1" in note for note in notes)


# ---------------------------------------------------------------- chance


CALLS = [f"A-{number}" for number in range(12)]


@pytest.mark.long
def test_chance_is_repeated_by_the_sessions_seed_or_the_rules_own() -> None:
    """The same seed gives the same pattern; a rule's own seed gives it in every session."""
    agent = finding(*CALLS)

    def by_chance(seed: str, **more: Any) -> list[str | None]:
        half = named("half", probability=0.5, **more)
        with going(agent.clone(), tools="refuse", rules=[half], seed=seed) as sim:
            return [by for _, by in sources(sim)]

    assert by_chance("one") == by_chance("one") != by_chance("two")
    assert by_chance("one", random_seed=7) == by_chance("two", random_seed=7)
    assert {"half", None} == set(by_chance("one"))


def fault(name: str) -> Any:
    """Return what a fault of the library does to a call of the tool."""
    return next(each for each in faults() if each.name == name).rule("find", name)


def two_calls() -> Simulation:
    """Open a session in which two calls of one tool wait."""
    simulation = opened(agent_of(*_turns(), tools=[find]))
    simulation.query("go", wait=PATIENCE)
    return simulation


def test_a_fault_answers_one_call_and_is_undone_as_a_step() -> None:
    """The other call waits on, no rule is there, and an undo leads back to both; the script plays the same."""
    with two_calls() as simulation:
        first, second = simulation.pending
        simulation.inject(first, fault("http_503"), wait=PATIENCE)
        (fact,) = tool_facts(simulation)
        assert isinstance(fact.outcome, Failed)
        assert fact.outcome.error_code == 503
        assert (fact.provenance.source, fact.provenance.by) == ("injected", None)
        assert fact.provenance.notes[0] == "503 Service Unavailable"
        assert fact.provenance.fired == ()
        assert simulation.session.rules == ()
        assert [each.key for each in simulation.pending] == [second.key]
        simulation.undo(wait=PATIENCE)
        assert [each.key for each in simulation.pending] == [first.key, second.key]
        simulation.inject(simulation.pending[0], fault("http_404"), wait=PATIENCE)
        simulation.answer(simulation.pending[0], {"status": "sent"}, wait=PATIENCE)
        script = script_of(simulation, agent="model")
        assert [move.fails.error_code for move in _moves(script) if move.fails] == [404]
        told = [fact.outcome for fact in tool_facts(simulation)]
        played = play_script(stage_config(agent_of(*_turns(), tools=[find])), script)
        assert played.came_through
        assert [fact.outcome for fact in played.facts if isinstance(fact, ToolAnswered)] == told


def _moves(script: Script) -> list[ToolMove]:
    return [move for turn in script.turns for move in turn.moves if isinstance(move, ToolMove)]


def _turns() -> tuple[Any, ...]:
    return [call("find", order_id="A"), call("find", order_id="B")], [say("done")]


def test_a_fault_changes_the_response_that_is_given_or_is_refused() -> None:
    """What was done stands with the answer; without a response there is nothing to change. What answers no single call leaves it waiting."""
    with two_calls() as simulation:
        (request, _) = simulation.pending
        for name, words in (
            ("latency_fixed", "write one first"),
            ("ambiguous_timeout", "single call"),
            ("ask", "single call"),
            ("distort_wrong_type", "write one first"),
        ):
            with pytest.raises(SimulationError, match=words):
                simulation.inject(request, fault(name))
            assert len(simulation.pending) == 2
        given = Returned(value={"status": "shipped", "total": 12})
        simulation.inject(request, fault("distort_wrong_type"), given, wait=PATIENCE)
        (fact,) = tool_facts(simulation)
        assert fact.outcome != given
        assert len(fact.provenance.notes) > 1
        late = fault("latency_fixed").model_copy(update={"latency_seconds": 0.01})
        (request,) = simulation.pending
        effects = ToolEffects(state_delta={"found": True})
        asked = FailCall(key=request.key, rule=late, outcome=given, effects=effects)
        simulation.send(asked, PATIENCE)
        (_, fact) = tool_facts(simulation)
        assert (fact.outcome, fact.effects) == (given, effects)
        assert fact.provenance.notes[0] == late.label
