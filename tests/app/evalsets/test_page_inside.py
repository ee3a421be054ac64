"""A set that holds its recording inside is opened on the page by its path, and used as one with the file beside it."""

from __future__ import annotations

from pathlib import Path

from app.evalsets.open_sets import edited_sets
from app.evalsets.set_facts import environment_of
from evalset.recorded.embedded_recording import joined
from evalset.recorded.recording_files import read_environment, sidecar_of
from tests.app.page_driver import Tab


def test_the_page_says_where_the_recording_is(desk_set: Path) -> None:
    """Its cases count as recorded; with the file beside it, nothing is said."""
    beside = len(Tab(page="sets", set=str(desk_set)).app.caption)
    sidecar = sidecar_of(desk_set)
    desk_set.write_text(joined(desk_set.read_text(), read_environment(sidecar)))
    sidecar.unlink()
    edited_sets().clear()
    inside = Tab(page="sets", set=str(desk_set))
    assert len(inside.app.caption) == beside + 1
    assert "recorded" in inside.literal
    assert environment_of(desk_set) == desk_set
