"""Eval data for the tests of the doctor: sound by itself, and damaged in one way at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from simulator.agent_config import SimulatedAgentConfig
from simulator.environment.world.connections import ToolShape

Json = dict[str, Any]

NAME = "orders"
"""The set's id, and its file's name."""


def a_message(role: str = "user", text: str = "Where is A-1?") -> Json:
    """Make a message."""
    return {"role": role, "parts": [{"text": text}]}


def a_turn(number: int = 1, **more: Any) -> Json:
    """Make a turn in which a tool is called and answers."""
    call = {"id": f"call-{number}", "name": "find_order", "args": {"order_id": f"A-{number}"}}
    answer = {"id": f"call-{number}", "name": "find_order", "response": {"status": "shipped"}}
    return {
        "invocation_id": f"turn-{number}",
        "user_content": a_message(),
        "final_response": a_message("model", "It is on its way."),
        "intermediate_data": {"tool_uses": [call], "tool_responses": [answer]},
    } | more


def a_case(eval_id: str = "one", *turns: Json, **more: Any) -> Json:
    """Make a case of these turns, or of one."""
    return {
        "eval_id": eval_id,
        "conversation": list(turns) or [a_turn()],
        "session_input": {"app_name": "desk", "user_id": "user", "state": {}},
    } | more


def a_set(*cases: Json, **more: Any) -> Json:
    """Make an eval set of these cases, or of one."""
    return {"eval_set_id": NAME, "name": "Orders", "eval_cases": list(cases) or [a_case()]} | more


def without(value: Json, *names: str) -> Json:
    """Leave members out."""
    return {name: held for name, held in value.items() if name not in names}


def events(*given: Json) -> Json:
    """Make a turn's intermediate data of events."""
    return {"invocation_events": list(given)}


def an_event(*parts: Json, author: str = "desk") -> Json:
    """Make an event of parts."""
    return {"author": author, "content": {"role": "model", "parts": list(parts)}}


def a_call(name: str = "find_order", **args: Any) -> Json:
    """Make a part that calls a tool."""
    return {"function_call": {"id": f"id-{name}", "name": name, "args": args or {"order_id": "A-1"}}}


def an_answer(name: str = "find_order") -> Json:
    """Make a part that answers a call."""
    return {"function_response": {"id": f"id-{name}", "name": name, "response": {"status": "shipped"}}}


def in_bytes(value: Any) -> bytes:
    """Write a value as a person's editor does."""
    return json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"


# ---------------------------------------------------------------- the agent


def find_order(order_id: str) -> dict[str, str]:
    """Find an order by its id."""
    return {"order_id": order_id}


def the_agent() -> SimulatedAgentConfig:
    """Make the agent that the cases are of."""
    from google.adk.agents import LlmAgent  # noqa: PLC0415 - ADK is slow to import, and most tests need no agent

    tutor = LlmAgent(name="tutor", model="none", instruction="Answer in {language}.")
    desk = LlmAgent(name="desk", model="none", tools=[find_order], sub_agents=[tutor])
    return SimulatedAgentConfig("desk", desk, "x.evalset.json")


# ---------------------------------------------------------------- the recorded environment


def a_recorded_call(number: int = 1, **more: Any) -> Json:
    """Make the recorded call of a turn."""
    return {
        "id": f"call-{number}",
        "tool": "find_order",
        "agent": "desk",
        "arguments": {"order_id": f"A-{number}"},
        "outcome": {"kind": "returned", "value": {"status": "shipped"}},
        "author": {"source": "written"},
    } | more


def a_recorded_case(*calls: Json, **more: Any) -> Json:
    """Make a recorded case of one turn."""
    turn = {"query": a_message(), "calls": list(calls) or [a_recorded_call()]}
    return {"agent": "desk", "app_name": "desk", "turns": [turn]} | more


def an_environment(**cases: Json) -> Json:
    """Make a recorded environment of these cases, or of the case `one`."""
    held = cases or {"one": a_recorded_case()}
    return {"format": "golden-trace-studio/environment", "version": 1, "cases": held}


def a_digest() -> str:
    """Return the digest of a tool that looks otherwise than the agent's."""
    return ToolShape(name="find_order", parameters={"type": "object"}).schema_digest


def put(folder: Path, files: dict[str, bytes]) -> None:
    """Write files."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
