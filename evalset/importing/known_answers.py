"""Records what an eval case itself tells of its environment, so that it replays without another recording.

`known_answers` records the answers that stand in a case, for the calls that stand in it. `dataset_goldens` reads the goldens of a dataset as an eval set would hold them, each with
what is recorded of it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from google.adk.evaluation.eval_case import EvalCase, IntermediateData, Invocation, InvocationEvents
from google.adk.events.event import Event
from google.genai import types
from pydantic_core import PydanticSerializationError, to_json

from evalset.files.eval_names import NAMELESS, FreeIds, is_dataset, usable_eval_id
from evalset.golden_trace.golden_steps import GivenResponses
from evalset.importing.adk_events import TAKEN_IN, AdkSession, CallIds, case_of_session
from evalset.importing.dataset_cases import DatasetCase, dataset_cases
from evalset.importing.gathered import ImportProblemError
from evalset.recorded.golden_digests import state_digest, text_digest, value_digest, with_digests
from evalset.recorded.recording import (
    Author,
    GoldenCall,
    GoldenTurn,
    RecordedCall,
    RecordedCase,
    RecordedEnvironment,
    RecordedModelTurn,
    RecordedTurn,
    without_end,
)
from simulator.base.adk_names import lasting, snake
from simulator.base.documents import LIMITS, read_file
from simulator.base.json_text import JsonTextError, read_json
from simulator.base.json_values import JsonObject, NotJsonError, canonical, copied
from simulator.environment.recordings import ObservedCall
from simulator.environment.world.tool_settings import steers
from simulator.facts import Returned
from simulator.session.adk_event_fields import USER_AUTHOR

_AGENT = ""
"""The author where nobody knows it."""


_ONLY_TEXTS = "tells no tool calls, so nothing is recorded of it: a replay would find nothing to compare"


_LATEST = 4_000_000_000.0
"""A time behind this one is none: ADK takes any number."""


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
    turns = [
        _Reader(number, spare, missing).told(turn) for number, turn in enumerate(case.conversation, start=1)
    ]
    problems = [f"the case {case.eval_id!r}, {words}" for words in missing]
    given = case.session_input
    app_name, user_id = (
        (given.app_name if given else "") or NAMELESS,
        (given.user_id if given else "") or "user",
    )
    found = direct_recording(case, turns, app_name=app_name, user_id=user_id)
    if found is None:
        session = AdkSession(
            session_id=case.eval_id or usable_eval_id(""),
            app_name=app_name,
            user_id=user_id,
            state=dict(copied(given.state)) if given else {},
            events=[event for turn in turns for event in _events(turn)],
        )
        try:
            found = case_of_session(session, problems.append).environment
        except ImportProblemError as error:
            return KnownAnswers(
                None, (*problems, f"the case {case.eval_id!r} has no recorded environment: {error}")
            )
    if found is not None:
        end = case.final_session_state
        kept = found.model_copy(update={"final_state": dict(copied(end))}) if end else without_end(found)
        return KnownAnswers(kept, tuple(problems))
    return KnownAnswers(found, tuple(problems))


def _events(turn: ToldTurn) -> Iterator[Event]:
    """Yield the events that a turn may have come from."""
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
        is_time = 0 < turn.creation_timestamp < _LATEST
        at = turn.creation_timestamp if is_time else float(self._number)
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
        """Yield each call with its answer: by the call's id, and else the next of the tool."""
        answers = GivenResponses(data.tool_responses)
        for call in data.tool_uses:
            yield _AGENT, [types.Part(function_call=call)]
            if (answer := answers.of(call)) is not None:
                own = types.FunctionResponse(id=call.id, name=call.name, response=answer.response)
                yield _AGENT, [types.Part(function_response=own)]
            else:
                yield from self._answers(_AGENT, [call])

    def _answers(self, author: str, calls: Iterable[types.FunctionCall]) -> Iterator[Told]:
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


# Records a plain case without a session between: texts, tool calls and responses, with nothing that ADK treats in a special way.
#
# A session's facts, its fold and its golden trace cost more than ten times as much. What is not plain is left to them.


Told: TypeAlias = tuple[str, Sequence[types.Part]]
"""Who said something, and the parts of it."""

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
        return _recorded_directly(case, turns, app_name, user_id)
    except (_NotPlainError, NotJsonError, PydanticSerializationError):
        return None


def _recorded_directly(
    case: EvalCase, turns: Sequence[ToldTurn], app_name: str, user_id: str
) -> RecordedCase:
    _require(bool(case.eval_id))
    state = lasting(copied(case.session_input.state)) if case.session_input else {}
    reader = _Direct()
    recorded = tuple(reader.turn(turn, number, len(turns)) for number, turn in enumerate(turns))
    digest = state_digest(state)
    return RecordedCase(
        agent=turns[0].steps[0][0] or app_name,
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
        _require(told.has_final)
        query, final = _texts(told.query), _texts(told.steps[-1][1])
        _require(any(final))
        asked: list[str] = []
        calls: list[RecordedCall] = []
        models: list[RecordedModelTurn] = []
        for author, parts in told.steps:
            _require((not author or author.isidentifier()) and author != USER_AUTHOR and bool(parts))
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
        turn = RecordedTurn.known(query=said, calls=tuple(calls), models=tuple(models), golden=golden)
        return with_digests(turn)

    def _asked(self, author: str, parts: Sequence[types.Part], written: list[JsonObject]) -> Iterator[str]:
        """Yield each call its id, in what is written of it too."""
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
            if steers(call.name, answer.response):
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
    """Return the texts of parts that are nothing else."""
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


class DatasetGoldens(NamedTuple):
    """The goldens of a dataset in the order of the file, by ids that a verification can use."""

    goldens: Mapping[str, DatasetCase]
    names: tuple[str, ...]
    entries: Sequence[Any]

    @property
    def cases(self) -> list[EvalCase]:
        """The goldens as cases of an eval set."""
        return [golden.case for golden in self.goldens.values()]

    def environment(self, beside: RecordedEnvironment) -> RecordedEnvironment:
        """Return what is recorded of the goldens: beside the file, or else in the file itself."""
        found = {eval_id: recorded_in(golden) for eval_id, golden in self.goldens.items()}
        known = {eval_id: recorded for eval_id, recorded in found.items() if recorded is not None}
        return beside.model_copy(update={"cases": {**known, **beside.cases}})


def recorded_in(golden: DatasetCase) -> RecordedCase | None:
    """Return what a dataset itself tells of the environment of a golden; None where that is nothing.

    Of a golden without events nobody knows which agent made a call: a replay would blame the agent for what is not known.
    """
    if not golden.is_golden:
        return golden.environment
    told = [turn.intermediate_data for turn in golden.case.conversation or ()]
    is_whole = all(isinstance(data, InvocationEvents) and data.invocation_events for data in told)
    return known_answers(golden.case).environment if is_whole else None


def read_dataset(path: Path) -> DatasetGoldens | None:
    """Read the goldens of a dataset; None where a file is something else, or is no JSON.

    Raises:
        ImportProblemError: A case of it cannot be read; the text says which and where.
        OSError: The file cannot be read.
    """
    return dataset_goldens(read_file(path))


def dataset_goldens(content: bytes) -> DatasetGoldens | None:
    """As `read_dataset`, of the content of a file."""
    try:
        document = read_json(content.decode())
    except (UnicodeDecodeError, JsonTextError):
        return None
    if not is_dataset(document):
        return None
    if len(content) > LIMITS["dataset"]:
        size = f"{len(content) / (1 << 20):,.1f} MB"
        raise ImportProblemError(f"a dataset of {size}; the limit is {LIMITS['dataset'] >> 20} MB. Split it")
    names = tuple(document)
    entries = document[next(name for name in names if snake(name) == "eval_cases")]
    free, goldens = FreeIds(), dict[str, DatasetCase]()
    for found in dataset_cases(entries, lambda _: None):
        eval_id = free.take(usable_eval_id(found.case.eval_id))
        goldens[eval_id] = found._replace(case=found.case.model_copy(update={"eval_id": eval_id}))
    return DatasetGoldens(goldens, names, entries)
