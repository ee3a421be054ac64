"""A blank that nobody filled in stays marked wherever the response goes, and nobody learns it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

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
BLANK = ("$.name",)
PATIENCE = 60.0
OPEN: list[Simulation] = []


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


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """End what was played."""
    yield
    while OPEN:
        OPEN.pop().close()


def asked(home: Path) -> tuple[Simulation, ToolRequest]:
    """Play until the tool is asked."""
    config = catalogue_for(AgentSettings(agents_dir=home.parent, demos=False)).config("shop")
    simulation = Simulation.open(config, seats=Seats(agents={"*": "person"}, tools={"*": "person"}))
    OPEN.append(simulation)
    assert simulation.query("What is A-1?", wait=PATIENCE)
    assert simulation.answer(simulation.pending[0], called(("find_price", {"sku": "A-1"})), wait=PATIENCE)
    (request,) = simulation.pending
    assert isinstance(request, ToolRequest)
    return simulation, request


def blanks(simulation: Simulation) -> tuple[str, ...]:
    """Return the blanks of the last response."""
    facts = [fact for _, fact in simulation.journal.path() if isinstance(fact, ToolAnswered)]
    return facts[-1].provenance.blanks


def test_a_draft_that_is_accepted_keeps_its_blank(shop: Path) -> None:
    """Edited or not: what stands in it still is nobody's word; a value in its place is one."""
    simulation, request = asked(shop)
    assert isinstance(request.draft, dict)
    assert simulation.answer(request, request.draft, wait=PATIENCE)
    assert blanks(simulation) == BLANK
    for change, left in (({"currency": "NOK"}, BLANK), ({"name": "Lamp"}, ())):
        simulation, request = asked(shop)
        edited = ToolAnswer(outcome=Returned(value={**dict(request.draft or {}), **change}), source="edited")  # type: ignore[arg-type] # a draft of this tool is an object
        assert simulation.answer(request, edited, wait=PATIENCE)
        assert blanks(simulation) == left


def test_the_world_does_not_learn_it(shop: Path) -> None:
    """The thing is known, and its name is not: the next draft is blank again."""
    simulation, request = asked(shop)
    assert simulation.answer(request, request.draft, wait=PATIENCE)
    assert "<name>" not in str(simulation.environment.world())
    assert simulation.answer(simulation.pending[0], called(("find_price", {"sku": "A-1"})), wait=PATIENCE)
    (again,) = simulation.pending
    assert isinstance(again, ToolRequest)
    assert tuple(blank.path for blank in again.draft_blanks) == BLANK


def test_a_run_the_recording_and_the_doctor_name_it(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And `--strict` writes nothing."""
    eval_set = tmp_path / "shop.evalset.json"
    run = ["run", str(shop), "--script", str(tmp_path / "script.yaml"), "--out", str(eval_set), "--json"]
    assert main([*run, "--strict"]) == 1
    assert not eval_set.exists()
    assert "find_price is blank at $.name" in capsys.readouterr().err
    assert main([*run, "--eval-id", "one"]) == 0
    assert json.loads(capsys.readouterr().out)["blanks"] == [
        "turn 1: the response of find_price is blank at $.name"
    ]
    (turn,) = read_environment(sidecar_of(eval_set)).cases["one"].turns
    assert turn.calls[0].author.blanks == BLANK
    assert main(["doctor", str(eval_set)]) == 0
    assert "blank-response" in capsys.readouterr().out
    export = ["export", str(eval_set), "--form", "evalset", "--out", str(tmp_path / "elsewhere")]
    assert main([*export, "--strict"]) == 1
    assert "one: turn 1: the response of find_price is blank at $.name" in capsys.readouterr().err
    assert not (tmp_path / "elsewhere").exists()
    assert main(export) == 0


STOCK = (
    """    return {"sku": sku, "state": "there"} if catalogue.get(sku) else {"sku": sku, "state": "gone"}"""
)


def test_a_value_that_may_be_another_is_named_everywhere(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The code returns one of two, and nobody decided: it is sent, and stays marked until somebody enters one."""
    code = AGENT.replace(AGENT[AGENT.index("    row =") : AGENT.index("\n\n\nroot_agent")], STOCK)
    (shop / "agent.py").write_text(code)
    eval_set = tmp_path / "shop.evalset.json"
    run = ["run", str(shop), "--script", str(tmp_path / "script.yaml"), "--out", str(eval_set), "--json"]
    line = "turn 1: the response of find_price is uncertain at $.state"
    assert main([*run, "--strict"]) == 1
    assert not eval_set.exists()
    assert line in capsys.readouterr().err
    assert main([*run, "--eval-id", "one"]) == 0
    assert json.loads(capsys.readouterr().out)["uncertain"] == [line]
    (turn,) = read_environment(sidecar_of(eval_set)).cases["one"].turns
    assert turn.calls[0].author.uncertain == ("$.state",)
    assert main(["doctor", str(eval_set)]) == 0
    assert "uncertain-response" in capsys.readouterr().out
    edited = ToolAnswer(outcome=Returned(value={"sku": "A-1", "state": "sold"}), source="edited")
    for answer, left in ((None, ("$.state",)), (edited, ())):
        simulation, request = asked(shop)
        assert simulation.answer(request, answer or request.draft, wait=PATIENCE)
        (fact,) = [fact for _, fact in simulation.journal.path() if isinstance(fact, ToolAnswered)]
        assert fact.provenance.uncertain == left


WORDS = AGENT.replace("def find_price(sku: str) -> dict:", "def find_price(sku: str) -> str:").replace(
    'return {"sku": sku, "name": row["name"], "currency": "EUR"}', "return row.text()"
)


def test_a_response_that_is_a_guess_as_a_whole_is_not_repeated_as_known(shop: Path) -> None:
    """The same call is answered by a guess again, and it is marked again."""
    (shop / "agent.py").write_text(WORDS)
    simulation, request = asked(shop)
    first = [blank.path for blank in request.draft_blanks]
    assert first == ["$"]
    assert simulation.answer(request, request.draft, wait=PATIENCE)
    assert blanks(simulation) == ("$",)
    assert simulation.answer(simulation.pending[0], called(("find_price", {"sku": "A-1"})), wait=PATIENCE)
    (again,) = simulation.pending
    assert isinstance(again, ToolRequest)
    assert [blank.path for blank in again.draft_blanks] == first
