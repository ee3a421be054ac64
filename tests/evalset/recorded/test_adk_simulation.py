"""Recorded cases as ADK's own configuration: its engine answers as recorded where it can, and each loss is named."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
import yaml
from google.adk.agents import LlmAgent
from google.adk.tools.environment_simulation import EnvironmentSimulationFactory
from google.adk.tools.environment_simulation.environment_simulation_config import EnvironmentSimulationConfig
from google.adk.tools.function_tool import FunctionTool

from evalset.exporting.export_forms import simulation_text
from evalset.recorded.recording import (
    Author,
    RecordedCall,
    RecordedCase,
    RecordedCode,
    RecordedTurn,
    RejectedCall,
)
from simulator.facts import Deferred, Failed, Raised, RaisedError, Returned, ToolEffects

WRITTEN = Author(source="written")
REAL = Author(source="real")


def call(tool: str, outcome: Any, **arguments: Any) -> RecordedCall:
    """Make a recorded call."""
    return RecordedCall(tool=tool, arguments=arguments, outcome=outcome, author=WRITTEN)


CALLS = (
    call("find", Returned(value={"all": True})),
    call("find", Returned(value={"status": "open"}), order="A"),
    call("find", Returned(value={"status": "sent"}), order="A", year=2026),
    call("find", Failed(error_code=404, error_message="no such order"), order="B"),
    call("find", Returned(value={"status": "closed"}), order="A"),
    call("count", Returned(value=7), of="orders").model_copy(
        update={"author": REAL, "latency_ms": 1500.0, "effects": ToolEffects(state_delta={"seen": 1})}
    ),
    call("fails", Failed(error_code="E7", error_message="odd"), n=1),
    call("raises", Raised(error=RaisedError(type="builtins:ValueError", message="no")), n=1),
    call("waits", Deferred(), n=1),
    call("waits", Deferred(), n=2).model_copy(update={"later": {"done": True}}),
    call("wipe", Returned(value={"wiped": 1}), n=1).model_copy(update={"confirmed": {"confirmed": True}}),
    call("inner", Returned(value={"a": 1}), n=1).model_copy(update={"within": ("expert",)}),
    call("nothing", Returned(value={}), n=1),
)
CASE = RecordedCase(
    agent="desk",
    app_name="desk",
    turns=(
        RecordedTurn(
            query={"role": "user"},
            calls=CALLS,
            rejected=(RejectedCall(tool="wipe", arguments={"n": 2}, confirmed={"confirmed": False}),),
            code=(RecordedCode(agent="desk", code="1", result={"stdout": "1"}, author=WRITTEN),),
        ),
    ),
)


def answered(config: EnvironmentSimulationConfig, name: str, **arguments: Any) -> Any:
    """Ask ADK's own engine."""

    def tool(**_: Any) -> None:
        raise SystemExit("the real tool ran")

    tool.__name__ = name
    callback: Any = EnvironmentSimulationFactory.create_callback(config)
    agent = LlmAgent(name="desk", tools=[tool])
    context: Any = type("Context", (), {"_invocation_context": type("Invocation", (), {"agent": agent})})()
    return asyncio.run(callback(FunctionTool(tool), arguments, context))


def test_adks_engine_answers_as_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call with more arguments is matched first; an error has ADK's form; a plain value is wrapped; latency is that of real tools."""

    async def at_once(seconds: float) -> None:
        waited.append(seconds)

    waited: list[float] = []
    config = EnvironmentSimulationConfig.model_validate(
        json.loads(simulation_text({"one": CASE}, "json").text)
    )
    monkeypatch.setattr(asyncio, "sleep", at_once)  # the recorded latency would be waited for
    assert answered(config, "find", order="A", year=2026) == {"status": "sent"}
    assert answered(config, "find", order="A") == {"status": "open"}
    assert answered(config, "find", order="B") == {"error_code": 404, "error_message": "no such order"}
    assert answered(config, "find") == {"all": True}
    assert not any(waited)
    assert answered(config, "count", of="orders") == {"result": 7}
    assert max(waited) == 1.5
    assert answered(config, "fails", n=1) == {"error_code": "E7", "error_message": "odd"}
    assert answered(config, "waits", n=2) == {"done": True}
    assert answered(config, "wipe", n=1) == {"wiped": 1}


def test_all_three_forms_say_the_same() -> None:
    """JSON, YAML, and Python code that runs."""
    whole = json.loads(simulation_text({"one": CASE}, "json").text)
    assert yaml.safe_load(simulation_text({"one": CASE}, "yaml").text) == whole
    made: dict[str, Any] = {}
    exec(simulation_text({"one": CASE}, "python").text, made)  # noqa: S102 - the text is ours
    assert made["config"] == EnvironmentSimulationConfig.model_validate(whole)


def test_each_loss_is_named() -> None:
    """With its case, turn and call."""
    *losses, rest = simulation_text({"one": CASE}, "json").losses
    where = "case 'one', turn 1: "
    for call_, word in (
        ('find(order="A")', "(case 'one', turn 1)"),
        ('count(of="orders")', "(seen)"),
        ("raises(n=1)", "ValueError"),
        ("waits(n=1)", "left out"),
        ("waits(n=2)", "later"),
        ("wipe(n=1)", "confirmed"),
        ("wipe(n=2)", "rejected"),
        ("inner(n=1)", "expert"),
        ("nothing(n=1)", "returns {}"),
        ("", "code"),
    ):
        assert [each for each in losses if each.startswith(where + call_) and word in each], call_
    assert len([each for each in losses if each.startswith(where)]) == 10
    assert "real tool" in rest


def test_a_call_that_several_cases_answer_in_one_way_is_no_loss() -> None:
    """It stands there once."""
    plain = CASE.model_copy(update={"turns": (RecordedTurn(query={"role": "user"}, calls=(CALLS[1],)),)})
    written = simulation_text({"one": plain, "two": plain}, "json")
    (tool,) = json.loads(written.text)["tool_simulation_configs"]
    assert len(tool["injection_configs"]) == 1
    assert len(written.losses) == 1
