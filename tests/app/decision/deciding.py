"""A page with nothing but the decision pane, over a real simulation, for the tests of what is in the pane."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, TypedDict, TypeVar

from google.adk.tools.long_running_tool import LongRunningFunctionTool
from streamlit.testing.v1 import AppTest

from app.live.live_sessions import UnsentTexts
from simulator.facts import ModelAnswered, ToolAnswered
from simulator.runtime import Simulation
from simulator.runtime.commanding import Commanding
from simulator.scripts import Script
from simulator.seats.requests import ToolRequest
from tests.app.page_driver import block_key
from tests.simulator.runtime.stage import PATIENCE, agent_of, opened


def _page(simulation: "Any", drafts: "Any", problems: "list[str]", golden: "Any") -> None:  # noqa: UP037 - the script has no imports
    import streamlit as st  # noqa: PLC0415 - the function's text is the page's script

    from app.decision.decision_context import surroundings  # noqa: PLC0415 - as above
    from app.decision.decision_panel import decision_panel  # noqa: PLC0415 - as above
    from app.forms.widget_store import gather  # noqa: PLC0415 - as above
    from app.session.page_commands import hand  # noqa: PLC0415 - as above
    from simulator.scripts.script_lines import NextLines  # noqa: PLC0415 - as above

    gather(drafts)
    view = simulation.view()
    path = (fact for _, fact in simulation.journal.path())
    beside = None if golden is None else NextLines(golden, path, root=simulation.config.root_agent.name)
    decided = decision_panel(view, drafts, surroundings(simulation, view, golden=beside))
    if decided is not None:
        try:
            hand(simulation, decided)
            simulation.wait(60.0)
        except ValueError as error:
            problems.append(str(error))
        st.rerun()


AnyFact = TypeVar("AnyFact")


class Order(TypedDict):
    """An order, so that the tool has a response schema."""

    order_id: str
    total: float
    note: str


def find_order(order_id: str) -> Order:
    """Find an order."""
    return {"order_id": order_id, "total": 1.0, "note": ""}


def echo(word: str, times: int = 1) -> dict[str, Any]:
    """Echo a word, without a response schema."""
    return {"word": word, "times": times}


def ship(order_id: str) -> None:
    """Ship an order, some day."""


TOOLS = [find_order, echo, LongRunningFunctionTool(ship)]


class Deciding:
    """The pane of one session in one tab; widgets are found by the beginning of their keys. `golden` is the script of the case that it began with."""

    def __init__(
        self, simulation: Simulation, drafts: UnsentTexts | None = None, golden: Script | None = None
    ) -> None:
        self.simulation = simulation
        self.drafts = drafts if drafts is not None else UnsentTexts()
        self.problems: list[str] = []
        given = {"simulation": simulation, "drafts": self.drafts, "problems": self.problems, "golden": golden}
        self.tab = AppTest.from_function(_page, kwargs=given, default_timeout=PATIENCE).run()
        self.sound()

    def open_players(self) -> Deciding:
        """Open the choice of who answers from now on."""
        key = next(name for name in self.names() if name.startswith("accept_")).removeprefix("accept_")
        self.tab.session_state[f"players_{key}"] = True
        return self.run().sound()

    def run(self) -> Deciding:
        """Draw the page again."""
        self.tab.run()
        return self

    def refreshed(self) -> Deciding:
        """Return the page as a new tab shows it."""
        return Deciding(self.simulation, self.drafts)

    def press(self, name: str) -> Deciding:
        """Click a button."""
        self._one(self.tab.button, name).click().run()
        return self.sound()

    def type(self, name: str, value: Any) -> Deciding:
        """Put something into an input, without a rerun."""
        self._one(self._inputs(), name).set_value(value)
        return self

    def choose(self, name: str, value: Any) -> Deciding:
        """Choose in a list, or among the words of a control, and draw the page again."""
        return self.type(name, value).run().sound()

    def text(self, name: str) -> Any:
        """Return what an input holds."""
        return self._one(self._inputs(), name).value

    def _inputs(self) -> list[Any]:
        tab = self.tab
        typed = (*tab.text_area, *tab.text_input, *tab.number_input, *tab.toggle, *tab.checkbox)
        return [*typed, *tab.selectbox, *tab.button_group]

    def names(self) -> list[str]:
        """Return the keys of all that can be used."""
        return [str(one.key) for one in (*self.tab.button, *self._inputs())]

    def places(self) -> dict[str, tuple[int, ...]]:
        """Return by key where each thing that can be used stands: its number in each container around it.

        The browser makes a thing anew whose number changes, and a click that was begun on it is lost.
        """
        return dict(_places(self.tab.main, ()))

    def shown(self) -> str:
        """Return every text on the page that is no label."""
        groups: list[Iterable[Any]] = [self.tab.text, self.tab.code, self.tab.error, self.tab.caption]
        return "\n".join(str(one.value) for group in groups for one in group)

    def foot(self) -> str:
        """Return every text that is beside the buttons, which stay in sight."""
        blocks = [node for node in self.tab.main if block_key(node) == "decision_foot"]
        return "\n".join(str(getattr(one, "value", "")) for one in blocks[-1] if one.type == "text")

    def sound(self) -> Deciding:
        """Fail where the script raised."""
        assert not self.tab.exception, self.tab.exception
        return self

    def _one(self, group: Iterable[Any], name: str) -> Any:
        found = [one for one in group if _is(one, name)]
        assert found, f"nothing is called {name}: {self.names()}"
        return found[0]


def _places(block: Any, above: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for number, child in block.children.items():
        if hasattr(child, "children"):
            yield from _places(child, (*above, number))
        elif getattr(child, "key", None):
            yield str(child.key), (*above, number)


def _is(widget: Any, name: str) -> bool:
    """Return whether a widget's key begins like this; the number of a form, which grows, may be left out."""
    key = str(widget.key or "")
    return key.startswith(name) or re.sub(r"^((?:json:)?form)\d+:", r"\1:", key).startswith(name)


def asked_for(*calls: Any, **more: Any) -> Any:
    """Open a session whose agent makes these calls at once, and ask it."""
    return asked(list(calls), **{"tools": TOOLS, **more})


def asked(*turns: Any, tools: list[Any], **more: Any) -> Simulation:
    """Open a session whose agent takes these turns, and ask it."""
    simulation = opened(agent_of(*turns, tools=tools), **more)
    simulation.query("go", wait=PATIENCE)
    return simulation


def first(simulation: Simulation) -> ToolRequest:
    """Return the call that waits first."""
    request = simulation.pending[0]
    assert isinstance(request, ToolRequest)
    return request


def facts(simulation: Commanding, kind: type[AnyFact]) -> list[AnyFact]:
    """Return the facts of a kind so far."""
    return [fact for _, fact in simulation.journal.path() if isinstance(fact, kind)]


def answers(simulation: Commanding) -> list[ToolAnswered]:
    """Return the answers to tool calls so far."""
    return facts(simulation, ToolAnswered)


def model_parts(simulation: Simulation) -> list[Any]:
    """Return the parts of each turn of the agents so far."""
    turns = facts(simulation, ModelAnswered)
    given: list[Any] = [response["content"] for turn in turns for response in turn.responses]
    return [content["parts"] for content in given]
