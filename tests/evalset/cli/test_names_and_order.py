"""What a person types nearly right: the commands, agents and cases that were meant are named, and agent and set stand in either order."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalset.cli.agent_and_file import agent_and_file
from tests.evalset.ending import Ends
from tests.harness.processes import REPOSITORY

DESK = str(REPOSITORY / "tests" / "conformance" / "files" / "order_desk.evalset.json")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("verfy", DESK), "verify"),
        (("eval", "ordr_desk", DESK), "order_desk"),
        (("run", "ordr_desk", "--script", DESK, "--out", "played.evalset.json"), "order_desk"),
        (("eval", "./biling", DESK), "billing?"),
        (("verify", DESK, "--case", "order_desk_cas"), "order_desk_case"),
        (("eval", "order_desk", DESK, "--case", "order_desk_cas"), "order_desk_case"),
        (("run", "order_desk", "--script", DESK, "--case", "order_desk_cas", "--out", "played.evalset.json"), "order_desk_case"),
        (("export", DESK, "--form", "pytest", "--case", "order_desk_cas"), "order_desk_case"),
    ],
)  # fmt: skip
def test_what_was_meant_is_named(words: tuple[str, ...], meant: str, here: Path, ends: Ends) -> None:
    """A command, an agent, its folder, a case."""
    (here / "billing").mkdir()
    assert f"did you mean {meant}" in ends(2, *words).err


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
def test_agent_and_set_stand_in_either_order(words: tuple[str, ...], here: Path, ends: Ends) -> None:
    """It is the agent that is not found, wherever it stands."""
    assert "'nobody_there' not found" in "".join(ends(2, *words))


def test_an_agent_stands_once(ends: Ends) -> None:
    """Next to the set or in its option."""
    said = ends(2, "verify", DESK, "order_desk", "--agent", "order_desk").err
    assert "not allowed with --agent" in said


def test_two_files_of_data_stay_in_their_order() -> None:
    """An agent may be a file of configs."""
    assert agent_and_file("root_agent.yaml", "set.json") == ("root_agent.yaml", Path("set.json"))
    assert agent_and_file("set.json", "agents.py#one") == ("agents.py#one", Path("set.json"))
