"""The style sheet costs a click little: what a browser looks for on every change of the page is looked for by whole classes alone."""

from __future__ import annotations

import re
from pathlib import Path

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
