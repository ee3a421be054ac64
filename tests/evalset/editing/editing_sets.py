"""Eval sets for the tests of the editor: with what a rewriting editor would lose, in both forms of what happens on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalset.editing.opened_set import open_set
from evalset.editing.set_work import SetWork
from evalset.editing.sidecars import open_beside
from evalset.recorded.recording import (
    Author,
    CaseNote,
    RecordedCall,
    RecordedCase,
    RecordedModelTurn,
    RecordedTurn,
)
from evalset.recorded.recording_files import put_all, sidecar_of
from simulator.facts import Returned, ToolEffects

TURN: dict[str, Any] = {
    "invocation_id": "i-1",
    "user_content": {"parts": [{"text": "Where is A-1?"}], "role": "user"},
    "final_response": {"parts": [{"text": "On its way."}], "role": "model"},
    "intermediate_data": {
        "tool_uses": [
            {"id": "c1", "args": {"order_id": "A-1"}, "name": "find_order"},
            {"id": "c2", "args": {"order_id": "A-1", "deep": None}, "name": "track"},
        ],
        "tool_responses": [
            {"id": "c1", "name": "find_order", "response": {"status": "shipped", "größe": 1.0}},
            {"id": "c2", "name": "track", "response": {"at": "Rome"}},
        ],
        "intermediate_responses": [["order_desk", [{"text": "I look."}]]],
    },
    "creation_timestamp": 1.5,
    "rubrics": [{"rubric_id": "polite", "rubric_content": {"text_property": "It is polite."}}],
}
EVENTS_TURN: dict[str, Any] = {
    "userContent": {"parts": [{"text": "And now?"}], "role": "user"},
    "finalResponse": {"parts": [{"text": "It is there."}], "role": "model"},
    "intermediateData": {
        "invocationEvents": [
            {"author": "order_desk", "content": {"parts": [{"text": "One moment."}]}},
            {
                "author": "order_desk",
                "content": {"parts": [{"functionCall": {"id": "e1", "name": "track", "args": {}}}]},
            },
            {
                "author": "order_desk",
                "content": {
                    "parts": [{"functionResponse": {"id": "e1", "name": "track", "response": {"at": "Oslo"}}}]
                },
            },
        ]
    },
}


def a_raw_case(eval_id: str, *turns: dict[str, Any]) -> dict[str, Any]:
    """Return a case with rubrics, both states and keys that ADK does not know."""
    return {
        "x_team": {"owner": "me", "nested": [1, None, "ß"]},
        "eval_id": eval_id,
        "conversation": json.loads(json.dumps(turns or (TURN, EVENTS_TURN))),
        "session_input": {"app_name": "order_desk", "user_id": "user", "state": {"tier": "gold"}},
        "rubrics": [{"rubric_id": "short", "rubric_content": {"text_property": "It is short."}}],
        "final_session_state": {"seen": ["A-1"]},
        "creation_timestamp": 1700000000.25,
    }


def write_set(path: Path, *ids: str, indent: int | None = 2) -> Path:
    """Write a set of such cases, with members of its own around them and an odd layout."""
    cases = [a_raw_case(eval_id) for eval_id in ids or ("one", "two", "three")]
    whole = {"note": "kept", "eval_set_id": "desk", "eval_cases": cases, "zzz": {"after": True}}
    path.write_text(json.dumps(whole, indent=indent, ensure_ascii=False) + "\n\n", encoding="utf-8")
    return path


def work_on(path: Path) -> SetWork:
    """Open a set with what lies beside it."""
    opened = open_set(path)
    return SetWork(opened, open_beside(opened.path))


AUTHOR = Author(source="written", by="me")


def _call(call_id: str, tool: str, arguments: dict[str, Any], value: Any, **delta: Any) -> RecordedCall:
    return RecordedCall(
        id=call_id,
        tool=tool,
        agent="order_desk",
        arguments=arguments,
        outcome=Returned(value=value),
        effects=ToolEffects(state_delta=delta),
        author=AUTHOR,
    )


def _model(*parts: dict[str, Any]) -> RecordedModelTurn:
    return RecordedModelTurn(
        agent="order_desk", responses=({"content": {"parts": list(parts)}},), author=AUTHOR
    )


def _asks(call_id: str, name: str, args: dict[str, Any]) -> dict[str, Any]:
    return {"function_call": {"id": call_id, "name": name, "args": args}}


def record_case(path: Path, eval_id: str) -> RecordedCase:
    """Write beside a set what was recorded of such a case, and a note of it."""
    order, deep = {"order_id": "A-1"}, {"order_id": "A-1", "deep": None}
    first = RecordedTurn(
        query=TURN["user_content"],
        calls=(
            _call("c1", "find_order", order, {"status": "shipped", "größe": 1.0}, last="A-1"),
            _call("c2", "track", deep, {"at": "Rome"}),
        ),
        models=(
            _model({"text": "I look."}, _asks("c1", "find_order", order)),
            _model(_asks("c2", "track", deep)),
            _model({"text": "On its way."}),
        ),
    )
    second = RecordedTurn(
        query=EVENTS_TURN["userContent"],
        calls=(_call("e1", "track", {}, {"at": "Oslo"}),),
        models=(
            _model({"text": "One moment."}),
            _model(_asks("e1", "track", {})),
            _model({"text": "It is there."}),
        ),
    )
    case = RecordedCase(
        agent="order_desk",
        app_name="order_desk",
        state={"tier": "gold"},
        final_state={"seen": ["A-1"]},
        turns=(first, second),
    )
    put_all(sidecar_of(path), {eval_id: case}, {eval_id: CaseNote(text="as ordered", tags=("smoke",))})
    return case
