"""Text from outside is shown as what it is: nothing in it turns the direction of what follows, wherever it stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import app
from simulator.facts import Provenance
from tests.app.fakes import FakeSimulation, model_request, put_live
from tests.app.page_driver import Tab

TURNING = "\u202e\u2067"
ESCAPED = "\\u202e\\u2067"
BODIES = frozenset({"text", "code"})
SAFE = frozenset({"literal", "show_json", "write_json"})
"""What writes a text so that it may stand in a body."""


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


APP = Path(__file__).resolve().parents[3] / "app"
SHEET = re.sub(r"/\*.*?\*/", "", (APP / "styles.css").read_text(encoding="utf-8"), flags=re.DOTALL)
PANE = re.compile(r"\bpane\(\"(\w+)\"")
INNER = re.compile(r"\((?:[^()]|\([^()]*\))*\)")


def looked_for() -> list[str]:
    """Return what stands in each `:has(...)`."""
    starts = [found.end() - 1 for found in re.finditer(r":has\(", SHEET)]
    return [inner[0][1:-1] for start in starts if (inner := INNER.match(SHEET, start))]


def test_has_looks_for_whole_classes() -> None:
    """A part of a class, a tag or an attribute in one `:has` makes a browser style most of the page anew when anything comes or goes."""
    simple = re.compile(r"(?:> ?)?(?::is\()?(?:\.[\w-]+(?::empty)?(?:, | )?)+\)?|:focus-visible")
    assert len(looked_for()) > 20
    assert [each for each in looked_for() if not simple.fullmatch(each)] == []


def test_each_pane_has_its_height() -> None:
    """A pane is named in the sheet, as its name cannot be looked for by how it begins."""
    names = {name for file in APP.rglob("*.py") for name in PANE.findall(file.read_text(encoding="utf-8"))}
    assert len(names) > 5
    assert {
        name
        for name in names
        if f".st-key-pane_{name}," not in SHEET and f".st-key-pane_{name})" not in SHEET
    } == set()
