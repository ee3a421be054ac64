"""Inputs keep what was typed, each for its own owner."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from app.forms.widget_store import slug
from app.live.unsent_texts import UnsentTexts


def _page(drafts: "Any", about: "Any", stops: "Any") -> None:  # noqa: UP037 - the script has no imports
    import streamlit as st  # noqa: PLC0415 - the function's text is the page's script

    from app.forms.widget_store import KeptInputs, gather, keep_typed  # noqa: PLC0415 - as above

    gather(drafts)
    if stops and stops.pop():
        st.rerun()
    kept = KeptInputs(drafts, "the owner", about[0])
    if about[1]:
        st.text_input("Text", key=kept.widget("text", "first"))
    st.button("Look", key="look", on_click=keep_typed, args=(drafts,))
    st.button("Forget", key="forget", on_click=kept.forget)
    st.button(
        "Upper", key="upper", on_click=lambda: kept.put("text", str(kept.value("text", "first")).upper())
    )


class Page:
    """A page with one input; `about` is what its owner is about, and whether the input is drawn; `stops` ends a run early."""

    def __init__(self, drafts: UnsentTexts | None = None) -> None:
        self.drafts = drafts if drafts is not None else UnsentTexts()
        self.about: list[Any] = ["one", True]
        self.stops: list[bool] = []
        given_ = {"drafts": self.drafts, "about": self.about, "stops": self.stops}
        self.tab = AppTest.from_function(_page, kwargs=given_, default_timeout=60).run()

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
    page.stops[:] = [True]
    page.tab.run()
    assert page.tab.text_input[0].value == "first"


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
