"""Eval cases and eval-set files of known sizes for the tests of the writer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from google.adk.evaluation.eval_case import EvalCase, IntermediateData, Invocation, SessionInput
from google.genai import types

AGENT = "Order Desk"


def a_case(eval_id: str, *, turns: int = 1) -> EvalCase:
    """Make a case; each turn is about 1.1 KB of JSON."""
    return EvalCase(
        eval_id=eval_id,
        conversation=[_turn(number) for number in range(turns)],
        session_input=SessionInput(app_name="order_desk", user_id="user", state={"tier": None, "since": 2.0}),
        creation_timestamp=1_700_000_000.5,
        final_session_state={"seen": ["A-1"], "größe": "ß"},
    )


def _turn(number: int) -> Invocation:
    call = types.FunctionCall(
        id=f"call-{number}", name="find_order", args={"order_id": f"A-{number}", "deep": None}
    )
    answer = types.FunctionResponse(
        id=call.id, name=call.name, response={"status": "shipped", "lines": [{"sku": "lamp", "count": 2}]}
    )
    return Invocation(
        invocation_id=f"turn-{number}",
        user_content=types.Content(role="user", parts=[types.Part(text='Where is my "order"? ' * 4)]),
        final_response=types.Content(
            role="model", parts=[types.Part(text="It is on its way, bald größer. " * 4)]
        ),
        intermediate_data=IntermediateData(tool_uses=[call], tool_responses=[answer]),
        creation_timestamp=1_700_000_000.25,
    )


def held_ids(path: Path) -> list[str]:
    """Read the ids of a file's cases, in order, with nothing but `json`."""
    whole: dict[str, Any] = json.loads(path.read_bytes())
    return [case["eval_id"] for case in whole["eval_cases"]]
