"""What becomes of a call that was not recorded: an error, the answer of a rule, or an offline draft; never a real tool."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from google.adk.tools.tool_context import ToolContext

from evalset import HermeticEnvironment, UnrecordedCallError
from evalset.recorded.recording_files import put_cases, read_environment
from simulator.environment.injection.conditions import CallNumber
from simulator.environment.injection.injection import InjectionRule
from simulator.environment.injection.rule_effects import ErrorEffect, HangEffect, ResponseEffect
from simulator.facts import Failed, Raised
from tests.evalset.replay.desk_agent import config, keep, played, write_desk
from tests.evalset.replay.test_hermetic import replayed

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


def test_cases_that_answer_differently_are_told_apart_first(module: Any, tmp_path: Path) -> None:
    """A draft does not stand in where two recorded answers fit: that would hide which case is meant."""
    write_desk(tmp_path / "played")
    desk = config(tmp_path / "played")
    for name in ("one", "two"):
        answers = {"check": {"status": name}}
        sidecar = keep(played(desk, ["check A"], answers), tmp_path / "desk.evalset.json", name)
    with pytest.raises(UnrecordedCallError, match="'one' and 'two' "):
        replayed(module, HermeticEnvironment(sidecar, unrecorded="generate"), "check A")
