"""Where a database is says how sure its keeping is."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.store import JournalStore, locations
from simulator.store.database import Database

MOUNTS = """\
/dev/sda / ext4 rw 0 0
server:/home /net/home nfs4 rw 0 0
/dev/sdb /net/home/local xfs rw 0 0
me@there: /with\\040blank fuse.sshfs rw 0 0
broken
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data/sessions.db", ""),
        ("/net/home/me/sessions.db", "nfs4"),
        ("/net/home/local/sessions.db", ""),
        ("/with blank/sessions.db", "fuse.sshfs"),
    ],
)
def test_a_file_on_a_network_is_known(path: str, kind: str, tmp_path: Path) -> None:
    """The mount point that is nearest counts."""
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS, encoding="utf-8")
    assert locations.network_file_system(Path(path), mounts) == kind
    assert locations.network_file_system(Path(path), tmp_path / "none") == ""


def test_a_store_on_a_network_says_what_is_not_certain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One on a disk says nothing. Patched, as no test can mount a file system."""
    store = JournalStore.open(tmp_path / "sessions.db")
    assert store.caution == ""
    store.close()
    monkeypatch.setattr(locations, "network_file_system", lambda _: "nfs4")
    store = JournalStore.open(tmp_path / "sessions.db")
    assert "network file system (nfs4)" in store.caution
    store.close()


def test_each_commit_waits_for_the_disk(tmp_path: Path) -> None:
    """SQLite loses nothing that was acknowledged, also where the power goes."""
    database = Database(tmp_path / "sessions.db", patience=1.0)
    with database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    database.close()
