"""What has changed in an agent since a session began is named: its words, its model, its tools, what they take and do."""

from __future__ import annotations

import re
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.tools.agent_tool import AgentTool

from simulator.agents.agent_fingerprint import agent_fingerprint, changes


def find_order(order_id: str) -> dict[str, Any]:
    """Find an order."""
    return {"order_id": order_id}


def other() -> Any:
    """Make a tool of the same name that takes more and does something else."""

    def find_order(order_id: str, limit: int = 1) -> dict[str, Any]:
        """Find an order."""
        return {"order_id": order_id, "limit": limit}

    return find_order


def said(found: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return of each change which part it is of, and what happened to it: the last word, or what the brackets hold."""
    parts = (re.match(r"the (\S+ \S+) .*?(?:\((.*)\)|(\w+))$", one) for one in found)
    return tuple((part[1], part[2] or part[3]) if part else ("", "") for part in parts)


def desk(*tools: Any, **more: Any) -> LlmAgent:
    """Make an agent."""
    return LlmAgent(
        **{"name": "desk", "model": "gemini-x", "instruction": "Help.", **more}, tools=list(tools)
    )


def test_what_has_changed_is_named() -> None:
    """What was removed first, then what was added, then what is another than it was, and in what; a sub-agent's tools too."""
    before = desk(find_order, AgentTool(agent=LlmAgent(name="adviser", model="gemini-x")))
    below = LlmAgent(name="below", tools=[desk])
    after = desk(other(), instruction="Help fast.", model="gemini-y", sub_agents=[below])
    assert said(changes(agent_fingerprint(before), agent_fingerprint(after))) == (
        ("agent adviser", "removed"),
        ("tool adviser", "removed"),
        ("agent below", "added"),
        ("tool desk", "added"),
        ("agent desk", "its instruction, its model"),
        ("tool find_order", "its arguments, its code"),
    )
    assert changes(agent_fingerprint(desk(find_order)), agent_fingerprint(desk(find_order))) == ()


def test_a_fingerprint_that_cannot_be_read_says_so_much() -> None:
    """Of a fingerprint of another kind nothing can be told but that it is another."""
    now = agent_fingerprint(desk())
    assert len(changes("0123abcd", now)) == 1
    assert changes("0123abcd", now) == changes("[1]", now)
