"""Inputs keep what was typed, each for its own owner; what a browser sends before it has seen what the page set is told from what a person put there."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from app.forms.widget_store import SEEN_KEY, slug
from app.live.live_sessions import UnsentTexts

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "place": {"type": "string"}},
    "required": ["name", "place"],
}


def _page(drafts: "Any", schema: "Any") -> None:  # noqa: UP037 - the script has no imports
    import streamlit as st  # noqa: PLC0415 - the function's text is the page's script

    from app.forms.schema_form_widgets import SchemaForm  # noqa: PLC0415 - as above
    from app.forms.widget_store import (  # noqa: PLC0415 - as above
        KeptInputs,
        acknowledge,
        gather,
    )
    from app.session.page_state import follow  # noqa: PLC0415 - as above

    gather(drafts)
    kept = KeptInputs(drafts, "owner")
    form = SchemaForm(kept, "text", schema, {"name": "Ada", "place": "Rome"})
    form.sync()
    st.text_area("Text", key=kept.widget("text", form.initial_text()))
    form.draw(tried=False, live=True)
    st.button("Other", key="other", on_click=kept.put, args=("text", '{"name": "Eve", "place": "Oslo"}'))
    st.button("Give", key="give")
    turn = st.session_state.setdefault("turn", 1)
    st.text_area("Held", key=KeptInputs(drafts, "held", f"turn {turn}").widget("message", f"Message {turn}"))
    st.button("Next", key="next", on_click=lambda: st.session_state.update(turn=turn + 1))
    follow("switch", st.session_state.get("wanted", False))
    st.toggle("Switch", key="switch")
    acknowledge()


class Browser:
    """A browser whose clicks can leave it before the page's last answer has arrived."""

    def __init__(self, drafts: UnsentTexts | None = None, turn: int = 1) -> None:
        self.drafts = drafts if drafts is not None else UnsentTexts()
        given = {"drafts": self.drafts, "schema": SCHEMA}
        self.tab = AppTest.from_function(_page, kwargs=given, default_timeout=60)
        self.tab.session_state["turn"] = turn
        self.tab.run()
        self.tab.run()
        self._seen = self._shown()

    def _inputs(self) -> list[Any]:
        return [*self.tab.text_area, *self.tab.text_input, *self.tab.toggle]

    def _shown(self) -> dict[str, Any]:
        return {str(one.key): one.value for one in self._inputs()}

    def put(self, **values: Any) -> Browser:
        """Let a person put something into inputs, by the beginnings of their keys; it is sent with the next click."""
        for start, value in values.items():
            (key,) = [key for key in self._seen if key.startswith(start) or f".{start}_" in key]
            self._seen[key] = value
        return self

    def click(self, button: str = "give", *, arrives: bool = True) -> Browser:
        """Click, and send along what all inputs hold; without `arrives` the page's answer is still on its way after."""
        for one in self._inputs():
            one.set_value(self._seen.get(str(one.key), one.value))
        self.tab.button(key=button).click().run()
        assert not self.tab.exception
        if arrives:
            self._seen = self._shown()
        return self

    def __getitem__(self, start: str) -> Any:
        """Return what an input of the page holds on the server."""
        shown = self._shown()
        (key,) = [key for key in shown if key.startswith(start) or f".{start}_" in key]
        return shown[key]


TYPED = '{"name": "Bob", "place": "Rome"}'


@pytest.mark.long
def test_what_is_typed_before_the_page_has_set_it_is_kept_and_shown_again() -> None:
    """The page's value arrives on top of it in the browser; then the page says once more what was typed."""
    page = Browser().put(text=TYPED).click(arrives=False)
    page.put(name="Eve").click(arrives=False)
    assert page["name"] == "Eve"
    page.put(name="Bob").click()
    assert page["name"] == "Eve"
    assert '"Eve"' in page["text"]


def test_what_is_typed_or_set_by_a_click_is_not_undone_by_what_has_not_seen_it() -> None:
    """Clicks right after it bring old fields, or the old text, along; whoever has seen the page's value can go back to the one before."""
    page = Browser().click("other", arrives=False).click()
    assert (page["name"], '"Oslo"' in page["text"]) == ("Eve", True)
    page.put(text=TYPED).click(arrives=False)
    assert page["name"] == "Bob"
    page.click()
    assert (page["name"], page["text"]) == ("Bob", TYPED)
    page.put(name="Ada").click(arrives=False).click(arrives=False).click(arrives=False)
    page.click()
    assert (page["name"], '"Ada"' in page["text"]) == ("Ada", True)


@pytest.mark.long
def test_a_switch_that_the_session_moves_is_not_moved_back() -> None:
    """A followed widget shows the session's value, though the browser still says the one before."""
    page = Browser()
    page.tab.session_state["wanted"] = True
    page.click(arrives=False)
    assert page["switch"] is True
    page.click()
    assert page["switch"] is True
    page.put(switch=False).click()
    assert page["switch"] is False


@pytest.mark.long
def test_the_message_before_is_not_taken_for_typed_into_the_next_one() -> None:
    """Sent, it still stands in a browser that has not heard of the next one; a refresh shows the next one."""
    page = Browser().click("next", arrives=False).click(arrives=False)
    assert page["message"] == "Message 2"
    assert Browser(page.drafts, turn=2)["message"] == "Message 2"
    page.click()
    page.put(message="Message 1").click()  # whoever has seen the next one can write the same once more
    assert Browser(page.drafts, turn=2)["message"] == "Message 1"


@pytest.mark.long
def test_nothing_is_remembered_of_what_has_arrived() -> None:
    """A long session does not gather what was set in it."""
    page = Browser()
    for n in range(5):
        page.put(text=f'{{"name": "{n}", "place": "Rome"}}').click()
    page.click().click()
    assert page.tab.session_state["set_inputs"] == {}
    assert int(page[SEEN_KEY]) >= 5


def test_what_a_program_puts_into_the_unseen_input_ends_no_page() -> None:
    """A browser's helper may fill in each input that it finds."""
    browser = Browser()
    browser.tab.text_input(key=SEEN_KEY).set_value("go 12")
    browser.tab.run()
    assert not browser.tab.exception
    assert str(browser.tab.text_input(key=SEEN_KEY).value).isdecimal()


def _kept_page(drafts: "Any", about: "Any", stops: "Any") -> None:  # noqa: UP037 - the script has no imports
    import streamlit as st  # noqa: PLC0415 - the function's text is the page's script

    from app.forms.widget_store import (  # noqa: PLC0415 - as above
        KeptInputs,
        acknowledge,
        gather,
        keep_typed,
    )

    gather(drafts)
    if "begun" in stops:
        stops.clear()
        st.rerun()
    st.checkbox("Other", key=KeptInputs(drafts, "another").widget("other", initial=False))
    if "drawn in part" in stops:
        stops.clear()
        st.stop()
    kept = KeptInputs(drafts, "the owner", about[0])
    if about[1]:
        st.text_input("Text", key=kept.widget("text", "first"))
    st.button("Look", key="look", on_click=keep_typed, args=(drafts,))
    st.button("Forget", key="forget", on_click=kept.forget)
    st.button(
        "Upper", key="upper", on_click=lambda: kept.put("text", str(kept.value("text", "first")).upper())
    )
    acknowledge()


class Page:
    """A page with one input; `about` is what its owner is about, and whether the input is drawn; `stops` ends a run early."""

    def __init__(self, drafts: UnsentTexts | None = None) -> None:
        self.drafts = drafts if drafts is not None else UnsentTexts()
        self.about: list[Any] = ["one", True]
        self.stops: list[str] = []
        given_ = {"drafts": self.drafts, "about": self.about, "stops": self.stops}
        self.tab = AppTest.from_function(_kept_page, kwargs=given_, default_timeout=60).run()

    def change(self, about: str, *, drawn: bool = True) -> Page:
        """Let the owner be about something else, or hide the input, and draw the page."""
        self.about[:] = [about, drawn]
        self.tab.run()
        assert not self.tab.exception
        return self

    def type(self, text: str) -> Page:
        """Type into the input, and draw the page."""
        self.tab.text_input[0].set_value(text).run()
        return self

    @property
    def text(self) -> Any:
        """What the input holds."""
        return self.tab.text_input[0].value


@pytest.mark.long
def test_a_hidden_input_comes_back_with_its_text_and_a_look_keeps_it() -> None:
    """One run without the input, and a new tab, lose nothing; what the browser sent along is kept before the page is drawn anew.

    A change by another tab stays.
    """
    page = Page().type("mine").change("one", drawn=False).change("one")
    assert (page.text, Page(page.drafts).text) == ("mine", "mine")
    page.tab.text_input[0].set_value("looked")
    page.tab.button(key="look").click().run()
    assert Page(page.drafts).text == "looked"
    Page(page.drafts).type("another tab's")
    page.change("one", drawn=False)
    assert page.change("one").text == "another tab's"


def test_inputs_of_a_run_that_ended_early_are_not_taken_for_anothers() -> None:
    """Where a run ended before any input was drawn, the next one still knows whose text stands in the input."""
    page = Page().type("mine")
    page.about[:] = ["two", True]
    page.stops[:] = ["begun"]
    page.tab.run()
    assert page.text == "first"


@pytest.mark.parametrize("drawn", [True, False])
def test_what_was_typed_while_a_run_was_cut_off_is_kept(*, drawn: bool) -> None:
    """A browser still shows the inputs that the run has not reached: the next one keeps their texts, also where it draws them no more, as after an undo."""
    page = Page().type("mine")
    page.stops[:] = ["drawn in part"]
    page.tab.run()
    page.tab.session_state[f"text_{slug('the owner')}"] = "typed since"
    page.change("one", drawn=drawn)
    assert page.change("one").text == "typed since"


@pytest.mark.long
def test_another_thing_of_the_same_name_begins_anew_and_so_does_what_is_forgotten() -> None:
    """What was typed for one thing is not shown for the next; a click right after it came reads and changes its input. Forgotten, it is gone in every tab."""
    page = Page().type("mine").change("two")
    assert page.text == "first"
    assert page.change("two").text == "first"
    page.tab.text_input[0].set_value("yours")
    page.tab.button(key="upper").click().run()
    assert page.text == "YOURS"
    page.tab.button(key="forget").click().run()
    assert (page.text, Page(page.drafts).text) == ("first", "first")


@pytest.mark.long
@given(st.lists(st.text(max_size=60), unique=True, min_size=2, max_size=4))
def test_different_names_have_different_keys(names: list[str]) -> None:
    """A slug is fit for a key, and no two names share one."""
    slugs = [slug(name) for name in names]
    assert len(set(slugs)) == len(names)
    assert all(len(each) <= 60 and each.isascii() for each in slugs)
