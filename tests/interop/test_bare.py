"""The engine runs in an environment that holds google-adk alone; what needs more says which package is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BEYOND = ("faker", "jinja2", "pandas", "psutil", "regex", "sqlalchemy", "streamlit")
"""What the studio needs beyond google-adk's own dependencies."""

BEFORE = f"""
import sys
for name in {BEYOND}:
    sys.modules[name] = None  # as if it were not installed

from simulator import InjectionRule, Seats, SimulatedAgentConfig, Simulation, demo_agent
from simulator.environment.schema.schema_checks import check

desk = demo_agent("order_desk")
CALL = "Where is order A-1002?"

def opened(*rules):
    sim = Simulation.open(desk, rules=rules, seats=Seats(tools={{"*": "person"}}), seed="s")
    sim.query(CALL, wait=60)
    return sim

def rule(**more):
    return InjectionRule.model_validate({{"rule_id": "r", "tool_name": "find_order", **more}})
"""


def bare(script: str) -> str:
    """Return what a script prints in a process of its own, where only google-adk and what it needs can be imported."""
    done = subprocess.run(
        [sys.executable, "-c", BEFORE + script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "GOLDEN_TRACE_STORE": "none"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_session_is_played_and_a_draft_is_made() -> None:
    """The pending call has a draft all the same, and the session goes on with it."""
    printed = bare("""
with opened() as sim:
    (request,) = sim.pending
    print("draft", type(request.draft).__name__)
    sim.answer(request, {"order_id": "A-1002", "status": "shipped"}, wait=60)
    print(len(sim.pending), "pending", [name for name in sys.modules if name.split(".")[0] in ("faker", "regex") and sys.modules[name]])
""")
    assert printed == "draft dict\n0 pending []\n"


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("when={'kind': 'expression', 'text': 'args.order_id == \"A-1002\"'}", "the package jinja2 is not installed"),
        (
            "when={'kind': 'argument', 'path': 'order_id', 'test': {'test': 'matches', 'pattern': r'^\\p{Lu}-'}}",
            "the package regex is not installed",
        ),
    ],
)  # fmt: skip
def test_a_rule_that_cannot_be_judged_does_not_fire_and_says_why(rule: str, reason: str) -> None:
    """The call is left to the person, with the reason beside it."""
    printed = bare(f"""
with opened(rule({rule}, effect={{"kind": "response", "value": {{"x": 1}}}})) as sim:
    (request,) = sim.pending
    print(request)
""")
    assert reason in printed


def test_a_pattern_is_searched_for_without_the_package() -> None:
    """A usual pattern decides as ever."""
    printed = bare("""
matches = {"kind": "argument", "path": "order_id", "test": {"test": "matches", "pattern": "^A-[0-9]+$"}}
with opened(rule(when=matches, effect={"kind": "response", "value": {"status": "shipped"}})) as sim:
    print(len(sim.pending))
schema = {"type": "object", "properties": {"id": {"type": "string", "pattern": "^[A-Z]{2}$"}}}
print([len(check({"id": text}, schema)) for text in ("AB", "ab")])
""")
    assert printed == "0\n[0, 1]\n"


def test_what_kernels_are_asked_to_run_can_be_imported() -> None:
    """Verification, too: it runs where the agent is."""
    told = bare("""
import importlib
from simulator.kernel.kernel_server import FOR_KERNELS
import simulator.kernel.kernel_program
for function, module in FOR_KERNELS.items():
    assert callable(getattr(importlib.import_module(module), function))
import evalset.verify.in_process, evalset.verify.metric
print("all")
""")
    assert told == "all\n"
