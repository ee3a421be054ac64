"""What is held for a closed tab is let go of as soon as nobody can come back to it."""

from __future__ import annotations

from app.server.closed_tabs import ClosedTabs


class Page:
    """Counts how often it was ended."""

    def __init__(self) -> None:
        self.ends = 0

    def shutdown(self) -> None:
        """End it."""
        self.ends += 1


def test_a_page_ends_when_its_tab_cannot_come_back() -> None:
    """Not while it may, and not where it has; each once."""
    gone, back, waits = Page(), Page(), Page()
    waiting = {"gone": gone, "back": back, "waits": waits}
    is_open = {"back"}
    tabs = ClosedTabs(lambda: waiting, is_open.__contains__)
    tabs.look()
    tabs.look()
    assert [page.ends for page in (gone, back, waits)] == [0, 0, 0]
    waiting = {"waits": waits}
    tabs.look()
    tabs.look()
    assert [page.ends for page in (gone, back, waits)] == [1, 0, 0]
