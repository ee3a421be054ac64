"""Follows one ADK session along the recorded cases that it may be.

Which case it is, is known where a plugin names it or `adk eval` runs it (`running_eval_id`). Elsewhere a `SessionFollowed` begins with all cases, and some of them
fall away with what the user says, and with each call. A session that began before the replay saw it is followed from its events (`follow`). A `FreeSession` follows none:
a call gets the response of the same call in any case.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, TypeVar

from evalset.recorded.recorded_turns import only_asked, question_of
from evalset.recorded.recording import RecordedCall, RecordedCase, RecordedCode, RecordedModelTurn
from evalset.replay.case_following import (
    AmbiguousError,
    CaseFollowed,
    IncomingCall,
    InputQuestion,
    InputReply,
    UnrecordedError,
    UntoldError,
    answers_a_call,
    is_same_call,
    nearest_words,
    written_call,
)
from simulator.base.adk_names import lasting
from simulator.base.json_values import JsonObject, same
from simulator.environment.recordings import Cursor, turn_of
from simulator.facts import NOTHING_EARLIER, EarlierData
from simulator.session.adk_event_fields import (
    USER_AUTHOR,
    content_text,
    function_calls,
    function_responses,
    parts_of,
)
from simulator.session.model import CONFIRMATION, INTERRUPT_ID, REQUEST_INPUT

Made = TypeVar("Made", RecordedModelTurn, RecordedCode)
Found = TypeVar("Found")
_ASKS_USER = frozenset({CONFIRMATION, REQUEST_INPUT})
_HOME = ("google", "adk", "evaluation")
_LOCAL = "eval_case"


class SessionFollowed:
    """One ADK session, and the cases that it may still be.

    Two cases with the same beginning are told apart by what comes: by what the user says, and by the calls that only one
    of them holds. As long as several fit, an answer is given where all of them have the same one.

    Args:
        cases: The cases that it may be, by their eval ids.
    """

    def __init__(self, cases: Mapping[str, RecordedCase]) -> None:
        self._all = [CaseFollowed(eval_id, case) for eval_id, case in cases.items()]
        self._fitting = list(self._all)
        self._last = self._fitting
        self._said: list[str] = []
        self._lost = 0
        self._asks = False

    @property
    def eval_ids(self) -> tuple[str, ...]:
        """The ids of the cases that it may still be."""
        return tuple(case.eval_id for case in self._fitting)

    @property
    def turn(self) -> int:
        """The number of the turn that is replayed, from 0; -1 before the first."""
        return self._fitting[0].turn if self._fitting else len(self._said) - 1

    @property
    def nearest(self) -> CaseFollowed | None:
        """The case that it is, or the first of those that it may be; where none fits any more, the last that did."""
        found = self._fitting or self._last
        return found[0] if found else None

    @property
    def eval_id(self) -> str:
        """The id of the nearest case; empty where there is none."""
        return self.nearest.eval_id if self.nearest else ""

    @property
    def known(self) -> Mapping[str, RecordedCase]:
        """The recorded cases that tell how a call may be answered that was not recorded."""
        return {self.nearest.eval_id: self.nearest.case} if self.nearest else {}

    @property
    def state(self) -> JsonObject:
        """The state that the recording had before this turn: what all cases that it may be began with, and what changed it since."""
        return _common([case.state for case in self._fitting])

    @property
    def earlier(self) -> EarlierData:
        """The artifacts and the memory that all cases that it may be began with; nothing where they differ."""
        found = [case.case.earlier for case in self._fitting] or [NOTHING_EARLIER]
        return found[0] if all(each == found[0] for each in found) else NOTHING_EARLIER

    @property
    def state_delta(self) -> JsonObject:
        """What the user's last message set in the state when it was recorded, in all cases that it may be."""
        asked = [case.now for case in self._fitting] if self._asks else []
        return _common([turn.state_delta for turn in asked if turn is not None])

    def hear(self, message: JsonObject) -> None:
        """Take in what the user says."""
        self._asks = not answers_a_call(message)
        if self._asks:
            self._said.append(content_text(message))
        fitting = [case for case in self._fitting if case.hears(message)]
        if self._fitting and not fitting:
            self._lost = len(self._said)
        self._last, self._fitting = self._fitting or self._last, fitting

    def call(self, asked: IncomingCall) -> RecordedCall:
        """Return the recorded call for what is asked, and use it up.

        Raises:
            UnrecordedError: Nothing was recorded for it.
            AmbiguousError: Several cases fit that answer it in different ways.
        """
        self._check_fits()
        found = [(case, call) for case in self._fitting if (call := case.finds(asked)) is not None]
        if not found:
            untold = self._fitting[0].misses(asked)
            raise untold or UnrecordedError(self._fitting[0].why_not(asked) + self._others())
        first = self._agreed(
            found, lambda call: (call.outcome, call.effects), f"responses for {written_call(asked)}"
        )
        for case in self._fitting:
            case.uses(asked)
        return first

    def _agreed(
        self, found: Sequence[tuple[CaseFollowed, Found]], told: Callable[[Found], object], what: str
    ) -> Found:
        """Let the session be one of the cases that have an answer; return it, of which all of them tell the same.

        Raises:
            AmbiguousError: They tell something else.
        """
        self._fitting = [case for case, _ in found]
        (case, first), *others = found
        for other, answer in others:
            if told(answer) != told(first):
                raise AmbiguousError(
                    f"cases {case.eval_id!r} and {other.eval_id!r} start the same, but have different {what}. Name the case to replay (`case=`)"
                )
        return first

    def was_called(self, asked: IncomingCall, response: object) -> None:
        """Take in a call of a turn that was over, or under way, before it was followed; where cases have it with this response, it is theirs."""
        gave = [case for case in self._fitting if case.gave(asked, response)]
        asks = [case for case in self._fitting if case.finds(asked)]
        self._fitting = gave or asks or self._fitting

    def was_said(self, agent: str, content: JsonObject) -> None:
        """Take in what an agent's model said before the session was followed."""
        self._fitting = [
            case for case in self._fitting if case.may_have_said(agent, content)
        ] or self._fitting

    def was_typed(self, question: InputQuestion) -> None:
        """Take in a question that the user answered, also before the session was followed."""
        for case in self._fitting:
            case.uses_input(question)

    def agent_runs(self, asked: IncomingCall, *, by_itself: bool = True) -> tuple[bool, RecordedCall | None]:
        """Return whether the agent of an agent tool runs for a call, and what rules then made of its answer.

        One that does not run `by_itself`, as other code runs with it, runs where it was recorded that it did.
        """
        runs = [(case, case.agent_runs(asked)) for case in self._fitting]
        told = [case.told_of(run) for case, run in runs if run is not None]
        first = runs[0][1] if runs else None
        return first is not None and (by_itself or first.id != ""), next(filter(None, told), None)

    def confirmation(self, asked: IncomingCall) -> JsonObject | None:
        """Return what a person had answered to the confirmation of a call; None where none was asked for."""
        answers = (case.confirmation(asked) for case in self._fitting)
        return next((answer for answer in answers if answer is not None), None)

    def leaves_open(self, question: InputQuestion) -> bool:
        """Return whether the recording of each case that fits ends with this question."""
        self._check_fits()
        return all(case.leaves_open(question) for case in self._fitting)

    def input(self, question: InputQuestion) -> InputReply:
        """Return what a person answered to a question, and use it up.

        Raises:
            UnrecordedError: Nothing was recorded for it.
            AmbiguousError: Several cases fit that have different answers.
        """
        self._check_fits()
        found = [(case, reply) for case in self._fitting if (reply := case.finds_input(question)) is not None]
        if not found:
            first_fit = self._fitting[0]
            kind = UntoldError if first_fit.leaves_out(question) else UnrecordedError
            raise kind(first_fit.why_no_input(question) + self._others())
        first = self._agreed(found, lambda reply: reply.recorded.response, "user replies")
        self.was_typed(question)
        return first

    def model_turn(self, agent: str, within: tuple[str, ...], path: str = "") -> RecordedModelTurn:
        """Return the next recorded turn of an agent's model, and use it up.

        Raises:
            UnrecordedError: None is left, or no case fits.
        """
        self._check_fits()
        return self._alike([(case, case.next_model_turn(agent, within, path)) for case in self._fitting])

    def code(self, agent: str, within: tuple[str, ...], code: str) -> RecordedCode:
        """Return the next recorded run of an agent's code, and use it up.

        Raises:
            UnrecordedError: As for `model_turn`.
        """
        self._check_fits()
        return self._alike([(case, case.next_code(agent, within, code)) for case in self._fitting])

    def _alike(self, found: Sequence[tuple[CaseFollowed, Made]]) -> Made:
        """Return what all cases that fit have in common.

        Raises:
            AmbiguousError: They differ.
        """
        first = found[0][1]
        if any(made != first for _, made in found):
            names = " and ".join(repr(case.eval_id) for case, _ in found[:2])
            raise AmbiguousError(
                f"cases {names} start the same, but continue differently. Name the case to replay (`case=`)"
            )
        return first

    def _check_fits(self) -> None:
        if self._fitting:
            return
        number = self._lost or len(self._said)
        said = self._said[number - 1] if self._said else ""
        if not self._all:
            raise UnrecordedError("nothing is recorded")
        wanted = _queries(self._all, number - 1)
        raise UnrecordedError(
            f"no recorded case has the user message {said!r} in turn {number}{f'; recorded: {wanted}' if wanted else ''}"
        )

    def _others(self) -> str:
        more = len(self._fitting) - 1
        return f" (nor do the {more} other cases that start the same)" if more else ""


class FreeSession(SessionFollowed):
    """A session that follows no recorded case: a simulated user decides what is said in it, or its case has no recording.

    The same call as one that is recorded, of whichever case, gets its response: its own case comes first, then the one that answered last.
    Asked again, it gets the next response that this case has for it, and in the end the last one again. What a fault or a refusal
    told instead of a response is no part of what happened, so it is not given.

    Args:
        eval_id: The id of its case.
        cases: All that is recorded, by eval ids.
    """

    def __init__(self, eval_id: str, cases: Mapping[str, RecordedCase]) -> None:
        super().__init__({})
        self._eval_id, self._cases = eval_id, cases
        self._answers = Cursor([(name, call) for name, case in cases.items() for call in _happened(case)])
        self._last_case = ""

    @property
    def eval_id(self) -> str:
        """The id of its case."""
        return self._eval_id

    @property
    def known(self) -> Mapping[str, RecordedCase]:
        """All that is recorded."""
        return self._cases

    def call(self, asked: IncomingCall) -> RecordedCall:
        """Return the recorded call that is the same.

        Raises:
            UnrecordedError: There is none.
        """
        calls = [call for _, call in self._answers.entries]
        alike = [place for place, call in enumerate(calls) if is_same_call(call, asked)]
        if not alike:
            where = f"case {self._eval_id!r}: no response is recorded for {written_call(asked)}"
            raise UnrecordedError(f"{where}: {nearest_words(calls, asked)}" if calls else where)
        self._last_case, call = self._answers.use(min(alike, key=self._rank))
        return call

    def _rank(self, place: int) -> tuple[bool, bool, bool, int]:
        name, is_used = self._answers.entries[place][0], place in self._answers.used
        return name != self._eval_id, name != self._last_case, *turn_of(place, is_used=is_used)

    def agent_runs(self, asked: IncomingCall, *, by_itself: bool = True) -> tuple[bool, RecordedCall | None]:  # noqa: ARG002 - as of a followed one
        """Return that the agent of an agent tool runs, where it can by itself."""
        return by_itself, None

    def _check_fits(self) -> None:
        raise UnrecordedError(
            f"case {self._eval_id!r} follows no recording, so nothing but tool calls can be answered"
        )


def _happened(case: RecordedCase) -> Iterator[RecordedCall]:
    """Yield the calls of a case with what really happened."""
    calls = [(turn.calls, place) for turn in case.turns for place in range(len(turn.calls))]
    for all_calls, place in calls:
        call = all_calls[place]
        if call.beneath is not None:
            yield call.model_copy(update={"outcome": call.beneath, "beneath": None})
        elif call.author.source not in {"injected", "refused"} and not only_asked(all_calls, place):
            yield call


def _common(found: Sequence[JsonObject]) -> JsonObject:
    """Return what all of some objects have."""
    first = found[0] if found else {}
    return {
        key: value
        for key, value in first.items()
        if all(key in each and same(each[key], value) for each in found)
    }


def _queries(cases: Iterable[CaseFollowed], turn: int) -> str:
    """Name what the user says in a turn of the first few cases."""
    found: list[str] = []
    for case in cases:
        if 0 <= turn < len(case.case.turns):
            text: Any = content_text(case.case.turns[turn].query)
            found.append(f"{text!r} ({case.eval_id})")
    shown = ", ".join(found[:3])
    return f"{shown} and {len(found) - 3} more" if len(found) > 3 else shown  # noqa: PLR2004 - as many as a sentence holds


def follow(
    cases: Mapping[str, RecordedCase],
    message: JsonObject,
    *,
    events: Sequence[JsonObject] = (),
    state: JsonObject | None = None,
) -> SessionFollowed:
    """Follow a session up to a user message, along the cases that it may be.

    Events are taken as the earlier turns of a case where one has such turns. Where none has, the case may begin at a later user
    message, at the last with this one: what was said before is then the background of the recording. Cases that began with the state of the session
    come before those of which it lacks some.

    Args:
        cases: What is recorded, by eval ids.
        message: What the user says now.
        events: ADK's events of the session before the message, in JSON, oldest first.
        state: The state of the session before the message; None where it does not count, as the case is known.
    """
    begins = [place for place, event in enumerate(events) if _is_query(event)]
    first: SessionFollowed | None = None
    for begin in [*begins, len(events)]:
        for alike in [cases] if state is None else _of_state(cases, state, events, begin):
            followed = SessionFollowed(alike)
            _Past(followed).take(events[begin:])
            followed.hear(message)
            if followed.eval_ids:
                return followed
            first = first or followed
    return first or SessionFollowed(cases)


def _of_state(
    cases: Mapping[str, RecordedCase], state: JsonObject, events: Sequence[JsonObject], begin: int
) -> list[Mapping[str, RecordedCase]]:
    """Return the cases that began with the state that a session had at an event, those of which it has only a part, and all."""
    before, since = _delta(events[:begin]), _delta(events[begin:])
    began = {name: case for name, case in cases.items() if _within(before, case.state)}
    equal = {name: case for name, case in began.items() if same({**case.state, **since}, state)}
    lacking = {name: case for name, case in began.items() if _within(state, {**case.state, **since})}
    return [each for each in (equal, lacking, cases) if each]


def _within(state: JsonObject, whole: JsonObject) -> bool:
    return all(key in whole and same(whole[key], value) for key, value in state.items())


def _delta(events: Iterable[JsonObject]) -> JsonObject:
    found: JsonObject = {}
    for event in events:
        actions: Any = event.get("actions") or {}
        found |= lasting(actions.get("stateDelta") or {})
    return found


def _is_query(event: JsonObject) -> bool:
    """Return whether a user says something in an event, and does not only answer a call."""
    return (
        event.get("author") == USER_AUTHOR
        and bool(parts_of(event.get("content")))
        and not function_responses(event)
    )


class _Past:
    """Takes in the events of earlier turns: which cases they fit, and what they used up of them."""

    def __init__(self, followed: SessionFollowed) -> None:
        self._followed = followed
        self._calls: dict[str, JsonObject] = {}

    def take(self, events: Iterable[JsonObject]) -> None:
        for event in events:
            content: Any = event.get("content")
            if not parts_of(content):
                continue
            if event.get("author") == USER_AUTHOR:
                self._take_inputs(event)
                self._followed.hear(content)
            else:
                self._take_agents(event)

    def _take_agents(self, event: JsonObject) -> None:
        calls, responses = function_calls(event), function_responses(event)
        self._calls |= {str(call.get("id")): call for call in calls}
        for response in responses:
            asked = self._calls.get(str(response.get("id")))
            if asked is not None and response.get("name") not in _ASKS_USER:
                arguments: Any = asked.get("args") or {}
                self._followed.was_called(
                    IncomingCall(str(asked.get("name")), arguments), response.get("response")
                )
        if not responses and not any(call.get("name") in _ASKS_USER for call in calls):
            content: Any = event.get("content")
            self._followed.was_said(str(event.get("author")), content)

    def _take_inputs(self, event: JsonObject) -> None:
        for response in function_responses(event):
            asked = self._calls.get(str(response.get("id")))
            if asked is not None and response.get("name") == REQUEST_INPUT:
                arguments: Any = asked.get("args") or {}
                question = InputQuestion(
                    str(arguments.get(INTERRUPT_ID) or asked.get("id")), "", question_of(arguments)
                )
                self._followed.was_typed(question)


def running_eval_id() -> str | None:
    """Return the id of the case whose inference is running in this task; None outside of ADK's evaluation.

    google-adk 2.13's evaluation calls the runner from coroutines that hold the case as `eval_case`. Without it two cases
    that begin alike would be told apart only by what the user says later, or not at all.
    """
    eval_id: str | None = getattr(_running_case(), "eval_id", None)
    return eval_id


def runs_scenario() -> bool:
    """Return whether a simulated user plays the case that is running in this task."""
    return getattr(_running_case(), "conversation_scenario", None) is not None


def _running_case() -> Any:
    frame = inspect.currentframe()
    while frame is not None:
        if (found := _case_in(frame)) is not None:
            return found
        frame = frame.f_back
    return None


def _case_in(frame: FrameType) -> Any:
    module = frame.f_globals.get("__name__", "")
    if tuple(str(module).split(".")[:3]) != _HOME:
        return None
    case = frame.f_locals.get(_LOCAL)
    eval_id = getattr(case, "eval_id", None)
    return case if isinstance(eval_id, str) and eval_id else None
