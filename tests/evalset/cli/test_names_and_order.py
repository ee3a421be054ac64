"""What a person types nearly right: the commands, agents and cases that were meant are named, and agent and set stand in either order."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalset.cli.agent_and_file import agent_and_file
from evalset.cli.main import COMMANDS, main
from tests.harness.processes import REPOSITORY

DESK = str(REPOSITORY / "tests" / "conformance" / "files" / "order_desk.evalset.json")


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command that does not begin; return what it says."""
    try:
        code = main(words)
    except SystemExit as end:
        code = int(end.code or 0)
    assert code == 2
    return capsys.readouterr().err


def test_the_program_alone_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """Each with what it does, in a line."""
    said = told(capsys)
    assert [name for name, each in COMMANDS.items() if each.about not in said] == []


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("verfy", DESK), "verify"),
        (("eval", "ordr_desk", DESK), "order_desk"),
        (("run", "ordr_desk", "--script", DESK, "--out", "played.evalset.json"), "order_desk"),
        (("verify", DESK, "--case", "order_desk_cas"), "order_desk_case"),
        (("eval", "order_desk", DESK, "--case", "order_desk_cas"), "order_desk_case"),
        (("run", "order_desk", "--script", DESK, "--case", "order_desk_cas", "--out", "played.evalset.json"), "order_desk_case"),
        (("export", DESK, "--form", "pytest", "--case", "order_desk_cas"), "order_desk_case"),
    ],
)  # fmt: skip
def test_what_was_meant_is_named(
    words: tuple[str, ...],
    meant: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A command, an agent, a case."""
    monkeypatch.chdir(tmp_path)
    assert f"did you mean {meant}" in told(capsys, *words)


def test_an_agents_folder_that_is_written_wrong_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its name."""
    (tmp_path / "billing").mkdir()
    assert "did you mean billing?" in told(capsys, "eval", str(tmp_path / "biling"), DESK)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("verify", DESK, "nobody_there"), marks=pytest.mark.long),
        ("verify", "nobody_there", "--models", "recorded", DESK),
        ("eval", "nobody_there", DESK),
        ("eval", DESK, "nobody_there"),
        ("run", "nobody_there", DESK, "--out", "played.evalset.json"),
        ("run", DESK, "nobody_there", "--out", "played.evalset.json"),
    ],
)
def test_agent_and_set_stand_in_either_order(
    words: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is the agent that is not found, wherever it stands."""
    monkeypatch.chdir(tmp_path)
    main(words)
    written = capsys.readouterr()
    assert "'nobody_there' not found" in written.err + written.out


def test_an_agent_stands_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Next to the set or in its option."""
    assert "not allowed with --agent" in told(capsys, "verify", DESK, "order_desk", "--agent", "order_desk")


def test_two_files_of_data_stay_in_their_order() -> None:
    """An agent may be a file of configs."""
    assert agent_and_file("root_agent.yaml", "set.json") == ("root_agent.yaml", Path("set.json"))
    assert agent_and_file("set.json", "agents.py#one") == ("agents.py#one", Path("set.json"))
