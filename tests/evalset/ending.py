"""Runs command lines in this process, for tests that look at how they end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from evalset.cli.main import main


class Shown(NamedTuple):
    """What a command wrote."""

    out: str
    err: str


Ends = Callable[..., Shown]
"""Runs a command, which has to end with an exit code; returns what it wrote. `program` is another than `golden-trace`."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ends(capsys: pytest.CaptureFixture[str]) -> Ends:
    """Runs commands; argparse may end them too."""

    def run(code: int, *words: object, program: Callable[[list[str]], int] = main) -> Shown:
        capsys.readouterr()
        try:
            ended = program([*map(str, words)])
        except SystemExit as end:
            ended = int(end.code or 0)
        shown = Shown(*capsys.readouterr())
        assert ended == code, shown
        return shown

    return run
