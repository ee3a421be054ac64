"""Text from outside is shown as what it is: nothing in it turns the direction of what follows, wherever it stands."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import app
from app.live.agent_catalogue import catalogue
from simulator.facts import Provenance
from tests.app.fakes import FakeSimulation, model_request, put_live
from tests.app.page_driver import Tab

TURNING = "\u202e\u2067"
ESCAPED = "\\u202e\\u2067"
BODIES = frozenset({"text", "code"})
SAFE = frozenset({"literal", "show_json", "write_json"})
"""What writes a text so that it may stand in a body."""

AGENT = """
from google.adk.agents import LlmAgent
from google.adk.models import Gemini

root_agent = LlmAgent(name="asker", model=Gemini(model=%r), instruction="Help.")
"""


def _bare(source: str) -> Iterator[str]:
    """Yield each body whose text is neither the module's own words nor made safe in the same line."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        shown, drawn = node.args[0], node.func.attr in BODIES
        made_safe = isinstance(shown, ast.Call) and getattr(shown.func, "id", "") in SAFE
        if drawn and not (made_safe or isinstance(shown, ast.Constant)):
            yield ast.unparse(node)


def test_every_body_is_written_safely_where_it_is_drawn() -> None:
    """No text or code on the page, but our own words, stands there without being made literal."""
    files = sorted(Path(app.__path__[0]).rglob("*.py"))
    assert len(files) > len(BODIES)
    assert {path.name: found for path in files if (found := list(_bare(path.read_text())))} == {}


def test_a_body_that_is_drawn_as_it_is_would_be_found() -> None:
    """The search sees a bare text, and lets our own words and a safe one pass."""
    source = 'st.text(a)\nst.code(f"{b}")\nst.text("ours")\nst.text(literal(a))\nbody.code(show_json(a))'
    assert list(_bare(source)) == ["st.text(a)", "st.code(f'{b}')"]


@pytest.mark.long
@pytest.mark.usefixtures("no_key")
def test_the_start_page_names_a_model_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Why a model cannot be asked is told in words that may come from the agent's file: none of them is turned."""
    (tmp_path / "asker").mkdir()
    (tmp_path / "asker" / "agent.py").write_text(AGENT % f"gemini-{TURNING}2.5")
    monkeypatch.setattr(sys, "argv", ["main.py", "--agents-dir", str(tmp_path), "--no-demos"])
    catalogue().load_all()
    tab = Tab()
    assert f"gemini-{ESCAPED}2.5" in tab.literal
    assert not set(TURNING) & set(tab.literal)


def test_the_panes_of_a_session_name_all_as_it_is() -> None:
    """The table of the steps and the pane of the model show the escapes of what an agent, a tool and a rule are called."""
    simulation = FakeSimulation("session-0051-abcdef").ask("Where?")
    for number in range(25):
        simulation.call(f"c{number}", tool=f"find{TURNING}")
        simulation.give(f"c{number}", tool=f"find{TURNING}", provenance=_injected())
    simulation.seen = model_request().model_copy(update={"model_name": f"model{TURNING}"})
    put_live(simulation)
    tab = Tab("session-0051-abcdef")
    tab.fill("timeline_table", True).run().choose("context_view", "Model")
    for shown in (f"find{ESCAPED}", f"injected (rule{ESCAPED})", f"model{ESCAPED}"):
        assert shown in tab.literal
    assert not set(TURNING) & set(tab.literal)


def _injected() -> Provenance:
    return Provenance(source="injected", by=f"rule{TURNING}")
