"""The documents come with the studio: each page leads to the one about it, and they lead to each other. A view of a page stands in its address."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.session.document_page import FOLDER
from tests.app.page_driver import Tab
from tests.evalset.editing.editing_sets import write_set

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
    named = {name: tab.app.query_params.get(name) for name in ("tab", "part")}
    return {
        name: str(value if isinstance(value, str) else value[0]) for name, value in named.items() if value
    }


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
