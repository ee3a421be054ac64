"""What becomes of a call that was not recorded, in a recorded case and in one that a simulated user plays: never a real tool."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.tools.tool_context import ToolContext

from evalset import HermeticEnvironment, UnrecordedCallError
from evalset.recorded.recording import RecordedEnvironment
from evalset.recorded.recording_files import put_cases, read_environment
from simulator.environment.injection.conditions import CallNumber
from simulator.environment.injection.rule_effects import ErrorEffect, HangEffect, ResponseEffect
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import Failed, Raised, Returned
from tests.evalset.replay.desk_agent import config, keep, played, write_desk
from tests.evalset.replay.test_hermetic import Heard, replayed

BUSY = InjectionRule(
    rule_id="busy",
    tool_name="check",
    match_args={"order": "B"},
    effect=ErrorEffect(error_code=503, error_message="busy"),
    latency_seconds=100.0,
)
HANGS = InjectionRule(rule_id="hangs", tool_name="note", effect=HangEffect(message="too slow"))
THIRD = InjectionRule(
    rule_id="third",
    tool_name="check",
    when=CallNumber(which="nth", n=3),
    effect=ResponseEffect(value={"status": "third"}),
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A case in which `check A` was asked twice, with rules that had nothing to say to it."""
    folder = tmp_path_factory.mktemp("recorded")
    write_desk(folder / "played")
    answers = {"check": [{"status": "shipped", "order": "A"}, {"status": "lost", "order": "A"}]}
    simulation = played(config(folder / "played"), ["check A; check A"], answers)
    made = keep(simulation, folder / "desk.evalset.json", "one")
    (case,) = read_environment(made).cases.values()
    put_cases(made, {"one": case.model_copy(update={"rules": (BUSY, HANGS, THIRD), "seed": "s"})})
    return made


@pytest.fixture
def sidecar(recorded: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copy(recorded, tmp_path))


def instead(sidecar: Path, query: str, unrecorded: Any) -> HermeticEnvironment:
    """Replay a case in which the user had said something else."""
    sidecar.write_text(sidecar.read_text().replace('"text": "check A; check A"', f'"text": "{query}"'))
    return HermeticEnvironment(sidecar, unrecorded=unrecorded)


def ship(order: str, tool_context: ToolContext) -> dict[str, bool]:
    """Ship an order."""
    tool_context.state["shipped"] = order
    return {"done": True}


def test_a_draft_does_what_the_tools_code_does_besides(module: Any, sidecar: Path) -> None:
    """The state that it writes is there for what comes, though nobody recorded the call."""
    module.root_agent.tools[3] = ship
    plugin = instead(sidecar, "check A; ship B", "generate")
    _, answers, state = replayed(module, plugin, "check A; ship B")
    assert answers[-1] == ("ship", {"done": True})
    assert state["shipped"] == "B"
    assert plugin.made[-1].call.effects.state_delta == {"shipped": "B"}


def test_a_rule_of_the_case_answers_at_once(module: Any, sidecar: Path) -> None:
    """What was recorded stays; the rule takes no time, and what it says can be looked up with its author."""
    plugin = instead(sidecar, "check A; check B", "rules")
    _, answers, _ = replayed(module, plugin, "check A; check B")
    assert answers == [
        ("check", {"status": "shipped", "order": "A"}),
        ("check", {"error_code": 503, "error_message": "busy"}),
    ]
    (made,) = plugin.made
    author = made.call.author
    assert (made.eval_id, made.turn, author.source, author.by) == ("one", 0, "injected", "busy")
    assert made.call.outcome == Failed(error_code=503, error_message="busy")
    assert made.call.arguments == {"order": "B"}
    (sentence,) = plugin.missed
    assert sentence.startswith("case 'one', turn 1 ")
    assert all(each in sentence for each in ('check(order="B")', 'check(order="A")'))
    assert sentence.endswith("the rule 'busy'")


def test_rules_count_the_calls_that_were_answered_as_recorded(module: Any, sidecar: Path) -> None:
    """The third call of a tool is its third, though the first two came from the recording."""
    plugin = instead(sidecar, "check A; check A; check A", "rules")
    _, answers, _ = replayed(module, plugin, "check A; check A; check A")
    assert [answer["status"] for _, answer in answers] == ["shipped", "lost", "third"]
    assert " 2 times " in plugin.made[0].why


def test_where_no_rule_answers_the_call_is_an_error(module: Any, sidecar: Path) -> None:
    """With what is nearest, as ever."""
    plugin = instead(sidecar, "check C", "rules")
    with pytest.raises(UnrecordedCallError, match=r"closest .* check\(order=\"A\"\).*; no rule "):
        replayed(module, plugin, "check C")
    assert (len(plugin.missed), plugin.made) == (1, [])


def test_a_rule_that_hangs_raises_at_once(module: Any, sidecar: Path) -> None:
    """The exception reaches the agent as in the session; nobody waits for it."""
    plugin = instead(sidecar, "note A", "rules")
    with pytest.raises(TimeoutError, match="too slow"):
        replayed(module, plugin, "note A")
    assert isinstance(plugin.made[0].call.outcome, Raised)


def test_a_draft_answers_what_no_rule_does(module: Any, sidecar: Path) -> None:
    """It looks like what was recorded, is the same in each run, and says that it is a draft; inside of agent tools, too."""
    outcomes = []
    for _ in range(2):
        plugin = instead(sidecar, "check C; check B; advisor visas", "generate")
        replayed(module, plugin, "check C; check B; advisor visas")
        assert [(made.call.tool, made.call.within, made.call.author.source) for made in plugin.made] == [
            ("check", (), "generated"),
            ("check", (), "injected"),
            ("look_up", ("advisor",), "generated"),
        ]
        assert "generated draft (" in plugin.missed[0]
        outcomes.append([made.call.outcome for made in plugin.made])
    assert outcomes[0] == outcomes[1]
    drafted: Any = outcomes[0][0]
    assert drafted.value.keys() == {"status", "order"}
    assert drafted.value["order"] == "C"


def test_a_user_who_says_something_else_is_answered_by_drafts(module: Any, sidecar: Path) -> None:
    """No case fits any more; the sentence says what would."""
    plugin = HermeticEnvironment(sidecar, unrecorded="generate")
    _, answers, _ = replayed(module, plugin, "check D")
    assert answers[0][1]["order"] == "D"
    assert "'check D'" in plugin.missed[0]


_EVALUATION = {"__name__": "google.adk.evaluation.stand_in"}
exec("def evaluated(eval_case, run):\n    return run()", _EVALUATION)  # noqa: S102 - ADK's own frames say which case runs
evaluated: Callable[[Any, Callable[[], Any]], Any] = _EVALUATION["evaluated"]  # type: ignore[assignment] # what `exec` defines is an object
SCENARIO = SimpleNamespace(starting_prompt="Hi")
NOTE_BUSY = InjectionRule(
    rule_id="busy", tool_name="note", effect=ErrorEffect(error_code=503, error_message="busy")
)


@pytest.fixture(scope="module")
def recorded_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A case in which `check A` was asked twice, and `check B` once."""
    folder = tmp_path_factory.mktemp("recorded")
    write_desk(folder / "played")
    answers = {"check": [{"status": "open"}, {"status": "lost"}, {"status": "late"}]}
    simulation = played(config(folder / "played"), ["check A; check A; check B"], answers)
    return keep(simulation, folder / "desk.evalset.json", "one")


def ran(
    module: Any, plugin: HermeticEnvironment, *queries: str, scenario: Any = SCENARIO, eval_id: str = "plan"
) -> Heard:
    """Run queries as `adk eval` runs a case."""
    case = SimpleNamespace(eval_id=eval_id, conversation_scenario=scenario)
    heard: Heard = evaluated(case, lambda: replayed(module, plugin, *queries))
    return heard


def test_calls_of_a_scenario_get_what_the_same_calls_got(module: Any, recorded_once: Path) -> None:
    """Whatever the user says, and in whichever turn it is asked: the recorded responses in their order, then the last again."""
    plugin = HermeticEnvironment(recorded_once)
    _, answers, _ = ran(module, plugin, "check A", "check B; check A", "check A")
    assert [answer["status"] for _, answer in answers] == ["open", "late", "lost", "lost"]
    assert plugin.missed == []


def test_another_call_of_a_scenario_fails_with_the_nearest(module: Any, recorded_once: Path) -> None:
    """Unless the person said otherwise; the scenario and the recorded call are named."""
    with pytest.raises(UnrecordedCallError, match=r"'plan'.*check\(order=\"C\"\).*check\(order=\"[AB]\"\)"):
        ran(module, HermeticEnvironment(recorded_once), "check C")


@pytest.mark.parametrize("scenario", [SCENARIO, None])
def test_without_a_recording_responses_are_generated(module: Any, scenario: Any) -> None:
    """For a scenario, and for a case with a conversation; what was generated says so, and no real tool ran."""
    plugin = HermeticEnvironment(RecordedEnvironment(), unrecorded="generate")
    _, answers, _ = ran(module, plugin, "check A", "note B", scenario=scenario)
    assert [name for name, _ in answers] == ["check", "note"]
    assert [(made.eval_id, made.turn, made.call.author.source) for made in plugin.made] == [
        ("plan", 0, "generated"),
        ("plan", 1, "generated"),
    ]


def get_order(order_id: str) -> Any:
    """Get an order."""
    raise SystemExit(f"a real tool ran for {order_id}")


def test_the_agents_environment_data_is_heeded(module: Any) -> None:
    """A draft says of a thing what the data say of it."""
    module.root_agent.model = module.Once(tool="get_order", argument="order_id")
    module.root_agent.tools.append(get_order)
    plugin = HermeticEnvironment(RecordedEnvironment(), unrecorded="generate")
    plugin.environment_data = json.dumps({"orders": [{"id": "5", "status": "half way"}]})
    _, answers, _ = ran(module, plugin, "Where is it?")
    assert answers == [("get_order", {"id": "5", "status": "half way"})]


def test_a_case_with_a_conversation_needs_its_recording(module: Any, recorded_once: Path) -> None:
    """As ever, unless responses may be generated."""
    with pytest.raises(RuntimeError, match="no recording of the case 'plan'"):
        ran(module, HermeticEnvironment(recorded_once), "check A", scenario=None)


def test_what_a_fault_said_is_no_response(module: Any, recorded_once: Path, tmp_path: Path) -> None:
    """The recording of a fault is of that one session: a scenario gets what would have happened, or nothing."""
    path = Path(shutil.copy(recorded_once, tmp_path))
    (case,) = read_environment(path).cases.values()
    injected = case.turns[0].calls[0].author.model_copy(update={"source": "injected"})
    first, second, third = case.turns[0].calls
    calls = (
        first.model_copy(update={"author": injected}),
        second.model_copy(update={"author": injected, "beneath": Returned(value={"status": "really lost"})}),
        third,
    )
    put_cases(
        path, {"one": case.model_copy(update={"turns": (case.turns[0].model_copy(update={"calls": calls}),)})}
    )
    _, answers, _ = ran(module, HermeticEnvironment(path), "check A; check B")
    assert [answer["status"] for _, answer in answers] == ["really lost", "late"]


def test_the_rules_of_a_scenario_are_those_of_its_own_recording(
    module: Any, recorded_once: Path, tmp_path: Path
) -> None:
    """Those of other cases are not asked."""
    path = Path(shutil.copy(recorded_once, tmp_path))
    (case,) = read_environment(path).cases.values()
    put_cases(path, {"one": case.model_copy(update={"rules": (NOTE_BUSY,)})})
    plugin = HermeticEnvironment(path, unrecorded="rules")
    with pytest.raises(UnrecordedCallError, match="no rule answers it"):
        ran(module, plugin, "note A")
    _, answers, _ = ran(module, plugin, "note A", eval_id="one")
    assert answers == [("note", {"error_code": 503, "error_message": "busy"})]


def test_an_agent_used_as_a_tool_runs_and_its_tools_are_answered(module: Any) -> None:
    """Inside of it nothing real runs either."""
    plugin = HermeticEnvironment(RecordedEnvironment(), unrecorded="generate")
    _, answers, _ = ran(module, plugin, "advisor visas")
    assert [name for name, _ in answers] == ["advisor"]
    assert [(made.call.tool, made.call.within) for made in plugin.made] == [("look_up", ("advisor",))]
