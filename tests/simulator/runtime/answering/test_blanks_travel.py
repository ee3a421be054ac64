"""A blank that nobody filled in stays marked wherever the response goes, and nobody learns it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evalset.cli.main import main
from evalset.recorded.recording_files import read_environment, sidecar_of
from simulator import Seats, Simulation, called
from simulator.agents import AgentSettings, catalogue_for
from simulator.facts import Returned, ToolAnswered
from simulator.seats.answers import ToolAnswer
from simulator.seats.requests import ToolRequest

AGENT = '''
from google.adk.agents import LlmAgent
from . import catalogue


def find_price(sku: str) -> dict:
    """Find a price."""
    row = catalogue.get(sku)
    return {"sku": sku, "name": row["name"], "currency": "EUR"}


root_agent = LlmAgent(name="shop", model="gemini-2.5-flash", tools=[find_price])
'''
SCRIPT = """
format: golden-trace-studio/script
version: 1
otherwise: generate
agent: person
turns:
- say: What is A-1?
  moves:
  - calls: [{name: find_price, args: {sku: A-1}}]
  - text: It is cheap.
"""
PATIENCE = 60.0


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """An agent whose tool reads a name that only its catalogue knows."""
    home = tmp_path / "agents" / "shop"
    home.mkdir(parents=True)
    (home / "agent.py").write_text(AGENT)
    (home / "catalogue.py").write_text("def get(sku):\n    return __import__('the_real_tool_ran').row(sku)\n")
    (home / "__init__.py").write_text("from . import agent\n")
    (tmp_path / "script.yaml").write_text(SCRIPT)
    return home


@contextmanager
def asked(home: Path) -> Iterator[tuple[Simulation, ToolRequest]]:
    """Play until the tool is asked."""
    config = catalogue_for(AgentSettings(agents_dir=home.parent, demos=False)).config("shop")
    with Simulation.open(config, seats=Seats(agents={"*": "person"}, tools={"*": "person"})) as simulation:
        assert simulation.query("What is A-1?", wait=PATIENCE)
        yield simulation, _find(simulation)


def _find(simulation: Simulation) -> ToolRequest:
    """Let the person who plays the agent call the tool."""
    assert simulation.answer(simulation.pending[0], called(("find_price", {"sku": "A-1"})), wait=PATIENCE)
    (request,) = simulation.pending
    assert isinstance(request, ToolRequest)
    return request


WORDS = AGENT.replace("def find_price(sku: str) -> dict:", "def find_price(sku: str) -> str:").replace(
    'return {"sku": sku, "name": row["name"], "currency": "EUR"}', "return row.text()"
)
EITHER = AGENT.replace(
    AGENT[AGENT.index("    row =") : AGENT.index("\n\n\nroot_agent")],
    """    return {"sku": sku, "state": "there"} if catalogue.get(sku) else {"sku": sku, "state": "gone"}""",
)


def marked(simulation: Simulation) -> tuple[str, ...]:
    """Return what is marked as blank in the last response."""
    facts = [fact for _, fact in simulation.journal.path() if isinstance(fact, ToolAnswered)]
    return facts[-1].provenance.blanks


@pytest.mark.parametrize(
    ("change", "left"), [({}, ("$.name",)), ({"currency": "NOK"}, ("$.name",)), ({"name": "Lamp"}, ())]
)
def test_a_draft_that_is_accepted_keeps_its_mark(
    shop: Path, change: dict[str, str], left: tuple[str, ...]
) -> None:
    """Edited or not: what nobody said still is nobody's word; a value in its place is one."""
    with asked(shop) as (simulation, request):
        draft: Any = request.draft
        edited = ToolAnswer(outcome=Returned(value={**draft, **change}), source="edited")
        assert simulation.answer(request, edited if change else draft, wait=PATIENCE)
        assert marked(simulation) == left


@pytest.mark.parametrize(("code", "blank"), [(AGENT, "$.name"), (WORDS, "$")], ids=["a field", "the whole"])
def test_the_world_does_not_learn_it(shop: Path, code: str, blank: str) -> None:
    """The thing is known, and its name is not; a guess as a whole is not repeated as known: the next draft is blank again."""
    (shop / "agent.py").write_text(code)
    with asked(shop) as (simulation, request):
        assert simulation.answer(request, request.draft, wait=PATIENCE)
        assert marked(simulation) == (blank,)
        assert "<name>" not in str(simulation.environment.world())
        assert [each.path for each in _find(simulation).draft_blanks] == [blank]


@pytest.mark.parametrize(
    "named",
    [(AGENT, "blank", "blanks", "$.name"), (EITHER, "uncertain", "uncertain", "$.state")],
    ids=["blank", "uncertain"],
)
def test_a_run_the_recording_the_doctor_and_an_export_name_it(
    shop: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    named: tuple[str, ...],
) -> None:
    """A blank, and a value that the code chooses between two, until somebody enters one. `--strict` writes nothing."""
    code, kind, field, place = named
    (shop / "agent.py").write_text(code)
    eval_set = tmp_path / "shop.evalset.json"
    line = f"turn 1: the response of find_price is {kind} at {place}"
    run = ["run", str(shop), "--script", str(tmp_path / "script.yaml"), "--out", str(eval_set), "--json"]
    assert main([*run, "--strict"]) == 1
    assert not eval_set.exists()
    assert line in capsys.readouterr().err
    assert main([*run, "--eval-id", "one"]) == 0
    assert json.loads(capsys.readouterr().out)[field] == [line]
    (turn,) = read_environment(sidecar_of(eval_set)).cases["one"].turns
    assert getattr(turn.calls[0].author, field) == (place,)
    assert main(["doctor", str(eval_set)]) == 0
    assert f"{kind}-response" in capsys.readouterr().out
    export = ["export", str(eval_set), "--form", "evalset", "--out", str(tmp_path / "elsewhere")]
    assert main([*export, "--strict"]) == 1
    assert f"one: {line}" in capsys.readouterr().err
    assert not (tmp_path / "elsewhere").exists()
    assert main(export) == 0
