"""Plays small agents by scripts and verifies what was written, as the commands do, for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalset.cli.main import main
from tests.harness.tiny_agent import write_agent

HEAD = "from google.adk.agents import LlmAgent\nfrom google.adk.tools.agent_tool import AgentTool\n\n\n"


def agent(agents: Path, source: str, name: str = "small") -> Path:
    """Write an agent, and return its folder."""
    return write_agent(agents / name, HEAD + source)


def played(folder: Path, *turns: dict[str, Any], out: Path | None = None, **head: Any) -> Path:
    """Play a script with an agent, and return the eval set that it wrote."""
    script, written = folder.parent.parent / "script.json", out or folder.parent.parent / "set.evalset.json"
    document = {"format": "golden-trace-studio/script", "version": 1, "otherwise": "fail", "agent": "person"}
    script.write_text(json.dumps({**document, "turns": turns, **head}))
    assert main(["run", str(folder), "--script", str(script), "--out", str(written), "--eval-id", "one"]) == 0
    return written


def verified(eval_set: Path, agents: Path, *more: str) -> int:
    """Verify an eval set with its recorded models, and return the exit code."""
    return main(
        ["verify", str(eval_set), "--agents-dir", str(agents), "--models", "recorded", "--quiet", *more]
    )
