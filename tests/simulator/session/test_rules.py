"""The validation rules of the simulator run's data model hold: one test for each row of its table."""

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


@pytest.mark.parametrize("name", ["", "  ", "\n"])
def test_config_name_is_not_empty(name: str) -> None:
    """SimulatedAgentConfig.name: a non-empty string."""
    with pytest.raises(AgentConfigError, match=r"SimulatedAgentConfig\.name "):
        SimulatedAgentConfig(name, LlmAgent(name="clerk"), "set.json")


@pytest.mark.parametrize("agent", [None, "clerk", object(), LlmAgent, 5])
def test_config_agent_is_an_adk_agent(agent: Any) -> None:
    """SimulatedAgentConfig.agent: a valid ADK agent; the error says what it is instead."""
    with pytest.raises(AgentConfigError, match=f"agent is a {type(agent).__name__}, not "):
        SimulatedAgentConfig("Clerk", agent, "set.json")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "empty"),
        (" ", "empty"),
        (None, "NoneType"),
        (5, "int"),
        (b"set.json", "bytes"),
        ("\0", "null"),
        (".", "folder"),
        ("..", "folder"),
        ("/", "folder"),
        ("nowhere/", "folder"),
        (Path(), "folder"),
        (Path(__file__).parent, "folder"),
        ("~nobody-of-this-name/set.json", "resolved"),
    ],
)
def test_config_path_is_a_path(path: Any, words: str) -> None:
    """SimulatedAgentConfig.eval_set_path: a valid file path; the error names the field, and what is wrong."""
    with pytest.raises(AgentConfigError, match=f"eval_set_path .*{words}"):
        SimulatedAgentConfig("Clerk", LlmAgent(name="clerk"), path)


@pytest.mark.parametrize("path", ["set.json", Path("deep") / "set.json"])
def test_config_path_counts_from_the_working_directory(
    path: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative eval_set_path is resolved relative to the working directory, an absolute one is used as it is."""
    monkeypatch.chdir(tmp_path)
    assert SimulatedAgentConfig("C", LlmAgent(name="c"), path).resolve_eval_set_path() == tmp_path / path
    absolute = tmp_path / "elsewhere.json"
    assert SimulatedAgentConfig("C", LlmAgent(name="c"), absolute).resolve_eval_set_path() == absolute


@pytest.mark.parametrize(
    "state", [state for state in SessionState if state is not SessionState.SELECTING_AGENT]
)
def test_session_agent_name_is_not_empty(state: SessionState) -> None:
    """SimulationSession.agent_name: a non-empty string once an agent is selected."""
    with pytest.raises(ValidationError, match="agent_name"):
        _session(state, _QUERY, _FINAL, agent_name="")
    with pytest.raises(ValidationError, match="agent_name"):
        selected().model_validate({**selected().model_dump(), "agent_name": ""})


@pytest.mark.parametrize("state", [SessionState.ACTIVE, SessionState.COMPLETED])
@pytest.mark.parametrize("history", [(), (_CALL, _FINAL), (_FINAL,)])
def test_session_history_starts_with_the_query(state: SessionState, history: tuple[Any, ...]) -> None:
    """SimulationSession.history: starts with `UserQuery` when the state is ACTIVE or beyond."""
    with pytest.raises(ValidationError, match=f"{state.value} .*UserQuery"):
        _session(state, *history)
    assert _session(SessionState.AWAITING_QUERY).history == ()


@pytest.mark.parametrize("last", [_QUERY, _CALL])
def test_session_history_ends_with_the_final_response(last: Any) -> None:
    """SimulationSession.history: ends with `FinalResponse` when the state is COMPLETED."""
    with pytest.raises(ValidationError, match="FinalResponse"):
        _session(SessionState.COMPLETED, _QUERY, last)
    assert _session(SessionState.COMPLETED, _QUERY, _FINAL).history[-1] is _FINAL


def test_call_id_is_unique_within_the_session() -> None:
    """ToolCall.call_id: unique within the session; the fold refuses the fact that would break it."""
    with pytest.raises(ValidationError, match=r"two .*call_id 'c'"):
        _session(SessionState.ACTIVE, _QUERY, _CALL, _CALL)


@pytest.mark.parametrize("answer", [_OUTPUT, _ERROR])
def test_answer_matches_a_call(answer: Any) -> None:
    """ToolOutput and ToolError: their call_id is that of a `ToolCall` before them."""
    with pytest.raises(ValidationError, match=f"{answer.type} .*'c'"):
        _session(SessionState.ACTIVE, _QUERY, answer)
    with pytest.raises(ValidationError, match=f"{answer.type} .*'c'"):
        _session(SessionState.ACTIVE, _QUERY, answer, _CALL)
    assert _session(SessionState.ACTIVE, _QUERY, _CALL, answer).history[-1] is answer


@pytest.mark.parametrize("entry", [_QUERY, _CALL, _OUTPUT, _ERROR, _FINAL])
def test_entries_are_frozen_and_closed(entry: Any) -> None:
    """An entry of the timeline cannot be changed, and takes no field that nobody knows."""
    with pytest.raises(ValidationError, match="frozen"):
        entry.turn = 1
    with pytest.raises(ValidationError, match="Extra inputs"):
        type(entry).model_validate({**entry.model_dump(), "more": 1})
