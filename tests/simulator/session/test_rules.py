"""The validation rules of the simulator run's data model hold: one row for each of its table."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from pydantic import ValidationError

from simulator.agent_config import AgentConfigError, SimulatedAgentConfig
from simulator.session import (
    FinalResponse,
    SessionState,
    SimulationSession,
    ToolCall,
    ToolError,
    ToolOutput,
    UserQuery,
)
from tests.simulator.session.making import selected

_COMMON: dict[str, Any] = {"fact": 0, "turn": 0, "timestamp": dt.datetime(2025, 1, 1, tzinfo=dt.UTC)}
_QUERY = UserQuery(content="go", **_COMMON)
_FINAL = FinalResponse(agent="clerk", content="done", **_COMMON)
_CALL = ToolCall(agent="clerk", tool_name="find", arguments={}, call_id="c", **_COMMON)
_OUTPUT = ToolOutput(call_id="c", result=1, **_COMMON)
_ERROR = ToolError(call_id="c", error_type="E", error_message="no", **_COMMON)


def _session(state: SessionState, *history: Any, agent_name: str = "Clerk") -> SimulationSession:
    return SimulationSession(agent_name=agent_name, state=state, history=history)


_NO_PATHS: list[tuple[Any, str]] = [
    *((path, "empty") for path in ("", " ")),
    *((path, type(path).__name__) for path in (None, 5, b"set.json")),
    *((path, "folder") for path in (".", "..", "/", "nowhere/", Path(), Path(__file__).parent)),
    ("\0", "null"),
    ("~nobody-of-this-name/set.json", "resolved"),
]


@pytest.mark.parametrize(
    ("field", "wrong", "words"),
    [
        *(("name", name, "") for name in ("", "  ", "\n")),
        *(
            ("agent", agent, f"is of type {type(agent).__name__}, ")
            for agent in (None, "clerk", object(), LlmAgent, 5)
        ),
        *(("eval_set_path", path, f".*{words}") for path, words in _NO_PATHS),
    ],
)
def test_a_config_is_checked(field: str, wrong: Any, words: str) -> None:
    """The name is not empty, the agent is ADK's, the path is that of a file; the error names the field, and what is wrong."""
    given: dict[str, Any] = {
        "name": "Clerk",
        "agent": LlmAgent(name="clerk"),
        "eval_set_path": "set.json",
        field: wrong,
    }
    with pytest.raises(AgentConfigError, match=rf"[ .]{field} {words}"):
        SimulatedAgentConfig(**given)


@pytest.mark.parametrize(
    "state", [state for state in SessionState if state is not SessionState.SELECTING_AGENT]
)
def test_session_agent_name_is_not_empty(state: SessionState) -> None:
    """SimulationSession.agent_name: a non-empty string once an agent is selected."""
    with pytest.raises(ValidationError, match="agent_name"):
        _session(state, _QUERY, _FINAL, agent_name="")
    with pytest.raises(ValidationError, match="agent_name"):
        selected().model_validate({**selected().model_dump(), "agent_name": ""})


_BEYOND = (SessionState.ACTIVE, SessionState.COMPLETED)
_BROKEN = [
    *(
        (state, each, f"{state.value} .*UserQuery")
        for state in _BEYOND
        for each in ((), (_CALL, _FINAL), (_FINAL,))
    ),
    *((SessionState.COMPLETED, (_QUERY, last), "FinalResponse") for last in (_QUERY, _CALL)),
    (SessionState.ACTIVE, (_QUERY, _CALL, _CALL), r"two .*call_id 'c'"),
    *((SessionState.ACTIVE, (_QUERY, each), f"{each.type} .*'c'") for each in (_OUTPUT, _ERROR)),
    *((SessionState.ACTIVE, (_QUERY, each, _CALL), f"{each.type} .*'c'") for each in (_OUTPUT, _ERROR)),
]


@pytest.mark.parametrize(("state", "history", "words"), _BROKEN)
def test_a_session_keeps_its_rules(state: SessionState, history: tuple[Any, ...], words: str) -> None:
    """It begins with a query once it is active, ends with a final response when completed; ids are unique, and answers are those of calls."""
    with pytest.raises(ValidationError, match=words):
        _session(state, *history)
    assert _session(SessionState.AWAITING_QUERY).history == ()
    whole = (_QUERY, _CALL, _OUTPUT, _CALL.model_copy(update={"call_id": "d"}), _FINAL)
    assert all(_session(each, *whole).history == whole for each in _BEYOND)
    assert _session(SessionState.ACTIVE, _QUERY, _CALL, _ERROR).history[-1] is _ERROR


@pytest.mark.parametrize("entry", [_QUERY, _CALL, _OUTPUT, _ERROR, _FINAL])
def test_entries_are_frozen_and_closed(entry: Any) -> None:
    """An entry of the timeline cannot be changed, and takes no field that nobody knows."""
    with pytest.raises(ValidationError, match="frozen"):
        entry.turn = 1
    with pytest.raises(ValidationError, match="Extra inputs"):
        type(entry).model_validate({**entry.model_dump(), "more": 1})
