"""Tests of the words of texts: on the page, in errors, in the output of commands and in the documents, as CONTRIBUTING lists them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.census import nodes

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("app", "evalset", "simulator")
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "app" / "docs").glob("*.md")))
INSTEAD = {
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bwho(m|se)?ever\b": "anyone",
    r"\b(some|every|no|any)body\b": "someone, everyone, no one, anyone",
    r"\banew\b": "again",
    r"\bshall\b": "will, must",
    r"\bmeanwhile\b": "leave it out, or say while what",
    r"\bat the moment\b": "now",
    r"\bof (its|their|one's) own\b": "its own, separate",
    r"\bone's own\b": "your own",
    r"\bmade up\b": "generated",
    r"\b(bring|brings|brought) (it |them |this )?back\b": "restore",
    r"\bspeaks? for the user\b": "play the user",
    r"\bready answers?\b": "candidate",
    r"\bwhat the world answer(s|ed)\b": "tool responses",
    r"\bbefore its time\b": "early",
}
"""What no text says, as a pattern, and what it says instead."""
NO_TEXTS = ("demos",)
"""Folders whose texts belong to an agent, not to the studio."""


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """Yield each literal text of several words with its line; docstrings are for who reads the code."""
    whole = nodes(file)
    inside = {id(part) for node in whole if isinstance(node, ast.JoinedStr) for part in node.values}
    documentation = {
        id(node.value)
        for body in (getattr(parent, "body", None) for parent in whole)
        if isinstance(body, list)
        for node in body
        if isinstance(node, ast.Expr)
    }
    for node in whole:
        if id(node) in inside or id(node) in documentation:
            continue
        words = _words(node)
        if " " in words.strip():
            yield getattr(node, "lineno", 0), words


def _words(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_words(part) or "_" for part in parts)
        case _:
            return ""


def found(text: str) -> list[str]:
    """Return what the text says and what it had better say."""
    lower = text.lower()
    return [f"{hit.group()} → {better}" for bad, better in INSTEAD.items() if (hit := re.search(bad, lower))]


@pytest.mark.parametrize("package", PACKAGES)
def test_texts_use_the_words_of_the_field(package: str) -> None:
    """A busy reader whose first language is another one understands each at once."""
    files = [file for file in sorted((ROOT / package).rglob("*.py")) if not set(NO_TEXTS) & set(file.parts)]
    assert files
    troubles = [
        f"{file.relative_to(ROOT)}:{line}: {trouble} in {text!r}"
        for file in files
        for line, text in texts(file)
        for trouble in found(text)
    ]
    assert not troubles, "\n".join(troubles)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_use_them_too(document: Path) -> None:
    """The README is the first text that anyone reads. What is in code font is a name, such as `doctor.mend`, and stays exact."""
    troubles = [
        f"line {number}: {trouble}"
        for number, line in enumerate(document.read_text().splitlines(), 1)
        for trouble in found(re.sub(r"`[^`]+`", "`_`", line))
    ]
    assert not troubles, "\n".join(troubles)
