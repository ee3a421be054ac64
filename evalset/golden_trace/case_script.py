"""Makes scripts of eval cases: who has only a golden trace can play it again, change a line, or go another way from there."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, repeat
from typing import Any, NamedTuple, TypeAlias

from google.adk.evaluation.eval_case import EvalCase, IntermediateData, Invocation, InvocationEvents
from google.genai import types

from evalset.errors import ScenarioError, words_of_refusal
from evalset.files.case_text import loaded
from evalset.golden_trace.builder import ENDS_WITH_DATA
from simulator.base.json_values import JsonObject, canonical
from simulator.base.validation_words import check_kind
from simulator.environment.world.tool_settings import TRANSFER, steers
from simulator.scripts import Script, ScriptTurn
from simulator.scripts.script import AgentMove, Entry, ScriptCall, ToolMove
from simulator.session.model import INTERRUPT_ID, REQUEST_INPUT

_CONFIRMATION = "adk_request_confirmation"
_ASKS_USER = "adk_request_"
_MADE_BY_ADK = "adk-"


class CaseScript(NamedTuple):
    """The script of a case; `losses` says in sentences what the case does not tell, so that no line stands for it."""

    script: Script
    losses: tuple[str, ...]


class CallMaker(NamedTuple):
    """Who made a call; `move` is the same number for those that were made at once."""

    agent: str
    move: int


class TurnMakers(NamedTuple):
    """Who made each call of a turn, in their order (None for one that nobody knows of), and who said the final response."""

    calls: tuple[CallMaker | None, ...] = ()
    final: str = ""


_Waiting: TypeAlias = tuple[types.FunctionCall, CallMaker | None]


class _Step(NamedTuple):
    """What the agents said at once (`author` and `parts`), or what was answered, by the tools or by the user."""

    author: str = ""
    parts: tuple[types.Part, ...] = ()
    answers: tuple[types.FunctionResponse, ...] = ()
    by_user: bool = False


def read_cases(text: str) -> dict[str, EvalCase]:
    """Read the cases of an eval set by their ids, those of ADK's older files too.

    Raises:
        ScenarioError: ADK's loader cannot read the text.
    """
    check_kind(text, "encode", "the text of an eval set")
    try:
        return {case.eval_id: case for case in loaded(text).eval_cases}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ScenarioError(f"ADK's loader cannot read the eval set: {words_of_refusal(error)}") from error


def script_of_case(case: EvalCase, nested: Mapping[str, str] | None = None) -> CaseScript:
    """Make the script in which the user, the agents and the tools do what an eval case tells, in either of its forms.

    A call to which the case has no answer is left to the environment's player; so is the agent's turn where the
    case has no response. State that tools changed is not in a case, and neither is what agents that are tools did:
    they say at once what they came to.

    Args:
        case: The eval case.
        nested: The tools that are agents: the agent's name by the tool's, as `agents_as_tools` gives them.

    Raises:
        ScenarioError: The case holds no conversation, or a turn in which the user says nothing.
    """
    made = named_script_of_case(case, nested)
    return made._replace(script=without_names(made.script))


def named_script_of_case(
    case: EvalCase, nested: Mapping[str, str] | None = None, makers: Sequence[TurnMakers] = ()
) -> CaseScript:
    """Make the script of a case, as `script_of_case` does, in which each move names its agent as far as it is known.

    Args:
        case: The eval case.
        nested: As for `script_of_case`.
        makers: Who made the calls of each turn, where something besides the case tells.

    Raises:
        ScenarioError: As `script_of_case`.
    """
    check_kind(case, "conversation", "an EvalCase")
    if not case.conversation:
        raise ScenarioError(f"the case {case.eval_id!r} has no conversation to play")
    losses = list(_left_out(case))
    known = chain(makers, repeat(TurnMakers()))
    turns = [
        turn
        for number, (invocation, made) in enumerate(zip(case.conversation, known, strict=False), start=1)
        for turn in _Reader(case.eval_id, number, losses, nested or {}, made).turns(invocation)
    ]
    given = case.session_input
    script = Script(
        name=case.eval_id,
        user_id=(given.user_id if given else "") or "user",
        initial_state=dict(given.state) if given else {},
        agent="person",
        turns=tuple(_with_only_name(turns)),
    )
    return CaseScript(script, tuple(losses))


def _with_only_name(turns: Sequence[ScriptTurn]) -> Iterator[ScriptTurn]:
    """Name the agent of final responses, too, where all calls are those of one agent."""
    moves = [move for turn in turns for move in turn.moves if isinstance(move, AgentMove)]
    names = {move.agent for move in moves if move.agent}
    only = names.pop() if len(names) == 1 else ""
    if not only or any(not move.agent and not move.text for move in moves):
        yield from turns
        return
    for turn in turns:
        named = (
            move.model_copy(update={"agent": only}) if isinstance(move, AgentMove) else move
            for move in turn.moves
        )
        yield turn.model_copy(update={"moves": tuple(named)})


def without_names(script: Script) -> Script:
    """Leave out whose move each is, where there is only one agent."""
    agents = {move.agent for turn in script.turns for move in turn.moves if isinstance(move, AgentMove)}
    if len(agents) > 1:
        return script
    return script.model_copy(update={"turns": tuple(map(_nameless, script.turns))})


def earlier_events(case: EvalCase) -> dict[str, list[Any]]:
    """Return the events that a case gives its session before its first turn, by the field that has them: ADK keeps such fields and does not read them."""
    extra = {**(case.model_extra or {}), **((case.session_input and case.session_input.model_extra) or {})}
    return {
        name: held
        for name, held in extra.items()
        if isinstance(held, list)
        and held
        and all(isinstance(each, dict) and "author" in each for each in held)
    }


def _left_out(case: EvalCase) -> Iterator[str]:
    for name, held in earlier_events(case).items():
        yield f"earlier events: {len(held)} in `{name}` of the case {case.eval_id!r} are left out, so its first turn is played without them"


def _nameless(turn: ScriptTurn) -> ScriptTurn:
    moves = (
        move.model_copy(update={"agent": ""}) if isinstance(move, AgentMove) else move for move in turn.moves
    )
    return turn.model_copy(update={"moves": tuple(moves)})


class _Reader:
    """Reads the turns of one invocation."""

    def __init__(
        self, eval_id: str, number: int, losses: list[str], nested: Mapping[str, str], makers: TurnMakers
    ) -> None:
        self._where = f"turn {number} of the case {eval_id!r}"
        self._losses = losses
        self._nested = nested
        self._makers = makers
        self._calls: dict[str, types.FunctionCall] = {}
        self._asked: dict[str, types.FunctionCall] = {}
        self._unsaid: set[str] = set()
        self._turns: list[dict[str, Any]] = []

    def turns(self, invocation: Invocation) -> list[ScriptTurn]:
        """Return the query's turn, and a turn for each reply of the user on the way."""
        self._turns = [{"say": self._query(invocation.user_content), "moves": []}]
        steps = tuple(self._steps(invocation))
        for step in steps:
            for call in (part.function_call for part in step.parts):
                self._note(call)
        for step in steps:
            if step.by_user:
                for answer in step.answers:
                    self._reply(answer)
            else:
                self._moves.extend(self._said(step))
                self._moves.extend(move for answer in step.answers for move in self._answered(answer))
        self._moves.extend(self._final(invocation, steps))
        return [ScriptTurn(**turn) for turn in self._turns]

    @property
    def _moves(self) -> list[Entry]:
        moves: list[Entry] = self._turns[-1]["moves"]
        return moves

    def _query(self, content: types.Content) -> str | JsonObject:
        parts = [part for part in content.parts or () if not part.function_response]
        if not parts:
            raise ScenarioError(f"{self._where}: no user message")
        if len(parts) == 1 and (text := parts[0].text) and text.strip() and _is_plain(parts[0]):
            return text
        return {"role": "user", "parts": [_json(part) for part in parts]}

    def _steps(self, invocation: Invocation) -> Iterator[_Step]:
        """Bring either form of what happened on the way into steps."""
        match invocation.intermediate_data:
            case InvocationEvents(invocation_events=events):
                for event in events:
                    parts = (event.content.parts if event.content else None) or []
                    answers = tuple(part.function_response for part in parts if part.function_response)
                    spoken = tuple(part for part in parts if not part.function_response)
                    yield _Step(event.author, () if event.author == "user" else spoken)
                    yield _Step(answers=answers, by_user=event.author == "user")
            case IntermediateData() as data:
                yield from self._listed(data)
            case _:
                pass

    def _listed(self, data: IntermediateData) -> Iterator[_Step]:
        """Set each answer behind its call; the lists say which was first. Only a recording says which were made at once."""
        said = deque((author, parts) for author, parts in data.intermediate_responses if parts)
        calls = [
            call if call.id else call.model_copy(update={"id": f"{_MADE_BY_ADK}{place}"})
            for place, call in enumerate(data.tool_uses)
        ]
        known = self._makers.calls
        makers = known if len(known) == len(calls) else (None,) * len(calls)
        moves = [None if maker is None else maker.move for maker in makers]
        self._check_known(calls, makers)
        waiting = deque(enumerate(zip(calls, makers, strict=True)))
        open_calls: defaultdict[str, deque[types.FunctionCall]] = defaultdict(deque)
        for each in calls:
            open_calls[each.name or ""].append(each)
        answered: set[str] = set()
        for answer in data.tool_responses:
            call = _of(answer, calls, open_calls)
            if call is None:
                self._losses.append(
                    f"{self._where}: a response of {answer.name!r} without its call is left out"
                )
                continue
            place, end = _place(call, calls), _end(call, calls)
            last = max(each for each, move in enumerate(moves) if move == moves[end])
            end = end if moves[end] is None else last
            made = [waiting.popleft()[1] for _ in range(len(waiting)) if waiting[0][0] <= end]
            yield from _made(made, is_one=end > place)
            own = answer.model_copy(update={"id": call.id})
            again = own.id in answered and not _is_confirmed(own.id, calls)
            if again and said:  # before the user brought a late result, the agent had to end its turn
                author, parts = said.popleft()
                yield _Step(author, tuple(parts))
            yield _Step(answers=(own,), by_user=again or (call.name or "").startswith(_ASKS_USER))
            answered.add(own.id or "")
        yield from _made([each for _, each in waiting], is_one=False)
        if said:
            self._losses.append(
                f"{self._where}: agent messages before the final response are left out, because their position is unknown"
            )

    def _check_known(self, calls: Sequence[types.FunctionCall], makers: Sequence[CallMaker | None]) -> None:
        """Note that calls may have been made at once, where nobody knows."""
        unknown = [
            call
            for call, maker in zip(calls, makers, strict=True)
            if maker is None and call.name != TRANSFER and not _is_asked_by_adk(call)
        ]
        if len(unknown) > 1:
            self._losses.append(
                f"{self._where}: its calls are made one after another, because the case does not tell which were made at once"
            )

    def _note(self, call: types.FunctionCall | None) -> None:
        """Keep a call for its answer; what ADK asks the user is no move of the agent."""
        if call is None or not call.id:
            return
        self._calls[call.id] = call
        if call.name == _CONFIRMATION:
            original = str(_original(call).get("id") or "")
            self._asked[call.id] = call
            self._unsaid.add(original)  # ADK itself answers first, that a confirmation is needed

    def _said(self, step: _Step) -> Iterator[AgentMove]:
        parts = [
            part for part in step.parts if not (part.function_call and _is_asked_by_adk(part.function_call))
        ]
        calls = [part.function_call for part in parts if part.function_call]
        texts = [part.text for part in parts if part.text]
        if not parts:
            return
        if (
            len(parts) == 1
            and calls
            and calls[0].name == TRANSFER
            and set(calls[0].args or {}) == {"agent_name"}
        ):
            yield AgentMove(agent=step.author, transfer=str((calls[0].args or {})["agent_name"]))
        elif all(map(_is_plain, parts)) and (not texts or (len(texts) == 1 and parts[0].text)):
            yield AgentMove(agent=step.author, text="".join(texts), calls=tuple(map(_call, calls)))
        else:
            yield AgentMove(agent=step.author, parts=tuple(_json(part) for part in parts))

    def _answered(self, answer: types.FunctionResponse) -> Iterator[Entry]:
        """Yield the line that answers a call; what ADK answers by itself needs none."""
        name, call_id = answer.name or "", answer.id or ""
        if steers(name, answer.response):
            return
        if call_id in self._unsaid:
            self._unsaid.discard(call_id)
            return
        if name in self._nested:
            yield AgentMove(agent=self._nested[name], text=_came_to(answer.response or {}))
            return
        call = self._calls.get(call_id)
        yield ToolMove(tool=name, args=dict(call.args or {}) if call else {}, returns=answer.response)

    def _reply(self, answer: types.FunctionResponse) -> None:
        """Begin the turn in which the user answers what was left open."""
        question = self._asked.get(answer.id or "")
        body: Any = _unpacked(answer.response or {})
        if answer.name == REQUEST_INPUT:
            self._turns.append({**self._typed(answer, body), "moves": []})
            return
        if question is None:
            if not any(isinstance(move, ToolMove) and move.tool == answer.name for move in self._moves):
                self._moves.append(ToolMove(tool=answer.name or "*", later=True))
            self._turns.append({"reply": body, "tool": answer.name or "", "moves": []})
            return
        original = _original(question)
        tool = str(original.get("name") or "")
        if isinstance(body, dict) and isinstance(body.get("confirmed"), bool):
            given = {"payload": body["payload"]} if body.get("payload") is not None else {}
            self._turns.append({"confirm": body["confirmed"], "tool": tool, **given, "moves": []})
            if not body["confirmed"]:
                self._unsaid.add(str(original.get("id") or ""))  # ADK answers that it was rejected
        else:
            self._turns.append({"reply": body, "tool": tool, "moves": []})

    def _typed(self, answer: types.FunctionResponse, body: Any) -> dict[str, Any]:
        """Return the reply to a question of a graph or of an agent; where there are several, it names the one."""
        turn: dict[str, Any] = {"reply": body, "tool": REQUEST_INPUT}
        asked = {call_id: call for call_id, call in self._calls.items() if call.name == REQUEST_INPUT}
        message = (asked[answer.id or ""].args or {}).get("message") if (answer.id or "") in asked else None
        return {**turn, "question": message} if len(asked) > 1 and isinstance(message, str) else turn

    def _final(self, invocation: Invocation, steps: Sequence[_Step]) -> Iterator[AgentMove]:
        """Yield the move that makes the final response, where no earlier one did."""
        parts = [
            part for part in (invocation.final_response or types.Content()).parts or () if not part.thought
        ]
        spoken = [step for step in steps if step.parts]
        last = spoken[-1] if spoken else None
        if not parts or (last and list(last.parts) == parts):
            return
        if last and any(
            part.function_call and part.function_call.name == ENDS_WITH_DATA for part in last.parts
        ):
            return
        author = last.author if last and not _hands_over(last) else _receiver(last)
        yield from self._said(_Step(author or self._makers.final, tuple(parts)))


def _made(calls: Sequence[_Waiting], *, is_one: bool) -> Iterator[_Step]:
    """Yield calls as they were made, at once where that is known; `is_one` says that calls of which nobody knows were."""
    if is_one and any(maker is None for _, maker in calls):
        yield _Step(parts=tuple(types.Part(function_call=call) for call, _ in calls))
        return
    for maker, those in groupby(calls, key=lambda each: each[1]):
        parts = tuple(types.Part(function_call=call) for call, _ in those)
        if maker is not None:
            yield _Step(maker.agent, parts)
        else:
            yield from (_Step(parts=(part,)) for part in parts)


def _is_asked_by_adk(call: types.FunctionCall) -> bool:
    """Return whether ADK asks the user with this call; a model may call a tool of the same name, `request_input` for one."""
    name = call.name or ""
    by_model = name == REQUEST_INPUT and INTERRUPT_ID not in (call.args or {})
    return name.startswith(_ASKS_USER) and not by_model


def _hands_over(step: _Step) -> bool:
    return any(part.function_call and part.function_call.name == TRANSFER for part in step.parts)


def _receiver(step: _Step | None) -> str:
    """Return the agent that a step hands over to; empty for the next one."""
    if step is None or not step.author:
        return ""
    calls = (part.function_call for part in step.parts if part.function_call)
    return next((str((call.args or {}).get("agent_name", "")) for call in calls if call.name == TRANSFER), "")


def _of(
    answer: types.FunctionResponse,
    calls: Sequence[types.FunctionCall],
    unanswered: dict[str, deque[types.FunctionCall]],
) -> types.FunctionCall | None:
    """Find the call of an answer: by its id, and where there is none by the tool's name, the first that has no answer."""
    own = next((call for call in calls if answer.id and call.id == answer.id), None)
    if own is not None:
        return own
    waiting = unanswered.get(answer.name or "")
    return waiting.popleft() if waiting else None


def _place(call: types.FunctionCall, calls: Sequence[types.FunctionCall]) -> int:
    return next(place for place, each in enumerate(calls) if each is call)


def _end(call: types.FunctionCall, calls: Sequence[types.FunctionCall]) -> int:
    """Return the place of the last call that was made by the time of a call's answer, as far as the list tells.

    The question about a call comes when everything that was called with it has come to rest: what stands between them was called at once.
    """
    place = _place(call, calls)
    by_then = {each.id for each in calls[: place + 1]}
    asked = (
        each
        for each, one in enumerate(calls)
        if one.name == _CONFIRMATION and _original(one).get("id") in by_then
    )
    return max((place, *asked))


def _is_confirmed(call_id: str | None, calls: Sequence[types.FunctionCall]) -> bool:
    """Return whether ADK asked the user whether a call may run."""
    return any(call.name == _CONFIRMATION and _original(call).get("id") == call_id for call in calls)


def _original(call: types.FunctionCall) -> JsonObject:
    original = (call.args or {}).get("originalFunctionCall")
    return original if isinstance(original, dict) else {}


def _unpacked(response: JsonObject) -> Any:
    """Read a reply that a front end sent as JSON in a text."""
    if set(response) == {"response"} and isinstance(response["response"], str):
        try:
            return json.loads(response["response"])
        except ValueError:
            return response
    return response


def _came_to(response: JsonObject) -> str:
    """Return what an agent that is a tool said at last: ADK wraps a text, and leaves an object as it is."""
    result = response.get("result")
    return (
        result if set(response) == {"result"} and isinstance(result, str) and result else canonical(response)
    )


def _call(call: types.FunctionCall) -> ScriptCall:
    own = call.id if call.id and not call.id.startswith(_MADE_BY_ADK) else ""
    return ScriptCall(name=call.name or "", args=dict(call.args or {}), id=own)


def _is_plain(part: types.Part) -> bool:
    """Return whether a part is no more than a text, or no more than a call."""
    held: Iterable[str] = part.model_dump(exclude_none=True).keys()
    return set(held) in ({"text"}, {"function_call"})


def _json(part: types.Part) -> JsonObject:
    written: JsonObject = part.model_dump(mode="json", exclude_none=True)
    return written
