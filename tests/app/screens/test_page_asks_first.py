"""What cannot be taken back is asked for twice; text from outside is shown as what it is, and the style sheet costs a click little."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import app
from app.live.live_sessions import registry
from app.screens.sidebar_panel import SHOWN_SESSIONS
from simulator.base.python_source import parsed
from simulator.facts import Provenance
from simulator.seats.requests import CodeRequest
from simulator.session.commands import SetPlayer
from tests.app.fakes import FakeSimulation, model_request, put_live, tool_request
from tests.app.page_driver import Tab

ID = "session-0031-abcdef"


def waiting() -> FakeSimulation:
    """Two calls of one tool, one of another and a block of code wait for a person."""
    simulation = FakeSimulation(ID).ask("Refund both").call("c1").call("c2").call("c3", "refund_order")
    simulation.pending = (
        tool_request("c1"),
        tool_request("c2"),
        tool_request("c3", "refund_order"),
        CodeRequest(key="code-1", turn=0, agent="order_desk", code="print(1)"),
    )
    put_live(simulation)
    return simulation


def seated(target: str, player: str) -> Tab:
    """Choose who answers a tool."""
    tab = Tab(ID).choose("context_view", "Seats")
    tab.app.selectbox(key=tab.keys(f"seat_tool_{target}")[0]).set_value(player)
    return tab.run()


@pytest.mark.long
def test_real_calls_that_wait_are_asked_for_first() -> None:
    """A choice that would set off waiting calls says how many, and runs none before the second click; left, it is as if it was never made."""
    for target, count in (("find_order", 2), ("refund_order", 1), ("-", 4)):
        simulation = waiting()
        tab = seated(target, "real")
        assert f"{count} waiting" in tab.words, target
        assert simulation.asked == []
        if target == "find_order":
            tab.click("sure_no_seat_tool_find_order")
            assert tab.app.selectbox(key="seat_tool_find_order").value == "person"
            assert not tab.keys("sure_yes_")
            assert simulation.asked == []
            tab.fill("seat_tool_find_order", "real").run()
        tab.click(tab.key("sure_yes_"))
        assert simulation.asked == [
            SetPlayer(seat="tool", player="real", target="*" if target == "-" else target)
        ]
        assert not tab.keys("sure_yes_")


def test_what_sets_off_nothing_needs_no_second_click() -> None:
    """Another player, or a tool of which nothing waits, is seated at once; what waits for the person in a named seat is not counted."""
    simulation = waiting()
    seated("find_order", "refuse")
    simulation.pending = (tool_request("c3", "refund_order"),)
    seated("find_order", "real")
    assert simulation.asked == [
        SetPlayer(seat="tool", player=player, target="find_order") for player in ("refuse", "real")
    ]
    simulation = waiting()
    simulation.set_player("tool", "person", "find_order")
    assert "2 waiting" in seated("-", "real").words


def test_every_session_can_be_reached() -> None:
    """The newest are listed, those before them are one switch away, and open and close as the others do."""
    names = [f"session-{number:04}-abcdef" for number in range(SHOWN_SESSIONS + 3)]
    for name in names:
        put_live(FakeSimulation(name))
    tab = Tab(names[-1])
    assert tab.app.toggle(key="older_sessions").label == "Show 3 older"
    assert not tab.has(f"recent_{names[0]}")
    tab.fill("older_sessions", True).run()
    assert all(tab.has(f"recent_{name}") for name in names)
    assert tab.click(f"recent_{names[0]}").session_id == names[0]
    tab.in_menu("close", names[1])
    assert registry().get(names[1]) is None
    assert registry().get(names[2]) is not None


TURNING = "\u202e\u2067"
ESCAPED = "\\u202e\\u2067"
BODIES = frozenset({"text", "code"})
SAFE = frozenset({"literal", "show_json", "write_json"})
"""What writes a text so that it may stand in a body."""


def _bare(source: str) -> Iterator[str]:
    """Yield each body whose text is neither the module's own words nor made safe in the same line."""
    for node in ast.walk(parsed(source)):
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
