"""Tests of how tools of others are found, cut out, called and run."""

from __future__ import annotations

from pathlib import Path

from pydantic import JsonValue

from tests.first_sight.arguments import chosen
from tests.first_sight.checkouts import Checkout
from tests.first_sight.choosing import Choice, _visit, ordered, visited_before
from tests.first_sight.finding import Found, digest, tools_of
from tests.first_sight.running import ran
from tests.first_sight.slices import sliced

AGENT = '''
from google.adk.agents import Agent
from google.adk.tools import FunctionTool
from .prices import total, stored
from . import clock

def greet(name: str, times: int = 1) -> dict:
    """Greet somebody.

    Args:
        name: Whom, such as "Bea".
    """
    return {"greeting": ", ".join([f"Hello {name}"] * times)}

MORE = [total, clock.hour]
root_agent = Agent(name="a", tools=[greet, FunctionTool(func=stored)])
other = Agent(name="b", tools=MORE)
'''
PRICES = """
import math
from rates import RATES as rates
seen = []

def _rounded(value):
    return math.floor(value * 100) / 100

async def total(prices: list[float], currency: str) -> dict:
    return {"total": _rounded(sum(prices) * rates[currency]), "currency": currency}

def stored(item: str) -> list:
    seen.append(item)
    return seen

if __name__ == "__main__":
    total([1.5, 2], currency="EUR")
"""


def checkout(root: Path) -> Checkout:
    """Write a project of four files."""
    home = root / "shop"
    home.mkdir()
    texts = {"agent": AGENT, "prices": PRICES, "clock": "import time\ndef hour():\n    return time.time()\n"}
    for name, text in texts.items():
        (home / f"{name}.py").write_text(text)
    (root / "rates.py").write_text('RATES = {"EUR": 2}\n')
    (root / "COMMIT").write_text("abc")
    return Checkout(root)


def named(root: Path) -> dict[str, Found]:
    """Return the tools of the project by their names."""
    return {tool.function.name: tool for tool in tools_of(checkout(root))}


def test_tools_are_found_wherever_they_stand(tmp_path: Path) -> None:
    """Names, wrapped functions, lists with a name, and functions of other files are found."""
    found = named(tmp_path)
    assert {name: tool.path for name, tool in found.items()} == {
        "greet": "shop/agent.py",
        "stored": "shop/prices.py",
        "total": "shop/prices.py",
        "hour": "shop/clock.py",
    }


def test_only_what_computes_counts_as_computing(tmp_path: Path) -> None:
    """A clock and a list that a function fills are more than computing; helpers and constants are not."""
    found = named(tmp_path)
    project = Checkout(tmp_path)
    reasons = {name: sliced(project, tool).reasons for name, tool in found.items()}
    assert reasons == {
        "greet": [],
        "total": [],
        "stored": ["stored changes seen"],
        "hour": ["it uses time"],
    }


def test_what_was_cut_out_runs(tmp_path: Path) -> None:
    """An asynchronous function with a helper and a constant of another file returns what it would in its project."""
    found = named(tmp_path)
    project = Checkout(tmp_path)
    arguments: dict[str, JsonValue] = {"prices": [1.5, 2.255], "currency": "EUR"}
    cut = sliced(project, found["total"])
    assert ran(found["total"], cut, arguments).value == {"total": 7.51, "currency": "EUR"}
    assert ran(found["total"], cut, {"prices": [], "currency": "?"}).problem.startswith("KeyError")


def test_arguments_come_from_examples_and_then_from_the_table(tmp_path: Path) -> None:
    """A call with literals in the project is taken; without one, what the docstring quotes."""
    choice = Choice()
    root = tmp_path / "me+shop"
    root.mkdir()
    found = named(root)
    _visit(choice, tmp_path, "me/shop")
    assert {tool.function: tool.arguments for tool in choice.tools} == {
        "greet": {"name": "Bea"},
        "total": {"prices": [1.5, 2], "currency": "EUR"},
        "stored": {"item": "sample"},
        "hour": {},
    }
    assert {tool.function for tool in choice.tools if tool.computes} == {"greet", "total"}
    assert chosen(found["total"].function, [], {}) == {"prices": [3.5, 1.0, 2.5], "currency": "USD"}


def test_repositories_are_visited_in_an_order_that_nobody_chose() -> None:
    """The order is that of a digest; known owners are left out, and in a second sample the repositories of the first."""
    names = ["b/agents", "google/adk-samples", "a/agents", "A/Agents", "c/agents"]
    assert [name.lower() for name in ordered(names)] == sorted(
        ["a/agents", "b/agents", "c/agents"], key=digest
    )
    assert visited_before("tools.json") == []
    assert "adewumi0550/adk-demo" in visited_before("tools_second.json")
