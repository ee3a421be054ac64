"""Makes a script of a recorded case, which asks its author where something was not recorded, and adds their answers to the case.

A script plays a session again: the user's messages, the responses of tools, and the models' turns, if asked for, as lines. What was answered when it was
played is put where it was missing, and nothing else of the recording changes (`add_played`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from evalset.recorded.golden_digests import changed_turn
from evalset.recorded.recorded_turns import inputs_of, only_asked
from evalset.recorded.recording import (
    RecordedCall,
    RecordedCase,
    RecordedCode,
    RecordedEnvironment,
    RecordedInput,
    RecordedModelTurn,
    RecordedTurn,
    RejectedCall,
    observed,
)
from evalset.recorded.recording_files import RecordedEnvironmentError, change_environment
from simulator.base.json_values import JsonObject, canonical, copied, same
from simulator.base.validation_words import near
from simulator.environment.recordings import ObservedCall
from simulator.facts import Deferred, Failed, Raised, RecordingGiven, Returned
from simulator.runtime.turns.outcomes import as_response
from simulator.scripts import Script, ScriptTurn, move_of
from simulator.scripts.script import CodeMove, Entry, EnvironmentChange, Fails, ToolMove
from simulator.session.adk_event_fields import calls_in, message_responses, parts_of
from simulator.session.model import REQUEST_INPUT

Agents: TypeAlias = Literal["moves", "model"]
RECORDING = "recorded environment"
"""What the recorded calls are called in the session: the nearest of them is shown where a call was not recorded."""


class RecordedScript(NamedTuple):
    """The script of a recorded case; `losses` says in sentences what no line of it can do."""

    script: Script
    losses: tuple[str, ...]


def script_of_recorded(eval_id: str, case: RecordedCase, *, agent: Agents = "model") -> RecordedScript:
    """Make the script that replays a case: the user says the same, and each call with the same arguments gets its answer.

    What was not recorded is left to the session's players; the recorded calls are given to it, so that it shows the nearest one.
    The injection rules stay outside: what they answered is recorded.

    Args:
        eval_id: The case's id.
        case: What was recorded.
        agent: Whether the agents make the recorded moves, or their own models play.
    """
    losses: list[str] = []
    turns = [
        turn
        for number, recorded in enumerate(case.turns, start=1)
        for turn in _Turn(recorded, agent, f"turn {number}", losses).turns()
    ]
    script = Script(
        name=eval_id,
        user_id=case.user_id,
        initial_state=dict(copied(case.state)),
        agent="person" if agent == "moves" else "model",
        otherwise="ask",
        seed=case.seed,
        turns=tuple(turns),
    )
    return RecordedScript(with_recording(script, case), tuple(losses))


def with_earlier(script: Script, case: RecordedCase) -> Script:
    """Return a script whose session begins with the artifacts and the memory that a case began with."""
    return script.model_copy(update={"earlier": case.earlier}) if case.earlier else script


def with_recording(script: Script, case: RecordedCase) -> Script:
    """Return a script that, before anything is said, gives the session the recorded calls of a case: its drafts come from them."""
    script, known = with_earlier(script, case), tuple(_plain(case))
    if not known:
        return script
    given = EnvironmentChange(environment=RecordingGiven(at=0.0, name=RECORDING, calls=known))
    first, *others = script.turns
    first = first.model_copy(update={"before": (given, *first.before)})
    return script.model_copy(update={"turns": (first, *others)})


def _plain(case: RecordedCase) -> Iterator[ObservedCall]:
    for number, turn in enumerate(case.turns, start=1):
        for place, call in enumerate(turn.calls, start=1):
            if only_asked(turn.calls, place - 1):
                continue
            if call.later is not None or call.outcome.kind in {"returned", "failed"}:
                response = as_response(call.outcome) if call.later is None else call.later
                where = f"turn {number}, call {place}"
                yield observed(call, response, where, is_partial=case.is_partial)


class _Reply(NamedTuple):
    """What the user answered to a call that was left open: the turn that says it, the id of the call, and the question it answers."""

    turn: dict[str, Any]
    about: str
    typed: RecordedInput | None = None


class _Turn:
    """Writes one recorded invocation as turns of a script: the query's, and one for each reply of the user."""

    def __init__(self, recorded: RecordedTurn, agent: Agents, where: str, losses: list[str]) -> None:
        self._recorded, self._agent, self._where, self._losses = recorded, agent, where, losses
        self._calls = [
            call for place, call in enumerate(recorded.calls) if not only_asked(recorded.calls, place)
        ]
        self._asked_itself = {
            call.id for place, call in enumerate(recorded.calls) if only_asked(recorded.calls, place)
        }
        self._models = [model for model in recorded.models if not (self._asked_itself and model.put_off)]
        self._makers = {
            str(call.get("id")): place
            for place, model in enumerate(self._models)
            for call in calls_in(model.responses)
        }

    def turns(self) -> Iterator[ScriptTurn]:
        replies = list(self._replies())
        begins = [0, *self._begins(replies)]
        given = (
            {"state_delta": dict(copied(self._recorded.state_delta))} if self._recorded.state_delta else {}
        )
        spoken = [{"say": self._said(), **given}, *(reply.turn for reply in replies)]
        for segment, turn in enumerate(spoken):
            moves = tuple(self._moves(segment, begins, replies))
            yield ScriptTurn(**turn, **({"moves": moves} if moves else {}))

    def _said(self) -> str | JsonObject:
        parts = parts_of(self._recorded.query)
        text = parts[0].get("text") if len(parts) == 1 and parts[0].keys() == {"text"} else None
        return text if isinstance(text, str) and text.strip() else dict(copied(self._recorded.query))

    def _replies(self) -> Iterator[_Reply]:
        confirmed: list[RecordedCall | RejectedCall] = [*self._calls, *self._recorded.rejected]
        late = {call.id: call for call in self._calls if call.later is not None}
        inputs = list(inputs_of(self._recorded))
        for message in self._recorded.replies:
            for said in message_responses(message):
                body: Any = copied(said.get("response") or {})
                if (call := late.get(str(said.get("id")))) is not None:
                    yield _Reply({"reply": body, "tool": call.tool}, call.id)
                    continue
                if typed := next((each for each in inputs if each.id == said.get("id")), None):
                    inputs.remove(typed)
                    yield _Reply(self._typed(typed, body), typed.id, typed)
                    continue
                about = next(
                    (each for each in confirmed if each.confirmed is not None and same(each.confirmed, body)),
                    None,
                )
                if about is not None:
                    confirmed.remove(about)
                    if about.id not in self._asked_itself:
                        yield _Reply(_confirmed(about.tool, body), about.id)

    def _typed(self, typed: RecordedInput, body: Any) -> dict[str, Any]:
        """Return the reply to a question; of several, it names the one by its words, or by its node where others have the same."""
        turn: dict[str, Any] = {"reply": body, "tool": REQUEST_INPUT}
        messages = [(each.arguments or {}).get("message") for each in inputs_of(self._recorded)]
        message = (typed.arguments or {}).get("message")
        if len(messages) == 1:
            return turn
        if isinstance(message, str) and messages.count(message) == 1:
            return {**turn, "question": message}
        return {**turn, "node": typed.path}

    def _begins(self, replies: Sequence[_Reply]) -> list[int]:
        """Return the number of the first model turn after each reply."""
        begins: list[int] = []
        makers = [self._makers.get(reply.about, -1) for reply in replies]
        for reply, maker in zip(replies, makers, strict=True):
            if reply.typed is not None and reply.typed.arguments is not None:
                begins.append(max([self._place_of(reply.typed), *begins]))
                continue
            after = maker + 1
            end = min((each for each in makers if each > maker), default=len(self._models))
            put_off = (place for place in range(after, end) if self._models[place].put_off)
            begins.append(max([next(put_off, after - 1) + 1, *begins]))
        return begins

    def _place_of(self, typed: RecordedInput) -> int:
        """Return the place, among the models that are played, of the first that answered after an input."""
        before = self._recorded.models[: typed.models_before]
        return sum(any(model is each for each in self._models) for model in before)

    def _moves(self, segment: int, begins: Sequence[int], replies: Sequence[_Reply]) -> Iterator[Entry]:
        end = begins[segment + 1] if segment + 1 < len(begins) else len(self._models)
        calls = [call for call in self._calls if self._segment_of(call, begins, replies) == segment]
        for call in calls:
            if self._makers.get(call.id, -1) < begins[segment]:
                yield self._answer(call)
        for place in range(begins[segment], end):
            if self._agent == "moves":
                yield from self._move(self._models[place])
            for call in calls:
                if self._makers.get(call.id, -1) == place:
                    yield self._answer(call)
        for ran in self._recorded.code if segment == 0 else ():
            yield from self._printed(ran)

    def _segment_of(self, call: RecordedCall, begins: Sequence[int], replies: Sequence[_Reply]) -> int:
        confirmed = [
            place for place, reply in enumerate(replies) if reply.about == call.id and call.confirmed
        ]
        if confirmed:
            return confirmed[0] + 1
        if call.id not in self._makers and any(reply.typed for reply in replies):
            place = next(place for place, each in enumerate(self._recorded.calls) if each is call)
            before = (reply.typed is not None and reply.typed.calls_before <= place for reply in replies)
            return max((segment for segment, is_before in enumerate(before, start=1) if is_before), default=0)
        maker = self._makers.get(call.id, 0)
        return max(place for place, begin in enumerate(begins) if begin <= maker)

    def _move(self, model: RecordedModelTurn) -> Iterator[Entry]:
        move = move_of(model.agent, model.responses) if model.error is None else None
        if move is not None:
            yield move
        else:
            self._losses.append(
                f"{self._where}: a turn of the model of {model.agent} cannot be written as a move"
            )

    def _answer(self, call: RecordedCall) -> ToolMove:
        if not call.effects.is_plain:
            self._losses.append(
                f"{self._where}: effects of {call.tool} other than its response, state changes and actions are left out"
            )
        return answer_line(call)

    def _printed(self, ran: RecordedCode) -> Iterator[Entry]:
        if ran.result is None:
            self._losses.append(
                f"{self._where}: the code of {ran.agent} raised an exception, which a move cannot express"
            )
            return
        errors = {"errors": str(ran.result["stderr"])} if ran.result.get("stderr") else {}
        yield CodeMove(prints=str(ran.result.get("stdout") or ""), agent=ran.agent, **errors)


def _confirmed(tool: str, body: JsonObject) -> dict[str, Any]:
    if isinstance(body.get("confirmed"), bool) and body.keys() <= {"confirmed", "payload"}:
        payload = {"payload": body["payload"]} if body.get("payload") is not None else {}
        return {"confirm": body["confirmed"], "tool": tool, **payload}
    return {"reply": body, "tool": tool}


def answer_line(call: RecordedCall) -> ToolMove:
    """Write the line of a script that answers a recorded call as it was answered."""
    line: dict[str, Any] = {"tool": call.tool, "args": dict(copied(call.arguments)), "exactly": True}
    line |= {"agent": call.agent} if call.agent else {}
    line |= {**copied(call.effects.written), **call.author.unsure.written}
    match call.outcome:
        case Returned(value=value):
            return ToolMove(**line, returns=copied(value))
        case Failed(error_code=code, error_message=message, details=details):
            more = {"details": dict(copied(details))} if details else {}
            return ToolMove(**line, fails=Fails(error_code=code, error_message=message, **more))
        case Raised(error=error):
            return ToolMove(**line, raises=error)
        case Deferred():
            return ToolMove(**line, later=True)


Asked = TypeVar("Asked", RecordedCall, RejectedCall, RecordedInput)


class NewAnswers(NamedTuple):
    """What a session of a recorded case holds and the case does not: by the number of the turn, from 0."""

    calls: dict[int, tuple[RecordedCall, ...]]
    rejected: dict[int, tuple[RejectedCall, ...]]
    inputs: Mapping[int, tuple[RecordedInput, ...]] = MappingProxyType({})

    @property
    def total(self) -> int:
        """How many they are."""
        found: list[Sequence[Any]] = [*self.calls.values(), *self.rejected.values(), *self.inputs.values()]
        return sum(map(len, found))


def new_answers(recorded: RecordedCase, played: RecordedCase) -> NewAnswers:
    """Find what was answered in a session that replays a case, and was not recorded there.

    The same call, asked more often than it was recorded, counts as often as it is more. Turns that the case does not have are
    left out: they are a case of their own.

    Args:
        recorded: The case.
        played: What its session recorded, as `recorded_case` gives it.
    """
    calls, rejected, inputs = {}, {}, {}
    for number, (before, now) in enumerate(zip(recorded.turns, played.turns, strict=False)):
        if found := tuple(_more(before.calls, now.calls)):
            calls[number] = found
        if refused := tuple(_more(before.rejected, now.rejected)):
            rejected[number] = refused
        if typed := tuple(_more(_asked_of(before, now), now.inputs)):
            inputs[number] = typed
    return NewAnswers(calls, rejected, inputs)


def _more(before: Iterable[Asked], now: Iterable[Asked]) -> Iterable[Asked]:
    left = [_question(call) for call in before]
    for call in now:
        if (question := _question(call)) in left:
            left.remove(question)
        else:
            yield call


def _asked_of(before: RecordedTurn, now: RecordedTurn) -> Sequence[RecordedInput]:
    """Return a turn's inputs, as many as there are; one whose question was not kept stands for the one that is asked in its place."""
    pairs = zip_longest(inputs_of(before), now.inputs)
    return [
        now_asked if kept.arguments is None and now_asked is not None else kept
        for kept, now_asked in pairs
        if kept is not None
    ]


def _question(call: RecordedCall | RejectedCall | RecordedInput) -> tuple[str, tuple[str, ...], str]:
    if isinstance(call, RecordedInput):
        return REQUEST_INPUT, (), canonical(call.arguments)
    return call.tool, call.within, canonical(call.arguments)


def add_played(path: Path | str, eval_id: str, played: RecordedCase) -> NewAnswers:
    """Add what `new_answers` finds to a case of a recorded environment; what is there stays as it is. Twice is as good as once.

    Args:
        path: The recorded environment.
        eval_id: The case.
        played: What a session of it recorded.

    Raises:
        RecordedEnvironmentError: The file cannot be used, or has no such case; nothing was changed.
        OSError: The disk or the folder refused; the file is as it was.
    """
    added = NewAnswers({}, {})

    def change(before: RecordedEnvironment) -> RecordedEnvironment:
        nonlocal added
        case = _case(Path(path), before, eval_id)
        added = new_answers(case, played)
        turns = [
            _with(
                turn,
                added.calls.get(number, ()),
                added.rejected.get(number, ()),
                added.inputs.get(number, ()),
            )
            for number, turn in enumerate(case.turns)
        ]
        return _with_case(before, eval_id, turns)

    change_environment(path, change)
    return added


def _case(path: Path, environment: RecordedEnvironment, eval_id: str) -> RecordedCase:
    if eval_id not in environment.cases:
        raise RecordedEnvironmentError(path, f"no case {eval_id!r}; {near(eval_id, environment.cases)}")
    return environment.cases[eval_id]


def _with(
    turn: RecordedTurn,
    calls: Iterable[RecordedCall],
    rejected: Iterable[RejectedCall] = (),
    inputs: Iterable[RecordedInput] = (),
) -> RecordedTurn:
    more: dict[str, Any] = {
        "calls": (*turn.calls, *calls),
        "rejected": (*turn.rejected, *rejected),
    }
    if new := tuple(inputs):
        more["inputs"] = (*inputs_of(turn), *new)
    return changed_turn(turn, more)


def _with_case(
    environment: RecordedEnvironment, eval_id: str, turns: Sequence[RecordedTurn]
) -> RecordedEnvironment:
    case = environment.cases[eval_id].model_copy(update={"turns": tuple(turns)})
    return environment.model_copy(update={"cases": {**environment.cases, eval_id: case}})
