"""Writes a case as a test of `adk test`: the events that its replay shows, without what ADK does not compare."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from google.adk.evaluation.eval_case import (
    EvalCase,
    Invocation,
    get_all_tool_responses,
)
from google.genai import types
from pydantic import JsonValue
from pydantic.alias_generators import to_camel

from evalset.golden_trace.golden_steps import spoken, without_confirmations
from evalset.recorded.recorded_turns import (
    SaidAtOnce,
    answers_given,
    data_text,
    ended_data,
    final_parts,
    said_steps,
)
from evalset.recorded.recording import RecordedCall, RecordedCase, RecordedTurn
from simulator.base.json_values import JsonObject, copied
from simulator.session.adk_event_fields import USER_AUTHOR

_TRANSFER = "transfer_to_agent"


class AdkTest(NamedTuple):
    """A test as text, and in sentences what it cannot hold."""

    text: str
    losses: tuple[str, ...]


def adk_test(case: EvalCase, environment: RecordedCase | None) -> AdkTest:
    """Write a case as a test of `adk test`, for an agent whose `App` replays it with `HermeticEnvironment(..., models="recorded")`.

    `adk test` runs the agent and compares all of its events. What is recorded says which agent said what; without it, all is said
    by one agent, one call after the other.

    Args:
        case: A case with a conversation.
        environment: What is recorded of it.
    """
    plain = without_confirmations(case)
    writer = _Writer(environment)
    events: list[JsonValue] = [
        event
        for number, turn in enumerate(plain.conversation or ())
        for event in writer.events(turn, _turn(environment, number))
    ]
    given = case.session_input
    document: JsonObject = {
        "appName": (given.app_name if given else "") or (environment.app_name if environment else ""),
        "id": case.eval_id,
        "userId": (given.user_id if given else "") or "user",
        "events": events,
    }
    text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    return AdkTest(text, tuple(_losses(case, environment)))


def _turn(environment: RecordedCase | None, number: int) -> RecordedTurn | None:
    turns = environment.turns if environment else ()
    return turns[number] if number < len(turns) else None


def _losses(case: EvalCase, environment: RecordedCase | None) -> Iterator[str]:
    name = f"the case {case.eval_id!r}"
    if not case.conversation:
        yield f"{name} has no conversation, so `adk test` skips it"
    if case.session_input and case.session_input.state:
        yield f"{name} has an initial state, but `adk test` always starts without state"
    if environment is not None and any(turn.state_delta for turn in environment.turns):
        yield f"{name} has messages that set state, but `adk test` sends their text only"
    if environment is None:
        yield (
            f"{name} has no recorded environment. It is not known which agent sent which message, so all are written as from one "
            "agent; `adk test --rebuild` corrects this. The test cannot be replayed: `adk test` runs the real tools, which must "
            "give the same responses"
        )


class _Writer:
    """Writes the events of one session: the ids of calls are numbered through, as `adk test` does."""

    def __init__(self, environment: RecordedCase | None) -> None:
        self._root = environment.agent if environment else "agent"
        self._paths = {self._root: f"{self._root}@1"}
        self._calls = 0

    def events(self, turn: Invocation, recorded: RecordedTurn | None) -> Iterator[JsonObject]:
        yield _event(USER_AUTHOR, "", _content(turn.user_content, "user"))
        answers = {each.id: each for each in get_all_tool_responses(turn.intermediate_data) if each.id}
        for said in said_steps(turn, recorded, self._root):
            yield from self._said(said, answers, turn, recorded)

    def _said(
        self,
        said: SaidAtOnce,
        answers: Mapping[str, types.FunctionResponse],
        turn: Invocation,
        recorded: RecordedTurn | None,
    ) -> Iterator[JsonObject]:
        content = _content(types.Content(role="model", parts=list(said.parts)), "model")
        path = said.path or self._paths.setdefault(said.agent, f"{self._paths[self._root]}/{said.agent}@1")
        calls = [part.function_call for part in said.parts if part.function_call]
        numbers = {call.id or "": self._number() for call in calls}
        parts: Any = content["parts"]
        for part in parts:
            if "functionCall" in part:
                part["functionCall"]["id"] = numbers[part["functionCall"].get("id", "")]
        event = (said.response or {}) | _event(said.agent, path, content)
        long = {call.id for call in (recorded.calls if recorded else ()) if _runs_long(call)}
        waits: list[JsonValue] = [numbers[call.id or ""] for call in calls if call.id in long]
        if waits:
            event["longRunningToolIds"] = waits
        yield event
        given = list(answers_given(calls, answers, numbers))
        if given:
            ended = ended_data(calls, answers)
            actions = self._actions(calls, path, recorded)
            if ended is not None:
                actions["setModelResponse"] = copied(ended)
            event = _event(said.agent, path, _content(types.Content(role="user", parts=given), "user"))
            yield event | ({"actions": actions} if actions else {})
            if ended is not None:
                text = types.Part(text=data_text(ended, turn))
                yield _event(said.agent, path, _content(types.Content(parts=[text]), "model"))
            elif actions.get("skipSummarization"):
                yield from _shown_at_last(said.agent, given, turn)

    def _number(self) -> str:
        self._calls += 1
        return f"fc-{self._calls}"

    def _actions(
        self, calls: Sequence[types.FunctionCall], path: str, recorded: RecordedTurn | None
    ) -> JsonObject:
        """Return what the tools of some calls did beside their answers."""
        ids = {call.id for call in calls}
        actions: JsonObject = {}
        state: JsonObject = {}
        for made in recorded.calls if recorded else ():
            if made.id in ids and not made.within:
                state |= copied(made.effects.state_delta)
                actions |= {to_camel(name): copied(value) for name, value in made.effects.actions.items()}
        if state:
            actions["stateDelta"] = state
        for call in calls:
            target = str((call.args or {}).get("agent_name") or "")
            if call.name == _TRANSFER and target:
                actions["transferToAgent"] = target
                self._paths.setdefault(target, f"{path}/{target}@1")
        return actions


def _shown_at_last(agent: str, given: Sequence[types.Part], turn: Invocation) -> Iterator[JsonObject]:
    """Yield the text that a replay shows of a turn that these responses end; ADK's own events have none."""
    if spoken(types.Content(parts=list(given))) == spoken(turn.final_response):
        yield _event(agent, "", _content(types.Content(parts=list(final_parts(turn))), "model"))


def _runs_long(call: RecordedCall) -> bool:
    return call.long_running or call.later is not None


def _content(content: types.Content, role: str) -> JsonObject:
    written: JsonObject = content.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {**written, "role": role}


def _event(author: str, path: str, content: JsonObject) -> JsonObject:
    return {"author": author, "content": content, "nodeInfo": {"path": path}}
