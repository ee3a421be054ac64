"""Records a plain case without a session between: texts, tool calls and responses, with nothing that ADK treats in a special way.

A session's facts, its fold and its golden trace cost more than ten times as much. What is not plain is left to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from google.adk.evaluation.eval_case import EvalCase
from google.genai import types
from pydantic_core import PydanticSerializationError, to_json

from evalset.importing.adk_events import TAKEN_IN, CallIds, lasting, steers
from evalset.recorded.goldens import state_digest, text_digest, value_digest
from evalset.recorded.model import (
    Author,
    GoldenCall,
    GoldenTurn,
    RecordedCall,
    RecordedCase,
    RecordedModelTurn,
    RecordedTurn,
)
from simulator.facts import Returned
from simulator.jsonvalue import JsonObject, NotJsonError, copied
from simulator.session.events import USER_AUTHOR

Told: TypeAlias = tuple[str, Sequence[types.Part]]
"""Who said something, and the parts of it."""

_LATEST = 4_000_000_000.0
_ASKS_USER = "adk_request_"
_TEXT, _CALL, _RESPONSE = frozenset({"text"}), frozenset({"function_call"}), frozenset({"function_response"})
_OF_CALL, _OF_RESPONSE = frozenset({"id", "name", "args"}), frozenset({"id", "name", "response"})
_AUTHOR = Author(source=TAKEN_IN.source, by=TAKEN_IN.by or "")


class ToldTurn(NamedTuple):
    """What an invocation tells: when it began, what the user said, and what followed; the last of it is the final response."""

    at: float
    query: Sequence[types.Part]
    steps: Sequence[Told]
    has_final: bool


class _NotPlainError(Exception):
    """A session is needed to record the case."""


def direct_recording(
    case: EvalCase, turns: Sequence[ToldTurn], *, app_name: str, user_id: str
) -> RecordedCase | None:
    """Record a case; None where that takes a session: the result is the same as that of one."""
    try:
        return _recorded(case, turns, app_name, user_id)
    except (_NotPlainError, NotJsonError, PydanticSerializationError):
        return None


def _recorded(case: EvalCase, turns: Sequence[ToldTurn], app_name: str, user_id: str) -> RecordedCase:
    _require(bool(case.eval_id))
    state = lasting(copied(case.session_input.state)) if case.session_input else {}
    reader = _Direct()
    recorded = tuple(reader.turn(turn, number, len(turns)) for number, turn in enumerate(turns))
    digest = state_digest(state)
    return RecordedCase(
        agent=turns[0].steps[0][0],
        app_name=app_name,
        user_id=user_id,
        seed=case.eval_id,
        recorded_at=turns[0].at,
        state=state,
        final_state=dict(copied(state)),
        turns=recorded,
        golden_state=digest,
        golden_start=digest,
    )


class _Direct:
    """Records the turns of a case, one after the other."""

    def __init__(self) -> None:
        self._ids = CallIds()
        self._calls: dict[str, tuple[types.FunctionCall, str]] = {}
        self._responses: dict[str, JsonObject] = {}

    def turn(self, told: ToldTurn, number: int, of: int) -> RecordedTurn:
        _require(told.has_final and 0 <= told.at < _LATEST)
        query, final = _texts(told.query), _texts(told.steps[-1][1])
        _require(any(final))
        asked: list[str] = []
        calls: list[RecordedCall] = []
        models: list[RecordedModelTurn] = []
        for author, parts in told.steps:
            _require(author.isidentifier() and author != USER_AUTHOR and bool(parts))
            written = [_written(part) for part in parts]
            answers = [part.function_response for part in parts if part.function_response]
            asked += self._asked(author, parts, written)
            calls += self._answered(answers)
            if not answers:
                content = {"parts": written, "role": "model"}
                models.append(
                    RecordedModelTurn.known(agent=author, responses=({"content": content},), author=_AUTHOR)
                )
        golden = GoldenTurn.known(
            number=number,
            of=of,
            query=text_digest("\n".join(query)),
            calls=tuple(map(self._golden, asked)),
            text=text_digest("\n".join(filter(None, final))),
        )
        said = {"parts": [_written(part) for part in told.query], "role": "user"}
        return RecordedTurn.known(query=said, calls=tuple(calls), models=tuple(models), golden=golden)

    def _asked(self, author: str, parts: Sequence[types.Part], written: list[JsonObject]) -> Iterator[str]:
        """Give each call its id, in what is written of it too."""
        for place, part in enumerate(parts):
            if (call := part.function_call) is not None:
                _require(bool(call.name) and not str(call.name).startswith(_ASKS_USER))
                call_id = self._ids.of_call(call)
                _require(call_id not in self._calls)
                written[place] = {"function_call": {"id": call_id, **_without_id(written[place])}}
                self._calls[call_id] = call, author
                yield call_id

    def _answered(self, answers: Sequence[types.FunctionResponse]) -> Iterator[RecordedCall]:
        for answer in answers:
            call_id = self._ids.of_response(answer) or ""
            _require(call_id in self._calls and call_id not in self._responses)
            call, author = self._calls[call_id]
            _require(answer.name == call.name)
            response: JsonObject = copied(answer.response or {})
            self._responses[call_id] = response
            if steers(call.name):
                continue
            yield RecordedCall.known(
                id=call_id,
                tool=call.name,
                agent=author,
                arguments=dict(copied(call.args or {})),
                outcome=Returned.known(value=response),
                author=_AUTHOR,
            )

    def _golden(self, call_id: str) -> GoldenCall:
        call, _ = self._calls[call_id]
        response = self._responses.get(call_id)
        return GoldenCall.known(
            tool=call.name,
            arguments=value_digest(call.args or {}),
            response="" if response is None else value_digest(response),
        )


def _require(holds: bool) -> None:
    if not holds:
        raise _NotPlainError


def _texts(parts: Sequence[types.Part]) -> list[str]:
    """Give the texts of parts that are nothing else."""
    _require(bool(parts) and all(part.text is not None for part in parts))
    return [part.text or "" for part in parts]


def _written(part: types.Part) -> JsonObject:
    """Write a part in JSON, where it is one text, call or response and nothing else."""
    written: Any = part.model_dump(mode="json", exclude_none=True)
    names = written.keys()
    _require(
        names == _TEXT
        or (names == _CALL and written["function_call"].keys() <= _OF_CALL)
        or (names == _RESPONSE and written["function_response"].keys() <= _OF_RESPONSE)
    )
    to_json(written)  # refuses half of a surrogate pair
    whole: JsonObject = copied(written)
    return whole


def _without_id(written: JsonObject) -> dict[str, Any]:
    call: Any = written["function_call"]
    return {name: value for name, value in call.items() if name != "id"}
