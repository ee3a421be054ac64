"""Records what an eval case tells of its environment: the answers that stand in it, for the calls that stand in it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from google.adk.evaluation.eval_case import EvalCase, IntermediateData, Invocation, InvocationEvents
from google.adk.events.event import Event
from google.genai import types

from evalset.importing.adk_events import AdkSession
from evalset.importing.direct import Told, ToldTurn, direct_recording
from evalset.importing.found import ImportProblemError
from evalset.importing.sessions import case_of_session
from evalset.recorded.model import RecordedCase
from simulator.environment.declared_tools import STEERING
from simulator.environment.recording.recordings import RecordedCall as PlainCall
from simulator.jsonvalue import JsonObject, NotJsonError, canonical, copied
from simulator.session.events import USER_AUTHOR

_AGENT = "agent"


class KnownAnswers(NamedTuple):
    """What a case tells of its environment, and in sentences what it does not."""

    environment: RecordedCase | None
    problems: tuple[str, ...]


def known_answers(case: EvalCase, told_elsewhere: Sequence[PlainCall] = ()) -> KnownAnswers:
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
        return KnownAnswers(None, (f"the case {case.eval_id!r} has no environment: {error}",))


def _recorded(case: EvalCase, told_elsewhere: Sequence[PlainCall]) -> KnownAnswers:
    if not case.conversation:
        return KnownAnswers(None, ())
    spare: defaultdict[str, deque[JsonObject]] = defaultdict(deque)
    for call in told_elsewhere:
        if isinstance(call.response, dict):
            spare[_question(call.tool_name, call.arguments)].append(call.response)
    missing: list[str] = []
    turns = [
        _Reader(number, spare, missing).told(turn) for number, turn in enumerate(case.conversation, start=1)
    ]
    problems = [f"the case {case.eval_id!r}, {words}" for words in missing]
    given = case.session_input
    app_name, user_id = (
        (given.app_name if given else "") or _AGENT,
        (given.user_id if given else "") or "user",
    )
    found = direct_recording(case, turns, app_name=app_name, user_id=user_id)
    if found is None:
        session = AdkSession(
            session_id=case.eval_id,
            app_name=app_name,
            user_id=user_id,
            state=dict(copied(given.state)) if given else {},
            events=[event for turn in turns for event in _events(turn)],
        )
        try:
            found = case_of_session(session, problems.append).environment
        except ImportProblemError as error:
            return KnownAnswers(None, (*problems, f"the case {case.eval_id!r} has no environment: {error}"))
    if found is not None and case.final_session_state:
        found = found.model_copy(update={"final_state": dict(copied(case.final_session_state))})
    return KnownAnswers(found, tuple(problems))


def _events(turn: ToldTurn) -> Iterator[Event]:
    """Give the events that a turn may have come from."""
    for author, parts, role in (
        (USER_AUTHOR, turn.query, "user"),
        *((author, parts, "model") for author, parts in turn.steps),
    ):
        yield Event(author=author, content=types.Content(role=role, parts=list(parts)), timestamp=turn.at)


class _Reader:
    """Reads what an invocation tells."""

    def __init__(self, number: int, spare: defaultdict[str, deque[JsonObject]], missing: list[str]) -> None:
        self._number, self._spare, self._missing = number, spare, missing

    def told(self, turn: Invocation) -> ToldTurn:
        """Return what an invocation tells, with the answers to its calls as far as they are known."""
        steps = list(self._steps(turn))
        final = turn.final_response.parts if turn.final_response else None
        if final:
            steps.append((steps[-1][0] if steps else _AGENT, final))
        at = turn.creation_timestamp or float(self._number)
        return ToldTurn(at, turn.user_content.parts or (), steps, bool(final))

    def _steps(self, turn: Invocation) -> Iterator[Told]:
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

    def _listed(self, data: IntermediateData) -> Iterator[Told]:
        """Give each call with its answer: by the call's id, and else the next of the tool."""
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

    def _answers(self, author: str, calls: Iterable[types.FunctionCall]) -> Iterator[Told]:
        """Give the answers that stand elsewhere in the file; note the calls that have none."""
        for call in calls:
            if (call.name or "") in STEERING:
                continue
            found = self._spare[_question(call.name or "", call.args or {})]
            if not found:
                arguments = ", ".join(
                    f"{name}={canonical(value)}" for name, value in (call.args or {}).items()
                )
                self._missing.append(
                    f"turn {self._number}: what {call.name}({arguments}) was answered is not known"
                )
                continue
            own = types.FunctionResponse(id=call.id, name=call.name, response=found.popleft())
            yield author, [types.Part(function_response=own)]


def _question(name: str, arguments: JsonObject) -> str:
    return canonical([name, arguments])
