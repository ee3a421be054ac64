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

FROM_ENVIRONMENT = {AGENTS_DIR_VARIABLE: "from_env", AGENTS_VARIABLE: "env.agents"}
ALL_SAID = AgentSettings(Path("bots"), "my.agents", demos=False)


@for_each(
    ("argv", "environ", "wanted"),
    [
        ([], {}, AgentSettings(agents_dir=None, agents_file=None, demos=True)),
        (["--agents-dir", "bots", "--agents", "my.agents", "--no-demos"], {}, ALL_SAID),
        (["--no-demos", "--agents=my.agents", "--agents-dir=bots"], {}, ALL_SAID),
        ([], FROM_ENVIRONMENT, AgentSettings(Path("from_env"), "env.agents")),
        (["--agents-dir", "said"], FROM_ENVIRONMENT, AgentSettings(Path("said"), "env.agents")),
        ([], dict.fromkeys(FROM_ENVIRONMENT, ""), AgentSettings()),
        ([], dict.fromkeys(FROM_ENVIRONMENT, "  "), AgentSettings()),
        ([], {AGENTS_DIR_VARIABLE: "~/bots"}, AgentSettings(Path("/somewhere/bots"))),
    ],
)
def test_what_is_said_is_read(
    monkeypatch: pytest.MonkeyPatch, argv: list[str], environ: dict[str, str], wanted: AgentSettings
) -> None:
    """Arguments in either form and any order; the environment where they are silent, one by one.

    A variable that is set to nothing names no folder, and a tilde that no shell has expanded is the home directory. Equal
    settings have one hash, so that one process has one catalogue for them.
    """
    monkeypatch.setenv("HOME", "/somewhere")
    found = settings_from(argv, environ)
    assert found == wanted
    assert hash(found) == hash(wanted)


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
