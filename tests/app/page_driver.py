"""Drives the page as a browser would, one tab for each object, and says what is drawn as live Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

MAIN = Path(__file__).resolve().parents[2] / "app" / "main.py"
HOSTILE = "![x](http://evil.example/a.png) <b>bold</b> :red[x] [link](http://evil.example) **strong**"
"""Text that Markdown, or HTML, would make into an image, a link or bold letters."""

_LITERAL = frozenset({"text", "code", "text_area", "text_input", "dataframe", "json", "exception"})
"""Elements that show a text as it is; the label of an input is checked apart."""

_MARKS = ("![x](", "<b>", ":red[", "[link](", "**strong")


class Tab:
    """A tab of a browser. A second one with the same address is what a refresh gives.

    `user` is what an identity provider says of who is there, where a login is configured, as in `secrets`; `more`
    stands in the address.
    """

    def __init__(
        self,
        session_id: str | None = None,
        *,
        user: Mapping[str, Any] | None = None,
        secrets: Mapping[str, Any] | None = None,
        **more: str,
    ) -> None:
        self.app = AppTest.from_file(str(MAIN), default_timeout=60)
        self.app.user, self.app.secrets = dict(user or {}), dict(secrets or {})
        for name, value in {"session": session_id, **more}.items():
            if value is not None:
                self.app.query_params[name] = value
        self.run()

    def run(self) -> Tab:
        """Draw the page anew, and fail where the script raised."""
        self.app.run()
        assert not self.app.exception, self.app.exception
        return self

    @property
    def session_id(self) -> str | None:
        """The session in the page's address."""
        found = self.app.query_params.get("session")
        return found[0] if isinstance(found, list) else found

    def click(self, key: str) -> Tab:
        """Click the button with this key."""
        self.app.button(key=key).click()
        return self.run()

    def unfold(self, key: str) -> Tab:
        """Open the menu, or what else is drawn only while it is open, with this key."""
        self.app.session_state[key] = True
        return self.run()

    def in_menu(self, action: str, session_id: str) -> Tab:
        """Open the menu of a session in the list, and click there."""
        menu = "close_menu" if action == "close" else "kept_menu"
        return self.unfold(f"{menu}_{session_id}").click(f"{action}_{session_id}")

    def fill(self, start: str, value: Any) -> Tab:
        """Put a value into the input with this key, or with the one that starts like this; the next run or click sends it."""
        nodes = [node for node in self.nodes() if hasattr(node, "set_value") and node.type != "button"]
        inputs = {str(node.key): node for node in nodes}
        (key,) = [start] if start in inputs else [key for key in inputs if key.startswith(start)]
        inputs[key].set_value(value)
        return self

    def type(self, start: str, text: str) -> Tab:
        """Leave the input whose key starts like this with another text."""
        return self.fill(start, text).run()

    def typed(self, start: str) -> str:
        """Return what stands in the text area whose key starts like this."""
        return str(self.app.text_area(key=self.key(start)).value)

    def steps_marked(self, words: str) -> int:
        """Count the steps of the timeline whose line says this."""
        return sum(
            words in str(getattr(node, "label", "")) for node in self.nodes() if node.type == "expander"
        )

    def choose(self, key: str, value: str) -> Tab:
        """Choose one of a segmented control's options."""
        self.app.segmented_control(key=key).set_value(value)
        return self.run()

    def has(self, key: str) -> bool:
        """Return whether an element with this key is on the page."""
        return any(getattr(node, "key", None) == key for node in self.nodes())

    def keys(self, start: str) -> list[str]:
        """Return the keys that start like this, of blocks too."""
        found = [str(getattr(node, "key", None) or block_key(node)) for node in self.nodes()]
        return [key for key in found if key.startswith(start)]

    def key(self, start: str) -> str:
        """Return the one key that starts like this."""
        (found,) = self.keys(start)
        return found

    def block(self, key: str) -> Any:
        """Return the container with this key."""
        (found,) = [node for node in self.nodes() if block_key(node) == key]
        return found

    def nodes(self) -> list[Any]:
        """Return all elements and blocks."""
        return [node for node in self.app._tree if node is not self.app._tree]

    @property
    def literal(self) -> str:
        """All that is shown as plain text, as code or in a table."""
        values = self._values("text", "code")
        tables = [each.value.to_csv() for each in self.app.dataframe]
        return "\n".join([*values, *tables])

    @property
    def words(self) -> str:
        """All of our own sentences: captions, headings and messages."""
        return "\n".join(
            self._values("markdown", "caption", "info", "success", "warning", "error", "subheader")
        )

    def _values(self, *kinds: str) -> list[str]:
        found: list[Any] = [each for kind in kinds for each in self.app.get(kind)]
        return [str(each.value) for each in found]

    def live_marks(self) -> list[str]:
        """Return each element that would make HOSTILE into anything but its own letters."""
        return live_marks(self.nodes())


def live_marks(nodes: Iterable[Any]) -> list[str]:
    """Return each of the elements in which HOSTILE is read as Markdown or HTML."""
    read = [(node.type, _as_markdown(node)) for node in nodes]
    return [f"{kind}: {shown[:200]}" for kind, shown in read if any(mark in shown for mark in _MARKS)]


def _as_markdown(node: Any) -> str:
    """Return what of an element is read as Markdown: of an input only its label and its help."""
    if node.type in _LITERAL:
        return f"{getattr(node, 'label', '')} {getattr(node, 'help', '')}"
    proto = getattr(node, "proto", None)
    if node.type == "selectbox":  # its options are shown as they are
        return f"{node.label} {node.help}"
    return str(proto) if proto is not None else ""


def block_key(node: Any) -> str:
    """Return the key of a container; empty where a node is none, or has none."""
    proto = getattr(node, "proto", None)
    block_id = str(getattr(proto, "id", "") or "")
    return block_id.rpartition("-")[2]
