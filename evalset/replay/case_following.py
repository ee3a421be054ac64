"""Follows one ADK session along the recorded cases that it may be, and gives each call the answer that was recorded for it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from evalset.errors import ASK_THE_MODEL, RECORD_IT
from evalset.recorded.recorded_turns import inputs_of, is_of_graph, only_asked, seen_response, untold_calls
from evalset.recorded.recording import (
    RecordedAgentRun,
    RecordedCall,
    RecordedCase,
    RecordedCode,
    RecordedInput,
    RecordedModelTurn,
    RecordedTurn,
    RejectedCall,
    is_imported,
)
from evalset.recorded.tolerances import Tolerance, tolerated, word_columns
from simulator.base.json_values import JsonObject, canonical, same
from simulator.base.state_scopes import lasting
from simulator.environment.declared_tools import adk_refused
from simulator.environment.recordings.nearest_calls import Near, nearest
from simulator.environment.recordings.recorded_calls import ObservedCall
from simulator.facts import NOTHING_EARLIER, EarlierData
from simulator.session.adk_event_fields import calls_in, content_text, parts_of
from simulator.session.model import REQUEST_INPUT

_BEFORE = -1
_ANOTHER_QUESTION = 0.5
"""How far a question is at least from a recorded one, from 0 to 1, that is another one."""
Made = TypeVar("Made", RecordedModelTurn, RecordedCode)


class IncomingCall(NamedTuple):
    """A call that the agent makes now: the tool, its arguments in JSON, and the agent tools it happens inside of, by name."""

    tool: str
    arguments: JsonObject
    within: tuple[str, ...] = ()


class InputQuestion(NamedTuple):
    """A question to the user as it comes: its id, the node that asks, and what is asked, as `question_of` gives it."""

    id: str
    path: str
    arguments: JsonObject


class InputReply(NamedTuple):
    """The recorded reply to a question, and its place among the answers of the turn."""

    place: int
    recorded: RecordedInput


class UnrecordedError(LookupError):
    """Nothing was recorded for what is asked; the text names what is nearest, and what differs."""


class UntoldError(UnrecordedError):
    """The recording was read from a source that need not have kept what is asked: nothing is known of the agent by that."""


class OtherwiseError(UnrecordedError):
    """The agent does otherwise than recorded; the text says what it does, as `no longer asks the user for input`."""


class AmbiguousError(UnrecordedError):
    """Several cases fit, and each has something else; the text names two of them."""


class CaseFollowed:
    """One case, and how far a session has gone along it.

    The same call with the same arguments, asked again in the same turn, gets the next of its recorded answers. Calls that
    run at once may come in any order. A call that differs only in what the case's tolerances let differ gets the answer of
    one that was not asked yet, if none with its own arguments is left.

    Args:
        eval_id: The case's id.
        case: What was recorded.
    """

    def __init__(self, eval_id: str, case: RecordedCase) -> None:
        self.eval_id, self.case = eval_id, case
        self.turn = _BEFORE
        self._used: set[tuple[int, int]] = set()
        self._models_used: set[tuple[int, int]] = set()
        self._code_used: set[tuple[int, int]] = set()
        self._agents_used: set[tuple[int, int]] = set()
        self._inputs_used: set[tuple[int, int]] = set()

    def hears(self, message: JsonObject) -> bool:
        """Take in what the user says; False where the case goes on in another way."""
        if _answers_a_call(message):
            return True  # what a turn left open is answered: the turn goes on
        if self.turn + 1 >= len(self.case.turns):
            return False
        self.turn += 1
        return is_said_alike(self.case.turns[self.turn].query, message)

    def answers_alone(self, tool: str) -> bool:
        """Return whether answers of a tool are recorded, and nothing that happened inside of it."""
        turns = self.case.turns
        entered = any(tool in call.within for turn in turns for call in turn.calls)
        entered = entered or any(tool in model.within for turn in turns for model in turn.models)
        return not entered and any(call.tool == tool for turn in turns for call in turn.calls)

    def answers_agent(self, tool: str) -> bool:
        """Return whether it is recorded what came of a call of an agent tool: an answer of a rule or a player, or that its agent ran."""
        names = {call.tool for turn in self.case.turns for call in turn.calls}
        return tool in names or any(run.tool == tool for turn in self.case.turns for run in turn.agents)

    def agent_runs(self, asked: IncomingCall) -> RecordedAgentRun | None:
        """Use up the recorded run of an agent tool's agent that is the next for a call; None where the call was answered in its place.

        A call that was never asked runs its agent too, unless answers alone are known of the tool.
        """
        ran = self.now.agents if self.now else ()
        left = (
            each
            for place, each in enumerate(ran)
            if (self.turn, place) not in self._agents_used and is_same_call(each, asked, self.case.tolerances)
        )
        run, answered = next(left, None), self._place(asked)
        if run is None:
            is_known = answered is not None or self.answers_alone(asked.tool)
            return None if is_known else RecordedAgentRun(id="", tool=asked.tool, arguments=asked.arguments)
        calls = self.now.calls if self.now else ()
        if answered is not None and answered < run.calls_before and calls[answered].id != run.id:
            return None
        self._agents_used.add((self.turn, ran.index(run)))
        return run

    def told_of(self, run: RecordedAgentRun) -> RecordedCall | None:
        """Use up what rules made of the answer of an agent that ran; None where they changed nothing."""
        for place, call in enumerate(self.now.calls if self.now else ()):
            if call.id == run.id != "" and (self.turn, place) not in self._used:
                self._used.add((self.turn, place))
                return call
        return None

    @property
    def state(self) -> JsonObject:
        """The state before this turn, as far as the recording has it: what the case began with, and what users and tools changed since."""
        state = dict(self.case.state)
        for turn in self.case.turns[: max(0, self.turn)]:
            state |= turn.state_delta
            for call in turn.calls:
                state |= call.effects.state_delta
        return lasting(state)

    @property
    def now(self) -> RecordedTurn | None:
        """The turn that is replayed."""
        return self.case.turns[self.turn] if 0 <= self.turn < len(self.case.turns) else None

    def finds(self, asked: IncomingCall) -> RecordedCall | None:
        """Return the recorded call that is the next for what is asked, without using it up; None where none is left."""
        place = self._place(asked)
        return None if place is None else self.case.turns[self.turn].calls[place]

    def uses(self, asked: IncomingCall) -> None:
        """Use up the recorded call that `finds` gives."""
        place = self._place(asked)
        if place is not None:
            self._used.add((self.turn, place))

    def gave(self, asked: IncomingCall, response: object) -> bool:
        """Return whether the next recorded call for what was asked before had this response, and use it up then."""
        call = self.finds(asked)
        if call is None or not same(seen_response(call), response):
            return False
        self.uses(asked)
        return True

    def may_have_said(self, agent: str, content: JsonObject) -> bool:
        """Use up the next recorded turn of an agent's model; return False where it said another text than this content."""
        try:
            model = self.next_model_turn(agent, ())
        except UnrecordedError:
            return True
        if not model.responses or calls_in(model.responses):
            return True
        return content_text(model.responses[-1].get("content")).strip() == content_text(content).strip()

    def _place(self, asked: IncomingCall) -> int | None:
        calls = self.now.calls if self.now else ()
        agents = {run.id for run in self.now.agents} if self.now else set()
        left = [
            place
            for place, call in enumerate(calls)
            if (self.turn, place) not in self._used
            and self._fits(call, asked)
            and not only_asked(calls, place)
            and call.id not in agents
        ]
        as_recorded = (place for place in left if same(calls[place].arguments, asked.arguments))
        return next(as_recorded, left[0] if left else None)

    def brought(self, tool: str) -> str:
        """Return the digest of the declaration of a tool that a tool set brought when it was called; empty where it is not recorded."""
        calls = (call for turn in self.case.turns for call in turn.calls)
        return next((call.declared for call in calls if call.tool == tool and call.declared), "")

    def never_fitted(self, asked: IncomingCall) -> bool:
        """Return whether the recorded answer of a call is that its arguments do not fit the tool."""
        call = self.finds(asked)
        return call is not None and adk_refused(call.tool, seen_response(call))

    def misses(self, asked: IncomingCall) -> UntoldError | None:
        """Return why the response to a call is unknown, where the source of the recording has the call and not its response."""
        for call in untold_calls(self.now) if self.now and not asked.within else ():
            if call.tool == asked.tool and tolerated(
                call.tool, call.arguments, asked.arguments, self.case.tolerances
            ):
                return self._untold(f"the response of {asked.tool} is unknown")
        return None

    def _untold(self, what: str, remedy: str = RECORD_IT) -> UntoldError:
        return UntoldError(f"{self._where()}: {what}. {remedy}")

    def _fits(self, call: RecordedCall | RejectedCall, asked: IncomingCall) -> bool:
        """Return whether a recorded call is the one that is asked, or differs only in what it may."""
        return is_same_call(call, asked, self.case.tolerances)

    def confirmation(self, asked: IncomingCall) -> JsonObject | None:
        """Return what a person had answered when the tool asked for a confirmation of this call; None where it asked none."""
        if self.now is None:
            return None
        if (found := self.finds(asked)) is not None:
            return found.confirmed
        rejected = (call for call in self.now.rejected if self._fits(call, asked))
        return next((call.confirmed for call in rejected), None)

    def next_model_turn(self, agent: str, within: tuple[str, ...], path: str = "") -> RecordedModelTurn:
        """Use up the next turn that was recorded for the model of an agent, of the same node where branches run the same agent at once.

        Raises:
            UnrecordedError: None is left.
        """
        place = self._model_place(agent, within, path)
        turns = self.now.models if self.now else ()
        if place is None:
            raise self._no_model_turn(agent, within)
        self._models_used.add((self.turn, place))
        return turns[place]

    def _no_model_turn(self, agent: str, within: tuple[str, ...]) -> UnrecordedError:
        """Say that no turn of a model is left: of a turn that has none of any model nobody knows whether there were some."""
        now = self.now or RecordedTurn(query={})
        made = sum(_is_turn_of(turn, agent, within) for turn in now.models)
        if not made and self.case.is_partial:
            return self._untold(f"the imported trace has no turn of the model of {agent}")
        if within and any(call.tool == within[0] for call in untold_calls(now)):
            return self._untold(f"the response of {within[0]} is unknown")
        is_graph = bool(now.calls) and all(is_of_graph(call, now) for call in now.calls)
        if self.now is not None and self._answered_by_code(now):
            return UnrecordedError(
                f"{self._where()} was answered by the agent's code, and now its model is asked: {agent}"
            )
        if self.now is not None and not (now.models or is_graph):
            return self._untold("no model turns are recorded for this turn", ASK_THE_MODEL)
        return UnrecordedError(
            f"{self._where()} has {made} recorded model turns of {agent}, but one more is needed"
        )

    def _answered_by_code(self, turn: RecordedTurn) -> bool:
        """Return whether it is noted that no model was asked in a turn: by its digests, where those of other turns name models."""
        noted = [each.golden.recorded_models for each in self.case.turns if each.golden]
        is_own = turn.golden is not None and not turn.golden.recorded_models and not turn.models
        return is_own and any(noted) and not is_imported(self.case)

    def comes_later(self, agent: str, within: tuple[str, ...], path: str) -> bool:
        """Return whether models of other branches had answered before the next turn of an agent's model, and have not yet."""
        place = self._model_place(agent, within, path)
        turns = self.now.models[:place] if self.now and place is not None else ()
        return any(
            (self.turn, at) not in self._models_used for at, turn in enumerate(turns) if not turn.put_off
        )

    def _model_place(self, agent: str, within: tuple[str, ...], path: str) -> int | None:
        turns = self.now.models if self.now else ()
        left = (
            at
            for at, turn in enumerate(turns)
            if (self.turn, at) not in self._models_used and _is_turn_of(turn, agent, within)
        )
        return min(left, key=lambda at: (turns[at].path != path, turns[at].path != ""), default=None)

    @property
    def given(self) -> int:
        """How much of the recording has been used up."""
        return len(self._used) + len(self._models_used) + len(self._agents_used) + len(self._inputs_used)

    def next_code(self, agent: str, within: tuple[str, ...], code: str) -> RecordedCode:
        """Use up the next run that was recorded of an agent's code.

        Raises:
            UnrecordedError: This code did not run there, or not once more.
        """
        asked = agent, within, code.strip()
        for place, ran in enumerate(self.now.code if self.now else ()):
            if (self.turn, place) not in self._code_used and (
                ran.agent,
                ran.within,
                ran.code.strip(),
            ) == asked:
                self._code_used.add((self.turn, place))
                return ran
        raise UnrecordedError(
            f"{self._where()} has no recorded result for this code of {agent}: {code.strip()}"
        )

    def finds_input(self, question: InputQuestion) -> InputReply | None:
        """Return what was answered to a question, without using it up; None where nothing is left for it.

        Of several that fit, the one of the same id counts first, then one of the same node, then one with the same words. Where none
        fits, one of the same node counts that is the same but for words with digits: a time, or the id of a thing. The two are compared later.
        """
        left = self._inputs_left()
        fit = [reply for reply in left if self._fits_input(reply.recorded, question)]
        fit = fit or [reply for reply in left if _is_like(reply.recorded, question)]
        return min(fit, key=lambda reply: _distance(reply.recorded, question), default=None)

    def _inputs_left(self) -> list[InputReply]:
        recorded = inputs_of(self.now) if self.now else ()
        return [
            InputReply(place, each)
            for place, each in enumerate(recorded)
            if (self.turn, place) not in self._inputs_used
        ]

    def leaves_open(self, question: InputQuestion) -> bool:
        """Return whether the turn's recording ends with this question."""
        asked = self.now.open_question if self.now else None
        return asked is not None and tolerated(REQUEST_INPUT, asked, question.arguments, self.case.tolerances)

    def uses_input(self, question: InputQuestion) -> None:
        """Use up the answer that `finds_input` gives."""
        if (reply := self.finds_input(question)) is not None:
            self._inputs_used.add((self.turn, reply.place))

    def _fits_input(self, recorded: RecordedInput, question: InputQuestion) -> bool:
        return recorded.arguments is None or tolerated(
            REQUEST_INPUT, recorded.arguments, question.arguments, self.case.tolerances
        )

    def nearest_input(self, question: InputQuestion) -> RecordedInput | None:
        """Return the recorded question of this turn that comes nearest to one that was not recorded."""
        left = (reply.recorded for reply in self._inputs_left())
        return min(left, key=lambda recorded: _distance(recorded, question), default=None)

    def leaves_out(self, question: InputQuestion) -> bool:
        """Return whether the recording need not have kept a question: it tells no end of the turn, and no question that is like this one.

        A trace that has none at all may have lost it, or kept it as a text, if all that it has before that was done.
        """
        if self.now is None or self.now.open_question is not None:
            return False
        if self.now.is_cut:
            near = self._nearest_questions(question)
            return not near or near[0].distance > _ANOTHER_QUESTION
        is_done = all((self.turn, place) in self._used for place in range(len(self.now.calls)))
        return self.case.is_partial and is_done and not any(map(inputs_of, self.case.turns))

    def why_no_input(self, question: InputQuestion) -> str:
        """Say that nothing was recorded for a question: what is nearest, and what differs."""
        asked = question.arguments.get("message")
        head = (
            f"{self._where()} has no recorded reply of the user to {asked!r}"
            if asked
            else f"{self._where()} has no recorded reply of the user"
        )
        recorded = self._questions()
        if not recorded:
            if not self.leaves_out(question):
                return f"{head}: no input was requested there"
            if self.now and self.now.is_cut:
                return f"{head}: the imported trace has no reply, and tells no more of the turn"
            return f"{head}: the imported trace does not contain the question that the agent asks here, so this turn cannot be compared"
        if any(self._fits_input(each, question) for each in recorded):
            return f"{head}: the agent asks once more than recorded"
        (near,) = self._nearest_questions(question)
        return f"{head}: the recorded question is different: {'; '.join(near.differs)}"

    def _questions(self) -> list[RecordedInput]:
        """Return the questions that are recorded in this turn, the one that ends it among them."""
        recorded = [*inputs_of(self.now)] if self.now else []
        if self.now and self.now.open_question is not None:
            recorded.append(RecordedInput(arguments=self.now.open_question, response={}))
        return recorded

    def _nearest_questions(self, question: InputQuestion) -> tuple[Near, ...]:
        """Return the recorded question of this turn that is most like one; none where none is recorded."""
        plain = [
            ObservedCall(tool_name=REQUEST_INPUT, arguments=each.arguments or {}, response=None, place="")
            for each in self._questions()
        ]
        return nearest(plain, REQUEST_INPUT, question.arguments, n=1)

    def why_not(self, asked: IncomingCall) -> str:
        """Say that nothing was recorded for what is asked: what is nearest, and what differs."""
        return f"{self._where()} has no recorded response for {_written(asked)}: {self._nearest(asked)}"

    def _where(self) -> str:
        return f"case {self.eval_id!r}, turn {self.turn + 1}"

    def _nearest(self, asked: IncomingCall) -> str:
        calls = self.now.calls if self.now else ()
        same_calls = [
            place
            for place, call in enumerate(calls)
            if self._fits(call, asked) and not only_asked(calls, place)
        ]
        if same_calls:
            count = len(same_calls)
            return f"it was called {count} {'time' if count == 1 else 'times'} there, and now once more"
        elsewhere = [
            number + 1
            for number, turn in enumerate(self.case.turns)
            if number != self.turn and any(self._fits(call, asked) for call in turn.calls)
        ]
        if elsewhere:
            return f"it was called in turn {elsewhere[0]}"
        return _nearest_words(calls, asked)


def _is_turn_of(turn: RecordedModelTurn, agent: str, within: tuple[str, ...]) -> bool:
    return not turn.put_off and turn.agent in {agent, ""} and turn.within == within


def _distance(recorded: RecordedInput, question: InputQuestion) -> tuple[bool, bool, bool]:
    """Return how far a recorded question is from one that is asked."""
    has_words = recorded.arguments is not None and same(recorded.arguments, question.arguments)
    return recorded.id != question.id, recorded.path != question.path, not has_words


def _is_like(recorded: RecordedInput, question: InputQuestion) -> bool:
    """Return whether a node asks what it asked when it was recorded, but for words with digits in its texts."""
    return recorded.path == question.path and _is_alike(recorded.arguments, question.arguments)


def _is_alike(then: Any, now: Any) -> bool:
    match then, now:
        case dict(), dict():
            return then.keys() == now.keys() and all(_is_alike(then[name], now[name]) for name in then)
        case list(), list():
            return len(then) == len(now) and all(map(_is_alike, then, now))
        case str(), str():
            return word_columns([then, now]) is not None
        case _:
            return same(then, now)


def _nearest_words(calls: Sequence[RecordedCall], asked: IncomingCall) -> str:
    plain = [
        ObservedCall(tool_name=call.tool, arguments=call.arguments, response=None, place="") for call in calls
    ]
    found = nearest(plain, asked.tool, asked.arguments, n=1)
    if not found:
        tools = ", ".join(dict.fromkeys(call.tool for call in calls)) or "none"
        return f"the tool was not called there; called tools: {tools}"
    (near,) = found
    if not near.differs:
        inside = " in ".join(reversed(calls[near.index].within)) or "the agent itself"
        return f"the same call was made by {inside}"
    return f"the closest recorded call is {_written(IncomingCall(asked.tool, near.call.arguments))}; {'; '.join(near.differs)}"


def _written(asked: IncomingCall) -> str:
    arguments = ", ".join(f"{name}={canonical(value)}" for name, value in asked.arguments.items())
    inside = "".join(f" inside {name}" for name in asked.within)
    return f"{asked.tool}({arguments}){inside}"


def is_same_call(
    call: RecordedCall | RejectedCall | RecordedAgentRun,
    asked: IncomingCall,
    tolerances: Sequence[Tolerance] = (),
) -> bool:
    """Return whether a recorded call is the one that is asked: the tool, where it is asked, and the arguments as far as they count."""
    return (
        call.tool == asked.tool
        and call.within == asked.within
        and tolerated(call.tool, call.arguments, asked.arguments, tolerances)
    )


def is_said_alike(recorded: JsonObject, message: JsonObject) -> bool:
    """Return whether the user says what was recorded: the same text, or the same parts where there is more than text."""
    return content_text(recorded).strip() == content_text(message).strip()


def _answers_a_call(message: JsonObject) -> bool:
    return any(part.get("functionResponse") or part.get("function_response") for part in parts_of(message))


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
        self._asks = not _answers_a_call(message)
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
        self._fitting = [case for case, _ in found]
        _, first = found[0]
        differing = [case.eval_id for case, call in found if not _tells_alike(call, first)]
        if differing:
            raise AmbiguousError(
                f"cases {found[0][0].eval_id!r} and {differing[0]!r} start the same, but have different responses for "
                f"{_written(asked)}. Name the case to replay (`case=`)"
            )
        for case, _ in found:
            case.uses(asked)
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
        """Take in a question that the user answered before the session was followed."""
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
        self._fitting = [case for case, _ in found]
        first = found[0][1]
        differing = [
            case.eval_id for case, reply in found if reply.recorded.response != first.recorded.response
        ]
        if differing:
            raise AmbiguousError(
                f"cases {found[0][0].eval_id!r} and {differing[0]!r} start the same, but have different user replies. Name the case to "
                "replay (`case=`)"
            )
        for case, _ in found:
            case.uses_input(question)
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
        self._calls = [(name, call) for name, case in cases.items() for call in _happened(case)]
        self._last_case, self._used = "", set[int]()

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
        alike = [place for place, (_, call) in enumerate(self._calls) if is_same_call(call, asked)]
        if not alike:
            where = f"case {self._eval_id!r}: no response is recorded for {_written(asked)}"
            calls = [call for _, call in self._calls]
            raise UnrecordedError(f"{where}: {_nearest_words(calls, asked)}" if calls else where)
        place = min(alike, key=self._rank)
        self._last_case = self._calls[place][0]
        self._used.add(place)
        return self._calls[place][1]

    def _rank(self, place: int) -> tuple[bool, bool, bool, int]:
        name, is_used = self._calls[place][0], place in self._used
        return name != self._eval_id, name != self._last_case, is_used, -place if is_used else place

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


def _tells_alike(one: RecordedCall, other: RecordedCall) -> bool:
    return one.outcome == other.outcome and one.effects == other.effects


def _queries(cases: Iterable[CaseFollowed], turn: int) -> str:
    """Name what the user says in a turn of the first few cases."""
    found: list[str] = []
    for case in cases:
        if 0 <= turn < len(case.case.turns):
            text: Any = content_text(case.case.turns[turn].query)
            found.append(f"{text!r} ({case.eval_id})")
    shown = ", ".join(found[:3])
    return f"{shown} and {len(found) - 3} more" if len(found) > 3 else shown  # noqa: PLR2004 - as many as a sentence holds
