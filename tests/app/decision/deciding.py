"""A page with nothing but the decision pane, over a real simulation, for the tests of what is in the pane."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from streamlit.testing.v1 import AppTest

from app.live.unsent_texts import UnsentTexts
from simulator.facts import ModelAnswered, ToolAnswered
from simulator.runtime import Simulation
from simulator.seats.requests import ToolRequest

PATIENCE = 60.0
"""Seconds after which a page, or a session, has failed its test."""

HOSTILE = "![x](http://evil.example/a.png) <b>bold</b> **loud** :red[red] $x$"
"""Text that Markdown or HTML would make something of."""


def _page(simulation: "Any", drafts: "Any", problems: "list[str]") -> None:  # noqa: UP037 - the script has no imports
    import streamlit as st  # noqa: PLC0415 - the function's text is the page's script

    from app.decision.decision_context import surroundings  # noqa: PLC0415 - as above
    from app.decision.decision_panel import decision_panel  # noqa: PLC0415 - as above
    from app.forms.widget_store import gather  # noqa: PLC0415 - as above
    from app.session.commands import hand  # noqa: PLC0415 - as above

    gather(drafts)
    view = simulation.view()
    decided = decision_panel(view, drafts, surroundings(simulation, view))
    if decided is not None:
        try:
            hand(simulation, decided)
            simulation.wait(60.0)
        except ValueError as error:
            problems.append(str(error))
        st.rerun()


class Deciding:
    """The pane of one session in one tab; widgets are found by the beginning of their keys."""

    def __init__(self, simulation: Simulation, drafts: UnsentTexts | None = None) -> None:
        self.simulation = simulation
        self.drafts = drafts if drafts is not None else UnsentTexts()
        self.problems: list[str] = []
        given = {"simulation": simulation, "drafts": self.drafts, "problems": self.problems}
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

    def type(self, name: str, text: Any) -> Deciding:
        """Put something into an input, without a rerun."""
        for inputs in (self.tab.text_area, self.tab.text_input, self.tab.number_input, self.tab.toggle):
            if found := [one for one in inputs if _is(one, name)]:
                found[0].set_value(text)
                return self
        raise LookupError(f"no input is called {name}: {self.names()}")

    def choose(self, name: str, value: Any) -> Deciding:
        """Choose in a list, or among the words of a control, and draw the page again."""
        for inputs in (self.tab.selectbox, self.tab.button_group):
            if found := [one for one in inputs if _is(one, name)]:
                found[0].set_value(value)
                self.tab.run()
                return self.sound()
        raise LookupError(f"no choice is called {name}: {self.names()}")

    def text(self, name: str) -> Any:
        """Return what an input holds."""
        for inputs in (self.tab.text_area, self.tab.text_input, self.tab.number_input):
            if found := [one for one in inputs if _is(one, name)]:
                return found[0].value
        raise LookupError(f"no input is called {name}: {self.names()}")

    def names(self) -> list[str]:
        """Return the keys of all that can be used."""
        groups: list[Any] = [
            self.tab.button,
            self.tab.text_area,
            self.tab.text_input,
            self.tab.number_input,
            self.tab.selectbox,
            self.tab.button_group,
            self.tab.toggle,
        ]
        return [str(one.key) for group in groups for one in group]

    def places(self) -> dict[str, tuple[int, ...]]:
        """Return by key where each thing that can be used stands: its number in each container around it.

        The browser makes a thing anew whose number changes, and a click that was begun on it is lost.
        """
        return dict(_places(self.tab.main, ()))

    def shown(self) -> str:
        """Return every text on the page that is no label."""
        groups: list[Iterable[Any]] = [self.tab.text, self.tab.code, self.tab.error, self.tab.caption]
        return "\n".join(str(one.value) for group in groups for one in group)

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


def first(simulation: Simulation) -> ToolRequest:
    """Return the call that waits first."""
    request = simulation.pending[0]
    assert isinstance(request, ToolRequest)
    return request


def answers(simulation: Simulation) -> list[ToolAnswered]:
    """Return the answers to tool calls so far."""
    return [fact for _, fact in simulation.journal.path() if isinstance(fact, ToolAnswered)]


def model_parts(simulation: Simulation) -> list[Any]:
    """Return the parts of each turn of the agents so far."""
    given: list[Any] = [
        response["content"]
        for _, fact in simulation.journal.path()
        if isinstance(fact, ModelAnswered)
        for response in fact.responses
    ]
    return [content["parts"] for content in given]
