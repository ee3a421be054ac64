"""Keeps criteria beside an eval set, where `adk eval` finds them."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalset.eval_config.config_edits import ConfigError, starting_document, written
from evalset.eval_config.config_files import config_of, load, save


def test_criteria_are_saved_beside_their_set_and_loaded_again(tmp_path: Path) -> None:
    """ADK looks for the same name; a link is followed; no other file is left."""
    path = config_of(tmp_path / "desk.evalset.json")
    assert path == tmp_path / "test_config.json"
    assert load(path) is None
    save(path, written(starting_document()), before=None)
    real = tmp_path / "elsewhere"
    real.mkdir()
    path.rename(real / "criteria.json")
    path.symlink_to(real / "criteria.json")
    save(path, "{}\n", before=written(starting_document()))
    assert load(real / "criteria.json") == "{}\n"
    assert sorted(found.name for found in tmp_path.rglob("*")) == [
        "criteria.json",
        "elsewhere",
        "test_config.json",
    ]


def test_what_somebody_else_has_changed_is_not_overwritten(tmp_path: Path) -> None:
    """Also a file that was not there when nothing was loaded; it stays as it is."""
    path = tmp_path / "test_config.json"
    path.write_text("theirs")
    for before in (None, "mine"):
        with pytest.raises(ConfigError, match="changed on disk"):
            save(path, "{}", before=before)
    assert path.read_text() == "theirs"


def test_what_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    """The file and the reason."""
    path = tmp_path / "test_config.json"
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"test_config\.json: .*byte 0"):
        load(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path)
    with pytest.raises(ConfigError, match="cannot be written"):
        save(tmp_path / "nowhere" / "test_config.json", "{}", before=None)
