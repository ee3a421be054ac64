"""Where the studio looks for agents: the command line and the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simulator.agents import (
    AGENTS_DIR_VARIABLE,
    AGENTS_VARIABLE,
    AgentSettings,
    AgentSettingsError,
    find_agents,
    settings_from,
)
from tests.simulator.base.rows import for_each


def test_nothing_said_means_the_demo_agents_alone() -> None:
    """With no argument and no variable only the demo agents are listed."""
    assert settings_from([], {}) == AgentSettings(agents_dir=None, agents_file=None, demos=True)


@pytest.mark.parametrize(
    "argv",
    [
        ["--agents-dir", "bots", "--agents", "my.agents", "--no-demos"],
        ["--no-demos", "--agents=my.agents", "--agents-dir=bots"],
    ],
)
def test_arguments_are_read_in_either_form_and_any_order(argv: list[str]) -> None:
    """`--name value` and `--name=value` say the same."""
    assert settings_from(argv, {}) == AgentSettings(Path("bots"), "my.agents", demos=False)


def test_the_environment_is_read_where_the_command_line_is_silent() -> None:
    """Both variables count, and the command line wins over them one by one."""
    environ = {AGENTS_DIR_VARIABLE: "from_env", AGENTS_VARIABLE: "env.agents"}
    assert settings_from([], environ) == AgentSettings(Path("from_env"), "env.agents")
    assert settings_from(["--agents-dir", "said"], environ) == AgentSettings(Path("said"), "env.agents")


@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_variable_is_none(empty: str) -> None:
    """A variable that is set to nothing names no folder, not the working directory."""
    assert settings_from([], {AGENTS_DIR_VARIABLE: empty, AGENTS_VARIABLE: empty}) == AgentSettings()


def test_a_tilde_is_the_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder from the environment may start with a tilde, which no shell has expanded."""
    monkeypatch.setenv("HOME", "/somewhere")
    assert settings_from([], {AGENTS_DIR_VARIABLE: "~/bots"}).agents_dir == Path("/somewhere/bots")


@for_each(
    ("argv", "named"),
    [
        (["--agents-dir"], "--agents-dir"),
        (["--agents", ""], "--agents"),
        (["--agents-dir", "  "], "--agents-dir"),
        (["--agent-dir", "x"], "--agent-dir"),
        (["--agents-d", "x"], "--agents-d"),
        (["bots"], "bots"),
    ],
)
def test_a_wrong_argument_is_named_and_ends_nothing(argv: list[str], named: str) -> None:
    """The error names the argument and shows the usage; the process does not exit."""
    with pytest.raises(AgentSettingsError, match=named) as caught:
        settings_from(argv, {})
    assert "[--agents-dir DIR] [--agents FILE_OR_MODULE] [--python PATH] [--no-demos]" in str(caught.value)


def test_settings_are_values() -> None:
    """Equal settings have one hash, so that one process has one catalogue for them."""
    assert hash(settings_from(["--agents", "x"], {})) == hash(AgentSettings(None, "x"))


@for_each(
    ("given", "words"),
    [
        ({"agents_dir": AgentSettings()}, r"agents_dir\b.*AgentSettings.*pathlib\.Path"),
        ({"agents_dir": "bots"}, r"agents_dir\b.*\bstr\b.*pathlib\.Path"),
        ({"agents_file": Path("agents.py")}, r"agents_file\b.*Path\b.*\bstr"),
    ],
)
def test_settings_of_another_kind_are_refused_by_name(given: Any, words: str) -> None:
    """What is no path, or no text, is refused where it is handed over, with the name of the field."""
    with pytest.raises(AgentSettingsError, match=words):
        find_agents(**given)
