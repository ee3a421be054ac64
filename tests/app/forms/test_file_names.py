"""Names of files that people type or upload end as paths or as clear errors, wherever they are taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.evalsets.exchange_jobs import Upload, looked_into
from app.evalsets.set_discovery import check_set, take_upload
from app.forms.typed_paths import typed_path, upload_name
from app.live.destinations import check_place
from app.scripts.script_play import environment_of
from app.server.owners import LOCAL
from simulator.agent_config import SimulatedAgentConfig
from tests.app.fakes import FakeAgent

AGENT: Any = FakeAgent()
LONG = "x" * 300 + ".evalset.json"
CONFIG = SimulatedAgentConfig(name="desk", agent=AGENT, eval_set_path=LONG)

HOSTILE = [
    ("a\x00b.json", "null character"),
    (LONG, "limit is 240"),
    ("ü" * 200 + ".json", "limit is 240"),
    ("\ud800.json", "surrogate"),
    ("folder/" * 900 + "a.json", "4000 bytes"),
    ("~nobody-here/a.json", "'~nobody-here"),
]


@pytest.mark.parametrize(("name", "reason"), HOSTILE)
def test_a_path_that_no_file_has_is_named_wherever_it_is_typed(name: str, reason: str) -> None:
    """An eval set to open, one to write, a recorded environment and a file to import: each says what is wrong, shortly.

    A configuration has its path all the same.
    """
    assert CONFIG.resolve_eval_set_path().name == LONG
    ways = (
        lambda: check_set(name, LOCAL, ()),
        lambda: check_place(name, LOCAL, CONFIG),
        lambda: environment_of(name, LOCAL, CONFIG),
        lambda: _imported((), name),
    )
    for way in ways:
        with pytest.raises(ValueError, match=reason) as caught:
            way()
        assert len(str(caught.value)) < 250
        assert "\x00" not in str(caught.value)


@pytest.mark.parametrize("name", [name for name, _ in HOSTILE[:-2]])
def test_an_upload_that_no_file_can_be_named_after_is_refused_by_name(name: str) -> None:
    """An eval set and files to import: the sentence says what is wrong with the name; folders in it do not count."""
    for way in (
        lambda: take_upload("test", name, b"{}"),
        lambda: _imported((Upload(name=name, content=b"{}"),), None),
    ):
        with pytest.raises(ValueError, match=r"file name '.*Rename|rename"):
            way()


def test_uploads_with_odd_names_are_taken() -> None:
    """A name of dots, of folders or of nothing becomes a plain one inside of the folder for uploads."""
    for name in ("..", ".", "", "/", "../../x.json", "..\\x.json", "a/b/.json", ".hidden.json"):
        path = take_upload("test-odd", name, b"{}")
        assert path.read_bytes() == b"{}"
        assert path.parent.name == take_upload("test-odd", "plain.json", b"{}").parent.name
        _imported((Upload(name=name, content=b"{}"),), None)


@given(st.text())
def test_any_text_is_a_path_or_an_error_that_can_be_shown(text: str) -> None:
    """What is given back can be asked of the disk."""
    try:
        path, name = typed_path(text), upload_name(text, "file")
    except ValueError as error:
        assert str(error).encode()  # noqa: PT017 - a path is as good an end
    else:
        assert isinstance(path.exists(), bool)
        assert Path(name).name == name != ""


def _imported(uploads: tuple[Upload, ...], path: str | None) -> None:
    job = looked_into(uploads, path)
    job.wait(60.0)
    assert job.state in {"done", "failed"}
    if job.problem:
        raise ValueError(job.problem)
