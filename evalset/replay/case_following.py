"""Follows one recorded case, turn by turn: each call, question, model and run of code gets the next answer that was recorded for it. Pure.

A `CaseFollowed` has a `Cursor` for each kind of answer in the turn that it is at. What is asked uses up the first answer that fits; where none is left, the
error says what is nearest, and what differs. `session_following` follows a session along all the cases that it may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from evalset.errors import ASK_THE_MODEL, RECORD_IT
from evalset.recorded.recorded_turns import (
    agents_as_tools,
    inputs_of,
    is_of_graph,
    only_asked,
    seen_response,
    untold_calls,
)
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
from simulator.base.adk_names import lasting
from simulator.base.json_values import JsonObject, canonical, same
from simulator.environment.recordings import Cursor, Near, ObservedCall, nearest
from simulator.environment.world.tool_settings import adk_refused
from simulator.session.adk_event_fields import calls_in, content_text, parts_of
from simulator.session.model import REQUEST_INPUT

_BEFORE = -1
_ANOTHER_QUESTION = 0.5
"""How far a question is at least from a recorded one, from 0 to 1, that is another one."""


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
        self._go_to(_BEFORE)

    def _go_to(self, turn: int) -> None:
        """Begin a turn: all its answers are still to be given."""
        self.turn = turn
        self.now = self.case.turns[turn] if turn > _BEFORE else None
        now = self.now or RecordedTurn(query={})
        self._calls, self._models, self._code = Cursor(now.calls), Cursor(now.models), Cursor(now.code)
        self._agents, self._inputs = Cursor(now.agents), Cursor(inputs_of(now))
        self._ran = {run.id for run in now.agents}

    def hears(self, message: JsonObject) -> bool:
        """Take in what the user says; False where the case goes on in another way."""
        if answers_a_call(message):
            return True  # what a turn left open is answered: the turn goes on
        if self.turn + 1 >= len(self.case.turns):
            return False
        self._go_to(self.turn + 1)
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
        answered = self._place(asked)
        ran = next(self._agents.left(lambda run: self._fits(run, asked)), None)
        if ran is None:
            is_known = answered is not None or self.answers_alone(asked.tool)
            return None if is_known else RecordedAgentRun(id="", tool=asked.tool, arguments=asked.arguments)
        run = self._agents.entries[ran]
        if (
            answered is not None
            and answered < run.calls_before
            and self._calls.entries[answered].id != run.id
        ):
            return None
        return self._agents.use(ran)

    def told_of(self, run: RecordedAgentRun) -> RecordedCall | None:
        """Use up what rules made of the answer of an agent that ran; None where they changed nothing."""
        place = next(self._calls.left(lambda call: call.id == run.id != ""), None)
        return None if place is None else self._calls.use(place)

    @property
    def state(self) -> JsonObject:
        """The state before this turn, as far as the recording has it: what the case began with, and what users and tools changed since."""
        state = dict(self.case.state)
        for turn in self.case.turns[: max(0, self.turn)]:
            state |= turn.state_delta
            for call in turn.calls:
                state |= call.effects.state_delta
        return lasting(state)

    def finds(self, asked: IncomingCall) -> RecordedCall | None:
        """Return the recorded call that is the next for what is asked, without using it up; None where none is left."""
        place = self._place(asked)
        return None if place is None else self._calls.entries[place]

    def uses(self, asked: IncomingCall) -> None:
        """Use up the recorded call that `finds` gives."""
        place = self._place(asked)
        if place is not None:
            self._calls.use(place)

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
        calls = self._calls.entries
        left = [
            place
            for place in self._calls.left(lambda call: self._fits(call, asked) and call.id not in self._ran)
            if not only_asked(calls, place)
        ]
        as_recorded = (place for place in left if same(calls[place].arguments, asked.arguments))
        return next(as_recorded, left[0] if left else None)

    def had(self, tool: str) -> bool:
        """Return whether there was a tool of a name: it answered, was rejected, or is an agent that ran."""
        answered = {call.tool for turn in self.case.turns for call in turn.calls}
        rejected = {call.tool for turn in self.case.turns for call in turn.rejected}
        return tool in answered | rejected | agents_as_tools(self.case)

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

    def _fits(self, call: RecordedCall | RejectedCall | RecordedAgentRun, asked: IncomingCall) -> bool:
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
        if place is None:
            raise self._no_model_turn(agent, within)
        return self._models.use(place)

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
        first = next(self._models.left(lambda turn: not turn.put_off), place)
        return place is not None and first is not None and first < place

    def _model_place(self, agent: str, within: tuple[str, ...], path: str) -> int | None:
        turns = self._models.entries
        left = self._models.left(lambda turn: _is_turn_of(turn, agent, within))
        return min(left, key=lambda at: (turns[at].path != path, turns[at].path != ""), default=None)

    @property
    def given(self) -> int:
        """How much of the turn has been used up."""
        return sum(len(each.used) for each in (self._calls, self._models, self._agents, self._inputs))

    def next_code(self, agent: str, within: tuple[str, ...], code: str) -> RecordedCode:
        """Use up the next run that was recorded of an agent's code.

        Raises:
            UnrecordedError: This code did not run there, or not once more.
        """
        asked = agent, within, code.strip()
        left = self._code.left(lambda ran: (ran.agent, ran.within, ran.code.strip()) == asked)
        if (place := next(left, None)) is not None:
            return self._code.use(place)
        raise UnrecordedError(
            f"{self._where()} has no recorded result for this code of {agent}: {code.strip()}"
        )

    def finds_input(self, question: InputQuestion) -> InputReply | None:
        """Return what was answered to a question, without using it up; None where nothing is left for it.

        Of several that fit, the one of the same id counts first, then one of the same node, then one with the same words. Where none
        fits, one of the same node counts that is the same but for words with digits: a time, or the id of a thing. The two are compared later.
        """
        fit = [*self._inputs.left(lambda recorded: self._fits_input(recorded, question))]
        fit = fit or [*self._inputs.left(lambda recorded: _is_like(recorded, question))]
        inputs = self._inputs.entries
        place = min(fit, key=lambda at: _distance(inputs[at], question), default=None)
        return None if place is None else InputReply(place, inputs[place])

    def leaves_open(self, question: InputQuestion) -> bool:
        """Return whether the turn's recording ends with this question."""
        asked = self.now.open_question if self.now else None
        return asked is not None and tolerated(REQUEST_INPUT, asked, question.arguments, self.case.tolerances)

    def uses_input(self, question: InputQuestion) -> None:
        """Use up the answer that `finds_input` gives."""
        if (reply := self.finds_input(question)) is not None:
            self._inputs.use(reply.place)

    def _fits_input(self, recorded: RecordedInput, question: InputQuestion) -> bool:
        return recorded.arguments is None or tolerated(
            REQUEST_INPUT, recorded.arguments, question.arguments, self.case.tolerances
        )

    def nearest_input(self, question: InputQuestion) -> RecordedInput | None:
        """Return the recorded question of this turn that comes nearest to one that was not recorded."""
        left = (self._inputs.entries[place] for place in self._inputs.left())
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
        is_done = next(self._calls.left(), None) is None
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
        recorded = [*self._inputs.entries]
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
        return f"{self._where()} has no recorded response for {written_call(asked)}: {self._nearest(asked)}"

    def _where(self) -> str:
        return f"case {self.eval_id!r}, turn {self.turn + 1}"

    def _nearest(self, asked: IncomingCall) -> str:
        calls = self._calls.entries
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
        return nearest_words(calls, asked)


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


def nearest_words(calls: Sequence[RecordedCall], asked: IncomingCall) -> str:
    """Say which recorded call is nearest to one that none of them answers, and what differs."""
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
    return f"the closest recorded call is {written_call(IncomingCall(asked.tool, near.call.arguments))}; {'; '.join(near.differs)}"


def written_call(asked: IncomingCall) -> str:
    """Write a call as a person reads it, with the agent tools that it is inside of."""
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


def answers_a_call(message: JsonObject) -> bool:
    """Return whether the user answers in a message what a turn left open."""
    return any(part.get("functionResponse") or part.get("function_response") for part in parts_of(message))
