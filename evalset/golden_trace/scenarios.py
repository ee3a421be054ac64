"""Reads and writes ADK's scenario files, and adds scenarios to eval sets as `adk eval_set add_eval_case` does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from google.adk.evaluation.conversation_scenarios import ConversationScenario
from google.adk.evaluation.eval_case import EvalCase, SessionInput

from evalset.errors import ScenarioError
from evalset.files.set_writer import EvalSetWriter, WrittenCase
from evalset.golden_trace.case_script import read_cases
from simulator.base.documents import LIMITS
from simulator.base.json_text import JsonTextError, read_json
from simulator.base.json_values import JsonObject
from simulator.base.validation_words import check_kind
from simulator.runtime.adk.user_simulator import read_scenario, written_scenario
from simulator.runtime.errors import SimulationError


class AddedScenario(NamedTuple):
    """The case of a scenario: `written` is None where the eval set held it already, as its id is made of the scenario."""

    eval_id: str
    written: WrittenCase | None


def read_scenarios(text: str) -> tuple[JsonObject, ...]:
    """Read a scenario file in ADK's form, or one scenario alone; in snake case, a persona that was named as its name.

    Raises:
        ScenarioError: The text is no JSON, no such file, or holds no scenario; says which of them and where.
    """
    check_kind(text, "encode", "the text of a scenario file")
    try:
        document: Any = read_json(text, constants=True, most=LIMITS["settings"])
    except JsonTextError as error:
        raise ScenarioError(f"the scenario file is not valid JSON: {error}") from error
    listed = document.get("scenarios", [document]) if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ScenarioError('a scenario file must be an object with a list "scenarios"')
    if not listed:
        raise ScenarioError("the scenario file has no scenarios")
    return tuple(_scenario(number, each) for number, each in enumerate(listed, start=1))


def _scenario(number: int, written: Any) -> JsonObject:
    if not isinstance(written, dict):
        raise ScenarioError(f"scenario {number} is not an object")
    try:
        return written_scenario(written)
    except SimulationError as error:
        raise ScenarioError(f"scenario {number}: {error}") from error


def scenarios_text(scenarios: Iterable[JsonObject]) -> str:
    """Write a scenario file as ADK's commands read it.

    Raises:
        ScenarioError: One of them is no scenario.
    """
    check_kind(scenarios, "__iter__", "a list of scenarios")
    checked = [_scenario(number, each) for number, each in enumerate(scenarios, start=1)]
    return json.dumps({"scenarios": checked}, indent=2, ensure_ascii=False) + "\n"


def scenario_case(
    scenario: JsonObject, *, app_name: str, user_id: str, state: Mapping[str, Any] | None = None, at: float
) -> EvalCase:
    """Make the eval case of a scenario, with the id that ADK's command gives it.

    Args:
        scenario: ADK's `ConversationScenario` in JSON.
        app_name: ADK's name of the agent, for the session input.
        user_id: ADK's user.
        state: What the session's state holds at first.
        at: Seconds since the epoch.

    Raises:
        ScenarioError: It is no scenario.
    """
    _scenario(1, scenario)
    read = read_scenario(scenario)
    return EvalCase(
        eval_id=_id_of(read),
        conversation_scenario=read,
        session_input=SessionInput(app_name=app_name, user_id=user_id, state=dict(state or {})),
        creation_timestamp=at,
    )


def is_named_by_scenario(case: EvalCase) -> bool:
    """Return whether a case has the id that ADK's command makes of its scenario: where that id is taken, the scenario is there."""
    scenario = case.conversation_scenario
    return scenario is not None and case.eval_id == _id_of(scenario)


def _id_of(scenario: ConversationScenario) -> str:
    text = json.dumps(scenario.model_dump(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def add_scenario(writer: EvalSetWriter, case: EvalCase) -> AddedScenario:
    """Append the case of a scenario to an eval set, which is created if need be; one that is there stays as it is.

    Raises:
        evalset.EvalSetError: The file cannot take it.
    """
    check_kind(writer, "eval_ids", "an EvalSetWriter")
    check_kind(case, "conversation", "an EvalCase")
    if case.eval_id in writer.eval_ids():
        return AddedScenario(case.eval_id, None)
    return AddedScenario(case.eval_id, writer.write_eval_case(case))


def user_turns(text: str) -> dict[str, tuple[JsonObject, ...]]:
    """Read what the user said from an eval set: of each case with a conversation, its messages as `Content` in JSON.

    What only answered a call (a confirmation) is left out: it names a call that no other session has.

    Raises:
        ScenarioError: ADK's loader cannot read the text, or no case holds a message.
    """
    said = {case.eval_id: tuple(_messages(case)) for case in read_cases(text).values()}
    found = {eval_id: messages for eval_id, messages in said.items() if messages}
    if not found:
        raise ScenarioError("no case of the eval set has a user message")
    return found


def _messages(case: EvalCase) -> Iterable[JsonObject]:
    for turn in case.conversation or ():
        content = turn.user_content.model_dump(mode="json", exclude_none=True)
        parts = [part for part in content.get("parts") or () if "function_response" not in part]
        if parts:
            yield {"role": "user", "parts": parts}
