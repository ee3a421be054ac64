"""The documents come with the studio: each page leads to the one about it, and they lead to each other. A view of a page stands in its address."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from streamlit.runtime.state.query_params import QueryParams

from app.evalsets.cases.case_panel import PAGE_TURNS
from app.evalsets.cases.cases_tab import PAGE_CASES
from app.session.document_page import FOLDER
from app.session.page_state import Part
from tests.app.fakes import FakeSimulation, put_live
from tests.app.page_driver import Tab
from tests.evalset.editing.editing_sets import TURN, a_raw_case, write_set

DOCUMENTS = sorted(file.stem for file in FOLDER.glob("*.md"))


def links(tab: Tab) -> list[str]:
    """Return the addresses of the links that are buttons."""
    return [str(node.proto.url) for node in tab.nodes() if node.type == "link_button"]


def test_a_page_leads_to_its_document() -> None:
    """In the sidebar; its address is relative, wherever the studio is served."""
    assert links(Tab()) == ["?document=agents"]
    assert links(Tab(page="sets")) == ["?document=eval-sets"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_shown_with_its_pictures_and_links_to_the_others(name: str) -> None:
    """No link leads to a file, which no browser finds there."""
    tab = Tab(document=name)
    text = (FOLDER / f"{name}.md").read_text()
    shown = "\n".join(element.value for element in tab.app.main.markdown)
    assert text.partition("\n")[0] in shown
    assert text.splitlines()[-1].split("](")[0] in shown
    others = set(re.findall(r"\]\(\?document=([\w-]+)", shown))
    assert others == set(re.findall(r"\]\(([\w-]+)\.md", text)) <= set(DOCUMENTS)
    assert not re.findall(r"\]\([^)]*\.(?:md|png)", shown)
    pictures = sum(node.type == "image" for node in tab.nodes())
    assert pictures == len(re.findall(r"^!\[", text, re.MULTILINE))


def test_an_address_of_no_document_is_the_start_page() -> None:
    """Nothing outside of the folder can be named."""
    for name in ("none", "../../README", "pictures"):
        with pytest.raises(ValueError, match="not enough values"):
            Tab(document=name).block("document")


def address(tab: Tab) -> dict[str, str]:
    """Return what the address says of views."""
    named = {name: tab.app.query_params.get(name) for name in get_args(Part)}
    return {
        name: str(value if isinstance(value, str) else value[0]) for name, value in named.items() if value
    }


def go_to(tab: Tab, place: Mapping[str, str]) -> Tab:
    """Go to an address as the browser does on its way back."""
    for name in list(tab.app.query_params):
        del tab.app.query_params[name]
    for name, value in place.items():
        tab.app.query_params[name] = value
    return tab.run()


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that the page has told the browser, one entry of its history for each."""
    told: list[str] = []
    send = QueryParams._send_query_param_msg

    def tell(self: QueryParams) -> None:
        told.append(str(self))
        send(self)

    monkeypatch.setattr(QueryParams, "_send_query_param_msg", tell)
    return told


SESSION, SET = "session-0001-abcdef", "orders.evalset.json"
ON_RUN = {"tab": "run", "part": "adk-eval"}


@pytest.mark.parametrize(
    ("place", "views", "named"),
    [
        ({"session": SESSION}, {"timeline_view": "Conversation"}, {"steps": "conversation"}),
        ({"session": SESSION}, {"timeline_filter": "Errors"}, {"filter": "errors"}),
        ({"session": SESSION}, {"context_view": "Seats"}, {"context": "seats"}),
        ({"session": SESSION, "view": "export"}, {"export_view": "Case JSON"}, {"tab": "case-json"}),
        ({"session": SESSION, "view": "environment"}, {"rules_side": "Try it"}, {"part": "try-it"}),
        ({"set": SET, "tab": "run"}, {"engine": "adk eval"}, {"part": "adk-eval"}),
        ({"set": SET, **ON_RUN}, {"criteria_side": "JSON", "adk_side": "Output"}, {"criteria": "json", "results": "output"}),
    ],
)  # fmt: skip
def test_each_view_of_a_page_is_in_the_address(
    place: dict[str, Any], views: dict[str, str], named: dict[str, str], tmp_path: Path, steps: list[str]
) -> None:
    """A choice is one step of the browser's history; a reload, a copied link and the way back and forward lead to it."""
    simulation = FakeSimulation(SESSION).ask("Where is it?").say("Here.").end("Here.")
    put_live(simulation)
    if "set" in place:
        place = {**place, "page": "sets", "set": str(write_set(tmp_path / SET))}
    tab = Tab(**place)

    def shown(tab: Tab) -> dict[str, str]:
        return {key: str(tab.app.segmented_control(key=tab.key(key)).value) for key in views}

    first = shown(tab)
    for number, (key, value) in enumerate(views.items(), 1):
        assert len(steps) == number - 1
        tab.choose(tab.key(key), value)
    assert shown(tab) == views != first
    there = {**place, **named}
    assert address(tab) == {name: word for name, word in there.items() if name in get_args(Part)}
    assert shown(Tab(**there)) == views
    assert shown(go_to(tab, place)) == first
    assert shown(go_to(tab, there)) == views


def test_the_tab_of_a_set_is_in_the_address(tmp_path: Path) -> None:
    """The first one is not named; another one is, and the browser's way back leaves it."""
    path = write_set(tmp_path / "orders.evalset.json")
    tab = Tab(page="sets", set=str(path))
    assert address(tab) == {}
    tab.choose("set_tab", "Doctor")
    assert address(tab) == {"tab": "doctor"}
    assert (
        Tab(page="sets", set=str(path), tab="doctor").app.segmented_control(key="set_tab").value == "Doctor"
    )
    del tab.app.query_params["tab"]
    assert tab.run().app.segmented_control(key="set_tab").value == "Cases"
    tab.choose("set_tab", "Import & export")
    assert address(tab) == {"tab": "import-export"}
    tab.app.query_params["tab"] = "doctor"
    assert tab.run().app.segmented_control(key="set_tab").value == "Doctor"
    assert (
        Tab(page="sets", set=str(path), tab="nothing").app.segmented_control(key="set_tab").value == "Cases"
    )


def test_the_page_of_a_long_list_is_in_the_address(tmp_path: Path, steps: list[str]) -> None:
    """The list is left and found again at its page, with its search; the turns of a long case have one, too, which another case does not keep."""
    turns = [{**TURN, "invocation_id": f"e-{number}"} for number in range(PAGE_TURNS + 1)]
    cases = [a_raw_case(f"case {number:02}", *turns) for number in range(PAGE_CASES + 1)]
    path = tmp_path / SET
    path.write_text(json.dumps({"eval_set_id": "desk", "eval_cases": cases}))

    def pages(tab: Tab, key: str = "cases_page") -> int:
        return int(tab.app.pagination(key=key).value)

    place: dict[str, Any] = {"page": "sets", "set": str(path)}
    tab = Tab(**place, case_search="case", case_sort="Sort: case")
    tab.app.pagination(key="cases_page").set_value(2)
    tab.run()
    assert (len(steps), address(tab), pages(Tab(**place, cases="2"))) == (1, {"cases": "2"}, 2)
    tab.app.session_state[tab.key("cases_table_")] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    tab.run()
    assert (len(steps), tab.app.query_params["case"]) == (2, f"case {PAGE_CASES}")
    tab.app.pagination(key="case_turn_page").set_value(2)
    tab.run()
    assert (len(steps), address(tab)) == (3, {"cases": "2", "turns": "2"})
    again = Tab(**place, case="case 02", cases="2", turns="2", search="search=case&sort=Case")
    assert pages(again, "case_turn_page") == 2
    assert pages(again.click("case_before"), "case_turn_page") == 1
    steps.clear()
    for each in (tab, again):
        each.click("case_back")
        assert (address(each), pages(each)) == ({"cases": "2"}, 2)
        assert (each.app.text_input(key="case_search").value, len(steps)) == ("case", 1)
        steps.clear()
    tab.fill("case_search", "01")
    assert (address(tab.run().run()), tab.has("cases_page")) == ({}, False)
    tab.fill("case_search", "")
    assert pages(go_to(tab, {**place, "cases": "2"})) == 2
    assert pages(go_to(tab, {**place, "cases": "77"})) == 1
