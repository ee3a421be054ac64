"""Records what an eval case tells of its environment: the answers that stand in it, for the calls that stand in it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from google.adk.evaluation.eval_case import EvalCase, IntermediateData, Invocation, InvocationEvents
from google.adk.events.event import Event
from google.genai import types

from evalset.files.eval_names import NAMELESS, usable_eval_id
from evalset.importing.adk_events import AdkSession, case_of_session
from evalset.importing.gathered import ImportProblemError
from evalset.recorded.recording import (
    RecordedCase,
    without_end,
)
from simulator.base.json_values import JsonObject, NotJsonError, canonical, copied
from simulator.environment.declared_tools import steers
from simulator.environment.recordings.recorded_calls import ObservedCall
from simulator.session.adk_event_fields import USER_AUTHOR

_AGENT = ""
"""The author where nobody knows it."""


_ONLY_TEXTS = "tells no tool calls, so nothing is recorded of it: a replay would find nothing to compare"


_LATEST = 4_000_000_000.0
"""A time behind this one is none: ADK takes any number."""


_Told: TypeAlias = tuple[str, Sequence[types.Part]]
"""Who said something, and the parts of it."""


class KnownAnswers(NamedTuple):
    """What a case tells of its environment, and in sentences what it does not."""

    environment: RecordedCase | None
    problems: tuple[str, ...]


def known_answers(case: EvalCase, told_elsewhere: Sequence[ObservedCall] = ()) -> KnownAnswers:
    """Record what a case tells of its environment; nothing where it holds a scenario, or no answer at all.

    State that tools changed is not in a case, and of parallel calls nobody knows that they were: in the recording each call is
    a turn of the model's. A case that JSON cannot hold, as half of a surrogate pair stands in it, has none; a problem says so.

    Args:
        case: The case.
        told_elsewhere: Answers that the file holds in places that ADK's loader does not read, in their order.
    """
    try:
        return _recorded(case, told_elsewhere)
    except NotJsonError as error:
        return KnownAnswers(None, (f"the case {case.eval_id!r} has no recorded environment: {error}",))


def _recorded(case: EvalCase, told_elsewhere: Sequence[ObservedCall]) -> KnownAnswers:
    if not case.conversation:
        return KnownAnswers(None, ())
    if all(turn.intermediate_data is None for turn in case.conversation):
        return KnownAnswers(None, (f"the case {case.eval_id!r} {_ONLY_TEXTS}",))
    spare: defaultdict[str, deque[JsonObject]] = defaultdict(deque)
    for call in told_elsewhere:
        if isinstance(call.response, dict):
            spare[_question(call.tool_name, call.arguments)].append(call.response)
    missing: list[str] = []
    events = [
        event
        for number, turn in enumerate(case.conversation, start=1)
        for event in _Reader(number, spare, missing).events(turn)
    ]
    problems = [f"the case {case.eval_id!r}, {words}" for words in missing]
    given = case.session_input
    session = AdkSession(
        session_id=case.eval_id or usable_eval_id(""),
        app_name=(given.app_name if given else "") or NAMELESS,
        user_id=(given.user_id if given else "") or "user",
        state=dict(copied(given.state)) if given else {},
        events=events,
    )
    try:
        found = case_of_session(session, problems.append).environment
    except ImportProblemError as error:
        words = f"the case {case.eval_id!r} has no recorded environment: {error}"
        return KnownAnswers(None, (*problems, words))
    if found is not None:
        end = case.final_session_state
        kept = found.model_copy(update={"final_state": dict(copied(end))}) if end else without_end(found)
        return KnownAnswers(kept, tuple(problems))
    return KnownAnswers(found, tuple(problems))


class _Reader:
    """Reads what an invocation tells."""

    def __init__(self, number: int, spare: defaultdict[str, deque[JsonObject]], missing: list[str]) -> None:
        self._number, self._spare, self._missing = number, spare, missing

    def events(self, turn: Invocation) -> Iterator[Event]:
        """Yield the events that an invocation may have come from, with the answers to its calls as far as they are known."""
        steps = list(self._steps(turn))
        final = turn.final_response.parts if turn.final_response else None
        if final:
            steps.append((steps[-1][0] if steps else _AGENT, final))
        is_time = 0 < turn.creation_timestamp < _LATEST
        at = turn.creation_timestamp if is_time else float(self._number)
        said: Sequence[types.Part] = turn.user_content.parts or ()
        for author, parts, role in (
            (USER_AUTHOR, said, "user"),
            *((author, parts, "model") for author, parts in steps),
        ):
            yield Event(author=author, content=types.Content(role=role, parts=list(parts)), timestamp=at)

    def _steps(self, turn: Invocation) -> Iterator[_Told]:
        match turn.intermediate_data:
            case InvocationEvents(invocation_events=events):
                told = [
                    (each.author or _AGENT, (each.content.parts if each.content else None) or ())
                    for each in events
                ]
                answered = {
                    part.function_response.id for _, parts in told for part in parts if part.function_response
                }
                for author, parts in told:
                    yield author, parts
                    calls = [part.function_call for part in parts if part.function_call]
                    yield from self._answers(author, [call for call in calls if call.id not in answered])
            case IntermediateData() as data:
                yield from self._listed(data)
            case _:
                return

    def _listed(self, data: IntermediateData) -> Iterator[_Told]:
        """Yield each call with its answer: by the call's id, and else the next of the tool."""
        by_id = {each.id: each for each in data.tool_responses if each.id}
        by_name: defaultdict[str, deque[types.FunctionResponse]] = defaultdict(deque)
        for each in data.tool_responses:
            if not each.id:
                by_name[each.name or ""].append(each)
        for call in data.tool_uses:
            yield _AGENT, [types.Part(function_call=call)]
            waiting = by_name[call.name or ""]
            answer = by_id.get(call.id) if call.id else None
            if answer is None and waiting:
                answer = waiting.popleft()
            if answer is not None:
                own = types.FunctionResponse(id=call.id, name=call.name, response=answer.response)
                yield _AGENT, [types.Part(function_response=own)]
            else:
                yield from self._answers(_AGENT, [call])

    def _answers(self, author: str, calls: Iterable[types.FunctionCall]) -> Iterator[_Told]:
        """Yield the answers that stand elsewhere in the file; note the calls that have none."""
        for call in calls:
            if steers(call.name):
                continue
            found = self._spare[_question(call.name or "", call.args or {})]
            if not found:
                arguments = ", ".join(
                    f"{name}={canonical(value)}" for name, value in (call.args or {}).items()
                )
                self._missing.append(
                    f"turn {self._number}: the response of {call.name}({arguments}) is unknown"
                )
                continue
            own = types.FunctionResponse(id=call.id, name=call.name, response=found.popleft())
            yield author, [types.Part(function_response=own)]


def _question(name: str, arguments: JsonObject) -> str:
    return canonical([name, arguments])
