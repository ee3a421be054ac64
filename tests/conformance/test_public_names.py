"""Holds the packages to their public names: what a person's script calls today, it may call tomorrow in the same way."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from itertools import takewhile
from typing import Any

import pytest

import evalset
from simulator import Simulation, called, demo_agent, earlier_data, failed, raised, said, transferred
from simulator.session.commands import Undo
from tests.conformance.surface import MODULES, NAMES, Given, public_lines
from tests.simulator.base.rows import for_each

PROMISED = NAMES.read_text().splitlines()
NOW: dict[str, list[str]] = {}
for line in public_lines():
    NOW.setdefault(re.split(r"[( ]", line)[0], []).append(line)


def parameters(line: str) -> list[Given]:
    """Return the parameters that a line names."""
    found = re.search(r"\((.*)\)", line)
    return [Given.read(each) for each in found[1].split(", ")] if found and found[1] else []


def broken(promised: str, now: str) -> list[str]:
    """Return which calls that were right by the first line are wrong by the second."""
    before, after = parameters(promised), parameters(now)
    by_name = {each.name: each for each in after}
    takes_any = any(each.mark == "**" for each in after)
    wrong = [f"{each.name} is gone" for each in before if each.name not in by_name and not takes_any]
    known = [(each, by_name[each.name]) for each in before if each.name in by_name]
    wrong += [f"{old.name} has to be given" for old, new in known if old.optional and not new.optional]
    wrong += [
        f"{old.name} cannot be given by name"
        for old, new in known
        if old.mark in {"", "="} and new.mark == "/"
    ]
    by_place = [old.name for old in takewhile(lambda each: each.mark in {"", "/"}, before)]
    wrong += [] if by_place == [each.name for each in after][: len(by_place)] else ["the order is another"]
    names = {each.name for each in before}
    wrong += [
        f"{each.name} is new and has to be given"
        for each in after
        if each.name not in names and not each.optional
    ]
    bases = set(re.findall(r"<(\w+)>", promised)) - set(re.findall(r"<(\w+)>", now))
    return wrong + [f"it is no {base} any more" for base in sorted(bases)]


ODD: Any = ["one"]
NUMBER: Any = 5
NOTHING: Any = None
MISUSED: tuple[tuple[str, Callable[[Any], object]], ...] = (
    ("int", lambda sim: sim.answer(5, {})),
    ("tuple", lambda sim: sim.run_real(sim.pending)),
    ("int", lambda sim: sim.send(5)),
    ("int", lambda sim: sim.look(5)),
    ("Undo", lambda sim: sim.look(Undo())),
    ("list", lambda sim: Simulation.open(sim.config, earlier=ODD)),
    ("SimulatedAgentConfig", lambda sim: evalset.write_golden_trace(sim.config)),
    ("SimulationSession", lambda sim: evalset.write_golden_trace(sim.session)),
    ("Simulation", evalset.GoldenTraceBuilder),
    ("Simulation", evalset.warnings),
    ("str", lambda _: evalset.export_cases(ODD, "pytest")),
    ("list", lambda _: evalset.EvalSetWriter("x.evalset.json", "desk").write_eval_case(ODD)),
    ("list", lambda _: evalset.script_of_case(ODD)),
    ("list", lambda _: evalset.read_cases(ODD)),
    ("list", lambda _: earlier_data(ODD)),
    *(
        ("int", lambda sim, name=name: Simulation.open(sim.config, **{name: NUMBER}))
        for name in ("rules", "seats", "initial_state", "seed", "user_id", "session_id")
    ),
    ("int", lambda sim: Simulation.resume(NUMBER, sim.config)),
    ("int", lambda _: said(NUMBER)),
    ("int", lambda _: called(("find_order", {}), text=NUMBER)),
    ("int", lambda _: transferred(NUMBER)),
    ("int", lambda _: raised("KeyError", NUMBER)),
    ("NoneType", lambda _: failed(NOTHING, "gone")),
    ("int", lambda sim: evalset.write_golden_trace(sim, "x.evalset.json", eval_id=NUMBER)),
    ("int", lambda _: evalset.EvalSetWriter("x.evalset.json", NUMBER)),
    ("int", lambda _: evalset.add_scenario(NUMBER, NUMBER)),
    ("int", lambda _: evalset.scenarios_text(NUMBER)),
    ("int", lambda _: evalset.table_csv(NUMBER)),
    ("int", lambda _: evalset.unique_eval_id("a", NUMBER)),
    ("int", lambda _: evalset.snake_case(NUMBER)),
    ("NoneType", lambda _: evalset.eval_id_for("desk", NOTHING)),
    ("int", lambda _: evalset.read_back("{}", NUMBER)),
)
"""Calls with a value of the kind that is named."""


@for_each(("kind", "call"), MISUSED)
def test_a_value_of_another_kind_is_answered_with_the_one_that_is_wanted(
    kind: str, call: Callable[[Any], object]
) -> None:
    """By a TypeError that names both."""
    with Simulation.open(demo_agent("order_desk")) as sim:
        sim.query("Where is order A-1002?")
        with pytest.raises(TypeError, match=rf"^expected .*, not {kind}$"):
            call(sim)


@for_each("module", ["simulator", "evalset"])
def test_a_package_lists_its_public_names_alone(module: str) -> None:
    """As a person sees them who types its name and a dot."""
    package = importlib.import_module(module)
    assert dir(package) == sorted(package.__all__)


@for_each("module", MODULES)
def test_each_promise_is_kept(module: str) -> None:
    """Every name is there, takes what it took, and needs nothing new; an error is still caught by the class that caught it."""
    lines = [
        line
        for line in PROMISED
        if re.match(
            rf"{re.escape(module)}\.[A-Za-z]\w*(\.[a-z_]\w*)?\b[^.]*$|{re.escape(module)}\.[A-Z]", line
        )
    ]
    assert lines
    wrong = {}
    for line in lines:
        name = re.split(r"[( ]", line)[0]
        found = NOW.get(name)
        reasons = min((broken(line, now) for now in found), key=len) if found else ["it is gone"]
        if reasons:
            wrong[line] = reasons
    assert wrong == {}


@for_each(
    ("before", "after", "reason"),
    [
        ("a.f(x, y?)", "a.f(x, z?)", "y is gone"),
        ("a.f(x, y?)", "a.f(x, y)", "y has to"),
        ("a.f(x)", "a.f(/x)", "x cannot"),
        ("a.f(x, y)", "a.f(y, x)", "order is another"),
        ("a.f(x)", "a.f(x, =y)", "y is new"),
        ("a.E <ValueError>", "a.E", "no ValueError"),
    ],
)
def test_a_broken_promise_is_named(before: str, after: str, reason: str) -> None:
    """Each kind of change that breaks a caller is found; what is added and may be left out is fine."""
    assert any(reason in found for found in broken(before, after))
    assert broken(before, before) == []
    assert broken("a.f(x, =y?)", "a.f(x, z?, =y?, **more?)") == []
