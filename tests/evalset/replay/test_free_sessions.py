"""A case that a simulated user plays, or that has no recording: calls alone are compared with what was recorded, and nothing real runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evalset import HermeticEnvironment, UnrecordedCallError
from evalset.recorded.recording import RecordedEnvironment
from evalset.recorded.recording_files import put_cases, read_environment
from simulator.environment.injection.injection import InjectionRule
from simulator.environment.injection.rule_effects import ErrorEffect
from simulator.facts import Returned
from tests.evalset.replay.desk_agent import config, keep, played, write_desk
from tests.evalset.replay.test_hermetic import Heard, replayed

_EVALUATION = {"__name__": "google.adk.evaluation.stand_in"}
exec("def evaluated(eval_case, run):\n    return run()", _EVALUATION)  # noqa: S102 - ADK's own frames say which case runs
evaluated: Callable[[Any, Callable[[], Any]], Any] = _EVALUATION["evaluated"]  # type: ignore[assignment] # what `exec` defines is an object
SCENARIO = SimpleNamespace(starting_prompt="Hi")
BUSY = InjectionRule(
    rule_id="busy", tool_name="note", effect=ErrorEffect(error_code=503, error_message="busy")
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


def test_calls_of_a_scenario_get_what_the_same_calls_got(module: Any, recorded: Path) -> None:
    """Whatever the user says, and in whichever turn it is asked: the recorded responses in their order, then the last again."""
    plugin = HermeticEnvironment(recorded)
    _, answers, _ = ran(module, plugin, "check A", "check B; check A", "check A")
    assert [answer["status"] for _, answer in answers] == ["open", "late", "lost", "lost"]
    assert plugin.missed == []


def test_another_call_of_a_scenario_fails_with_the_nearest(module: Any, recorded: Path) -> None:
    """Unless the person said otherwise; the scenario and the recorded call are named."""
    with pytest.raises(UnrecordedCallError, match=r"'plan'.*check\(order=\"C\"\).*check\(order=\"[AB]\"\)"):
        ran(module, HermeticEnvironment(recorded), "check C")


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


def test_a_case_with_a_conversation_needs_its_recording(module: Any, recorded: Path) -> None:
    """As ever, unless responses may be generated."""
    with pytest.raises(RuntimeError, match="no recording of the case 'plan'"):
        ran(module, HermeticEnvironment(recorded), "check A", scenario=None)


def test_what_a_fault_said_is_no_response(module: Any, recorded: Path, tmp_path: Path) -> None:
    """The recording of a fault is of that one session: a scenario gets what would have happened, or nothing."""
    path = Path(shutil.copy(recorded, tmp_path))
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
    module: Any, recorded: Path, tmp_path: Path
) -> None:
    """Those of other cases are not asked."""
    path = Path(shutil.copy(recorded, tmp_path))
    (case,) = read_environment(path).cases.values()
    put_cases(path, {"one": case.model_copy(update={"rules": (BUSY,)})})
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
