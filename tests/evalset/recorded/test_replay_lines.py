"""The lines that a person adds to an agent's module: an agent that is an App already keeps its own plugins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin

from evalset.recorded.recording_export import replay_lines


def test_an_app_gets_one_plugin_more(tmp_path: Path) -> None:
    """The lines run as they stand, behind the App of the module."""
    environment = tmp_path / "it's" / "desk.environment.json"
    environment.parent.mkdir()
    environment.write_text('{"format": "golden-trace-studio/environment", "version": 1, "cases": {}}')
    agent = LlmAgent(name="desk", model="gemini-2.5-flash")
    names: dict[str, Any] = {"app": App(name="desk", root_agent=agent, plugins=[BasePlugin("mine")])}
    lines = replay_lines("desk", environment, models="recorded", has_app=True)
    exec(compile(lines, "agent.py", "exec"), names)  # noqa: S102 - what a person is told to copy is to run
    assert [type(plugin).__name__ for plugin in names["app"].plugins] == ["BasePlugin", "HermeticEnvironment"]
    assert f"{str(environment)!r}, models='recorded'" in lines
