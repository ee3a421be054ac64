"""The documents come with the studio: each page leads to the one about it, and they lead to each other."""

from __future__ import annotations

import re

import pytest

from app.session.document_page import FOLDER
from tests.app.page_driver import Tab

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
