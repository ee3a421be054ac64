"""Unsaved edits of an eval set outlive the server: they are there again, merged where the file changed, and dropped with a click."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.evalsets.open_sets import EditedSets, edited_sets
from app.live.session_store import STORE_VARIABLE, close_store, server_store
from evalset.editing.case_edits import DeleteCase, DuplicateCase, RenameCase, SetText
from evalset.editing.opened_set import open_set
from evalset.editing.set_saving import save
from simulator.store import JournalStore
from tests.app.evalsets.set_tabs import on_set
from tests.app.page_driver import Tab

QUERY = ("conversation", 0, "user_content")


@pytest.fixture
def path(desk_set: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A set of three cases, and a store."""
    close_store()
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "kept" / "sessions.db"))
    assert server_store().store is not None
    edited_sets().clear()
    yield desk_set
    edited_sets().clear()
    close_store()


def edited(path: Path, text: str = "Edited?") -> Tab:
    """Edit a case, and let the page be drawn."""
    tab = on_set(path)
    edited_sets().of("local", path).work.apply(SetText(case="one", where=QUERY, text=text))
    return tab.run()


def test_unsaved_edits_are_there_again(path: Path) -> None:
    """All that was drawn with them is in the store, undone edits too; the page says since when, and a save ends it."""
    tab = edited(path)
    edited_sets().of("local", path).work.apply(DeleteCase(case="two"))
    tab.run().click("set_undo")
    before = edited_sets().of("local", path).work
    edited_sets().clear()
    tab = on_set(path)
    work = edited_sets().of("local", path).work
    assert work is not before
    assert (work.edits, work.undone, work.state.order) == (before.edits, before.undone, before.state.order)
    assert work.case("one") == before.case("one")
    assert tab.has("set_discard")
    assert not tab.has("conflict_merge")
    tab.click("set_redo").click("set_save").click("save_set")
    assert [row.eval_id for row in open_set(path).rows] == ["one", "three"]
    edited_sets().clear()
    tab = on_set(path)
    assert not tab.has("set_discard")
    assert not edited_sets().of("local", path).work.is_changed


@pytest.mark.long
def test_edits_are_their_authors_alone_and_dropped_with_a_click(path: Path, tmp_path: Path) -> None:
    """Another process finds them as soon as the page is there, and somebody else does not; dropped, they are gone for good."""
    before = path.read_bytes()
    edited(path)
    other = JournalStore.open(tmp_path / "kept" / "sessions.db")
    left = other.unsaved("local", str(path))
    other.close()
    assert left is not None
    assert "Edited?" in left.body
    assert left.base == before
    edited_sets().clear()
    assert not EditedSets().of("somebody else", path).work.is_changed
    tab = on_set(path)
    assert edited_sets().of("local", path).work.is_changed
    assert not tab.click("set_discard").has("set_discard")
    assert not edited_sets().of("local", path).work.is_changed
    edited_sets().clear()
    assert not on_set(path).has("set_discard")
    assert path.read_bytes() == before


@pytest.mark.parametrize("undoes", [False, True])
def test_what_was_edited_after_a_save_is_there_again(path: Path, *, undoes: bool) -> None:
    """The edits are those since the save, on the cases as they are called now; a save that was undone is gone another way from."""
    tab = on_set(path)
    work = edited_sets().of("local", path).work
    work.apply(RenameCase(case="one", eval_id="first"))
    work.apply(DuplicateCase(case="two", eval_id="copy"))
    save(work)
    if undoes:
        work.undo()
    else:
        work.apply(SetText(case="copy", where=QUERY, text="Copied?"))
    work.apply(SetText(case="one", where=QUERY, text="Later?"))
    tab.run()
    edited_sets().clear()
    tab = on_set(path)
    found = edited_sets().of("local", path).work
    assert tab.has("set_discard")
    assert not tab.has("conflict_merge")
    assert found.is_changed
    assert [row.eval_id for row in found.rows()] == ["first", "two", *["copy"][undoes:], "three"]
    save(found)
    text = path.read_text(encoding="utf-8")
    assert ("Later?" in text, "Copied?" in text) == (True, not undoes)


def test_a_file_that_changed_meanwhile_is_merged(path: Path) -> None:
    """The page offers what it offers of any file that somebody else has changed."""
    edited(path, "Mine?")
    edited_sets().clear()
    path.write_text(path.read_text(encoding="utf-8").replace("Where is A-1?", "Theirs?"), encoding="utf-8")
    tab = on_set(path)
    assert tab.has("set_discard")
    tab.fill("whose_one", "Mine").run().click("conflict_merge")
    work = edited_sets().of("local", path).work
    assert work.row("one").query == "Mine?"
    edited_sets().clear()
    tab = on_set(path)
    assert edited_sets().of("local", path).work.row("one").query == "Mine?"
    assert not tab.has("conflict_merge")


def test_edits_that_cannot_be_read_are_shown_and_stay(path: Path) -> None:
    """The page says why, gives them as a file, and drops them only when it is asked to."""
    store = server_store().store
    assert store is not None
    store.put_unsaved("local", str(path), '{"version": 9}', path.read_bytes())
    for _ in range(2):
        tab = on_set(path)
        assert tab.app.warning
        assert tab.has("set_edits")
        edited_sets().clear()
    tab = on_set(path).click("set_discard")
    assert not tab.app.warning
    assert store.unsaved("local", str(path)) is None
