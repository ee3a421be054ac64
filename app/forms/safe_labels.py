"""Makes any text safe to stand in a Streamlit label, which reads Markdown: what is shown is what was said.

A label is where an image, a link or a colour directive in the name of a tool would come alive. Long text belongs
into a body (`st.text`, `st.code`, `st.json`), which reads no Markdown at all.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Literal, TypeAlias

from simulator.base.frozen_value import Value
from simulator.session.history import AttachedFile

Color: TypeAlias = Literal["red", "orange", "green", "blue", "violet", "gray"]

DIRECTIONS = {
    code: f"\\u{code:04x}" for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
"""Each character that turns the direction of the text after it, with the escape that is shown in its place."""

_JOINER = "\u2060"
"""Invisible, never a place to break a line: it keeps two characters from being read as one mark."""

_ESCAPED = str.maketrans({char: f"\\{char}" for char in "\\`*<>#|~$&!{}:"})
_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
"""One inside of a word marks nothing, and stays bare: a label is also what a screen reader reads out."""

_SPLIT_AFTER = re.compile(r"(?i)(?:[:@<>~\[\]]|(?<![0-9a-z])-|-(?![0-9a-z])|www(?=\.))")
_LEADING_MARK = re.compile(r"^(\d{1,9})([.)])|^()(\+)")
_UNPRINTABLE = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})


class Badge(Value):
    """A short word on a coloured ground; `text` is safe in a label."""

    text: str
    color: Color
    icon: str = ""

    def markdown(self) -> str:
        """Write the badge as Streamlit's directive, to stand inside a label."""
        return f":{self.color}-badge[{self.text}]"


class DetailBlock(Value):
    """One part of an entry's body.

    `title` is a word of ours, `text` may come from outside; `language` is that of a code block, or None for plain
    text. `value` is what `text` writes as JSON, where the language is that. `file` is a file to look at, whose words are the text.
    """

    title: str
    text: str
    language: str | None = None
    value: Any = None
    file: AttachedFile | None = None


def literal(text: str) -> str:
    """Write a text from outside for a body: what would turn the direction of what follows is shown as an escape."""
    return text if text.isascii() else text.translate(DIRECTIONS)


def safe_label(text: str, limit: int = 60) -> str:
    """Write a text so that a Markdown label shows it literally: no image, link, colour, icon, formula or break.

    What turns the direction of a text is shown as `literal` does; what else is invisible is left out. What Markdown
    can escape is escaped. Where it cannot, an invisible joiner parts the characters: directives,
    emoji names and bare addresses are found after escapes are resolved, and badges escape brackets once more. Text longer than `limit` characters ends
    in an ellipsis. An empty text, or one of nothing but invisible characters, becomes a dash, because a label must
    not be empty.
    """
    shown = " ".join(_visible(literal(text[: limit * 8])).split())
    if len(shown) > limit:
        shown = shown[: limit - 1].rstrip() + "\u2026"
    parted = _SPLIT_AFTER.sub(lambda mark: mark[0] + _JOINER, shown)
    escaped = _UNDERSCORE.sub(r"\_", parted.translate(_ESCAPED))
    return _LEADING_MARK.sub(r"\1\3\\\2\4", escaped) or "\u2013"


def _visible(text: str) -> str:
    return "".join(" " if char.isspace() else char for char in text if _is_visible(char))


def _is_visible(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) not in _UNPRINTABLE
