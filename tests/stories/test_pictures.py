"""The pictures of the documents show the pages as they are, and everyone can read the pages and use them."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Browser

from tests.harness.accessibility import violations
from tests.harness.browser import Studio
from tests.harness.processes import REPOSITORY
from tests.stories.pictures import DOCS, WORDS, take_all, words_of

_PICTURE = re.compile(r"!\[[^\]]*\]\((?:app/docs/)?([\w-]+)\.png\)")


@pytest.mark.browser
@pytest.mark.process
@pytest.mark.long
def test_each_page_is_as_pictured_and_accessible(browser: Browser) -> None:
    """Word for word: where this fails, `make screenshots` makes them again. axe-core finds nothing, in light and in dark.

    One walk looks for both, as most of its time goes into getting to the pages.
    """
    kept: dict[str, list[str]] = json.loads(WORDS.read_text())
    stale: dict[str, list[str]] = {}
    barred: dict[str, list[str]] = {}

    def look(name: str, studio: Studio) -> None:
        now = words_of(studio)
        if name and now != kept.get(name):
            stale[name] = [*(f"+ {each}" for each in now if each not in kept.get(name, []))] + [
                f"- {each}" for each in kept.get(name, []) if each not in now
            ]
        if found := violations(studio):
            barred[f"{name} {studio.page.url}"] = found

    take_all(browser, look)
    assert stale == {}
    assert barred == {}


def test_each_picture_is_in_a_document() -> None:
    """And each document's picture is there."""
    documents = (REPOSITORY / "README.md", *DOCS.glob("*.md"))
    shown = {name for file in documents for name in _PICTURE.findall(file.read_text())}
    assert shown == {file.stem for file in DOCS.glob("*.png")} == set(json.loads(WORDS.read_text()))
