"""Makes the script of a recorded session: played again with the same agent, it gives the same session."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from simulator.base.json_values import JsonObject
from simulator.environment.drafts.draft import Unsure
from simulator.environment.recordings import ObservedCall
from simulator.facts import (
    AgentRan,
    AgentSelected,
    CodeAnswered,
    Deferred,
    Fact,
    Failed,
    ModelAnswered,
    Raised,
    RaisedError,
    RecordingGiven,
    Returned,
    RulesChanged,
    SessionOpened,
    ToolAnswered,
    TurnEnded,
    TurnStarted,
)
from simulator.journal import Journal
from simulator.runtime import Simulation
from simulator.runtime.adk.adk_private import MADE_CALL_ID
from simulator.scripts.script import (
    SHAPING,
    AgentMove,
    Change,
    CodeMove,
    Entry,
    EnvironmentChange,
    Fails,
    RulesChange,
    Script,
    ScriptTurn,
    ToolMove,
)
from simulator.scripts.script_text import MisplacedError, ScriptError, asked_about, open_call
from simulator.seats.answers import raised
from simulator.session import OpenCall, SessionFold
from simulator.session.adk_event_fields import calls_in, message_responses, parts_of

_TRANSFER = "transfer_to_agent"


class _UnsaidError(Exception):
    """Something was answered that no line of a script can say; the text says what."""


def script_of(
    recorded: Journal | Simulation, *, agent: Literal["moves", "model"] = "moves", name: str = ""
) -> Script:
    """Make the script of a session, up to the journal's head.

    Each response of a tool is written down, except those of injection rules: the rules are in the script,
    and speak again. A real tool that did more than answer and change the state (it saved a file, ended a loop) is run
    again. A turn that ended because a model raised is one that is stopped there.

    Args:
        recorded: The session.
        agent: Whether the agent's moves are written down, or its own model plays again.
        name: What the script is about, in words.

    Raises:
        ScriptError: The session has no turn, or an answer in it cannot be said by a script; the text says which.
    """
    journal = recorded if isinstance(recorded, Journal) else recorded.journal
    writer = _Writer(moves=agent == "moves")
    for number, fact in journal.path():
        writer.take(number, fact)
    return writer.script(name)


class _Writer:
    def __init__(self, *, moves: bool) -> None:
        self._moves = moves
        self._fold = SessionFold()
        self._head: dict[str, Any] = {}
        self._before: list[Change] = []
        self._turns: list[dict[str, Any]] = []
        self._recorded: list[Fact] = []
        self._agents: set[str] = set()
        self._agents_ran: set[str] = set()

    def take(self, number: int, fact: Fact) -> None:
        """Take in the next fact."""
        match fact:
            case SessionOpened():
                self._head |= {"seed": fact.seed, "session_id": fact.session_id, "began": fact.at}
                self._head |= {"user_id": fact.user_id} if fact.user_id != "user" else {}
            case AgentSelected():
                self._head |= {"initial_state": fact.initial_state} if fact.initial_state else {}
                self._head |= {"earlier": fact.earlier} if fact.earlier else {}
            case TurnStarted():
                self._begin(fact)
            case ModelAnswered() | ToolAnswered() | AgentRan() | CodeAnswered():
                if isinstance(fact, AgentRan):
                    self._agents_ran.add(fact.call_id)
                self._recorded.append(fact)
                self._agents.add(fact.agent)
            case TurnEnded():
                self._end(fact)
            case RulesChanged():
                self._change(fact, RulesChange(rules=fact.rules))
            case _ if isinstance(fact, SHAPING):
                self._change(fact, EnvironmentChange(environment=fact.model_copy(update={"at": 0.0})))
            case _:
                pass
        self._fold.take(number, fact)

    def _change(self, fact: Fact, change: Change) -> None:
        if self._fold.is_running:
            self._recorded.append(fact)
        elif isinstance(change, RulesChange) and not self._turns:
            self._head["rules"] = change.rules
        else:
            self._before.append(change)

    def _begin(self, fact: TurnStarted) -> None:
        turn: dict[str, Any] = _said(fact, self._fold.session().open_calls)
        turn |= {"state_delta": fact.state_delta} if fact.state_delta else {}
        turn |= {"streaming": True} if fact.streaming else {}
        turn |= {"max_llm_calls": fact.max_llm_calls} if fact.max_llm_calls != 500 and "say" in turn else {}  # noqa: PLR2004 - the default of a turn
        turn["at"] = fact.at
        if self._before:
            turn["before"] = tuple(self._before)
        self._before = []
        self._turns.append(turn)

    def _end(self, fact: TurnEnded) -> None:
        turn = self._turns[-1]
        if fact.stopped or fact.error is not None:
            turn["ends"] = "stopped" if fact.stopped else "failed"
        self._write_moves()

    def _write_moves(self) -> None:
        turn, facts = self._turns[-1], self._recorded
        self._recorded = []
        ids = _ambiguous(facts)
        lines: list[Entry] = []
        for fact in facts:
            try:
                line = self._line(fact, ids)
            except _UnsaidError as unsaid:
                if "ends" not in turn:
                    raise ScriptError(f"turn {len(self._turns)}: {unsaid}") from None
                turn["ends"] = "stopped"
                break
            if line is not None:
                lines.append(line)
        if lines:
            turn["moves"] = tuple(lines)

    def _line(self, fact: Fact, ids: frozenset[str]) -> Entry | None:
        match fact:
            case ModelAnswered():
                return _move(fact) if self._moves else None
            case AgentRan():
                arguments: Any = {"args": fact.arguments} if fact.arguments else {}
                return ToolMove(tool=fact.tool_name, agent=fact.agent, real=True, **arguments)
            case ToolAnswered():
                # A rule answers again by itself, and changes again what an agent tool's agent says.
                by_rule = fact.provenance.source == "injected" and fact.provenance.by is not None
                by_itself = by_rule or fact.call_id in self._agents_ran
                return None if by_itself else _answer(fact, named=fact.call_id in ids)
            case CodeAnswered():
                return _printed(fact)
            case RulesChanged():
                return RulesChange(rules=fact.rules)
            case _:
                changed: Any = fact
                return EnvironmentChange(environment=changed.model_copy(update={"at": 0.0}))

    def script(self, name: str) -> Script:
        """Return the script of the facts so far."""
        if not self._turns:
            raise ScriptError("this session has no user message, so there is nothing to replay")
        if self._recorded:
            self._write_moves()  # of the turn in progress
        head = {"name": name} if name else {}
        head |= self._head | {"otherwise": "ask", "agent": "person" if self._moves else "model"}
        rules = {"rules": self._head["rules"]} if "rules" in self._head else {}
        head.pop("rules", None)
        several = len(self._agents) > 1
        _leave_out_answered(self._turns)
        turns = [turn if several else _nameless(turn) for turn in self._turns]
        return Script(**head, **rules, turns=tuple(ScriptTurn(**turn) for turn in turns))


def _leave_out_answered(turns: list[dict[str, Any]]) -> None:
    """Leave out the recorded calls that lines answer: a session that plays a case has the whole recording, and would hold them twice."""
    lines = [line for turn in turns for line in turn.get("moves", ()) if isinstance(line, ToolMove)]
    answered = Counter(_called(line.tool, line.args) for line in lines if line.answer() is not None)

    def left(entry: Entry | Change) -> Iterator[Entry | Change]:
        given = entry.environment if isinstance(entry, EnvironmentChange) else None
        if not isinstance(given, RecordingGiven) or not given.calls:
            yield entry
            return
        calls: list[ObservedCall] = []
        for call in given.calls:
            called = _called(call.tool_name, call.arguments)
            if not answered[called]:
                calls.append(call)
            answered[called] -= bool(answered[called])
        if calls:
            yield EnvironmentChange(environment=given.model_copy(update={"calls": tuple(calls)}))

    for turn in turns:
        for part in turn.keys() & {"before", "moves"}:
            turn[part] = tuple(each for entry in turn[part] for each in left(entry))


def _called(tool: str, arguments: JsonObject) -> str:
    return f"{tool} {json.dumps(arguments, sort_keys=True)}"


def _nameless(turn: dict[str, Any]) -> dict[str, Any]:
    """Leave out whose line each is, where there is only one agent."""
    if "moves" not in turn:
        return turn
    return {**turn, "moves": tuple(_without_agent(line) for line in turn["moves"])}


def _without_agent(line: Entry) -> Entry:
    if not isinstance(line, (AgentMove, ToolMove, CodeMove)):
        return line
    fields = {name: getattr(line, name) for name in line.model_fields_set - {"agent"}}
    return type(line)(**fields)


def _said(fact: TurnStarted, waiting: Iterable[OpenCall]) -> dict[str, Any]:
    if fact.purpose == "query":
        parts = parts_of(fact.message)
        text = parts[0].get("text") if len(parts) == 1 and parts[0].keys() == {"text"} else None
        return {"say": text if isinstance(text, str) and text.strip() else fact.message}
    response = message_responses(fact.message)[0]
    body, call_id = response.get("response"), response.get("id")
    waiting = tuple(waiting)
    call = next(each for each in waiting if each.call_id == call_id)
    turn: dict[str, Any] = {**_words(body, call), "tool": asked_about(call)}
    try:
        found = open_call(ScriptTurn(**turn), waiting)
    except MisplacedError:
        found = None
    return turn if found is not None and found.call_id == call_id else {**turn, "call_id": call_id}


def _words(body: Any, call: OpenCall) -> dict[str, Any]:
    plain = isinstance(body, dict) and isinstance(body.get("confirmed"), bool)
    if not (call.is_confirmation and plain) or body.keys() - {"confirmed", "payload"}:
        return {"reply": body}
    if "payload" not in body:
        return {"confirm": body["confirmed"]}
    if body["payload"] is None:
        return {"reply": body}
    return {"confirm": body["confirmed"], "payload": body["payload"]}


def _move(fact: ModelAnswered) -> AgentMove:
    if fact.error is not None:
        raise _UnsaidError(
            f"the model of {fact.agent} raised {fact.error.short_type}; a script cannot express that"
        )
    move = move_of(fact.agent, fact.responses)
    if move is None:
        raise _UnsaidError(
            f"the model of {fact.agent} gave several responses or an empty one; a script can only express one that is not empty"
        )
    return move


def move_of(agent: str, responses: Iterable[JsonObject]) -> AgentMove | None:
    """Write what a model answered (ADK's `LlmResponse`s in JSON) as a move of its agent; None where no move can say it."""
    complete = [response for response in responses if not response.get("partial")]
    contents = [response.get("content") for response in complete if not response.get("error_code")]
    if len(contents) != 1 or len(complete) != 1 or not (parts := parts_of(contents[0])):
        return None
    return AgentMove(agent=agent, **_compact([_own(part) for part in parts]))


def _own(part: Any) -> JsonObject:
    """Leave out an id that the studio made: with the same seed it is made again."""
    call = part.get("function_call")
    if not call or not str(call.get("id") or "").startswith(MADE_CALL_ID):
        return dict(part)
    return {**part, "function_call": {name: value for name, value in call.items() if name != "id"}}


def _compact(parts: list[JsonObject]) -> dict[str, Any]:
    """Say parts in the fewest words that say the same."""
    calls: list[Any] = [part["function_call"] for part in parts if part.keys() == {"function_call"}]
    texts = [part["text"] for part in parts if part.keys() == {"text"}]
    is_plain = all(
        call.keys() <= {"id", "name", "args"} and isinstance(call.get("args"), dict) for call in calls
    )
    in_order = len(texts) <= 1 and (not texts or (parts[0].keys() == {"text"} and texts[0]))
    if len(calls) + len(texts) != len(parts) or not is_plain or not in_order:
        return {"parts": tuple(parts)}
    if not texts and len(calls) == 1 and _is_transfer(calls[0]):
        return {"transfer": calls[0]["args"]["agent_name"]}
    said: dict[str, Any] = {"text": texts[0]} if texts else {}
    return said | ({"calls": tuple(calls)} if calls else {})


def _is_transfer(call: Any) -> bool:
    args = call["args"]
    plain = call.keys() == {"name", "args"} and call["name"] == _TRANSFER
    return (
        plain
        and args.keys() == {"agent_name"}
        and isinstance(args["agent_name"], str)
        and bool(args["agent_name"])
    )


def _answer(fact: ToolAnswered, *, named: bool) -> ToolMove:
    line: dict[str, Any] = {"tool": fact.tool_name}
    line |= {"args": fact.arguments} if fact.arguments else {}
    line["agent"] = fact.agent
    line |= {"call_id": fact.call_id} if named else {}
    effects = fact.effects
    if not effects.is_plain:
        return ToolMove(**line, real=True)
    unsure = Unsure(fact.provenance.blanks, fact.provenance.uncertain)
    return ToolMove(**line, **_outcome(fact), **effects.written, **unsure.written)


def _outcome(fact: ToolAnswered) -> dict[str, Any]:
    """Return what answered before the rules changed it: they change it again."""
    outcome = fact.beneath or fact.outcome
    match outcome:
        case Returned():
            return {"returns": outcome.value}
        case Failed():
            fields = {"error_code": outcome.error_code, "error_message": outcome.error_message}
            return {"fails": Fails(**fields, **({"details": outcome.details} if outcome.details else {}))}
        case Raised():
            return {"raises": _short(outcome.error) or outcome.error}
        case Deferred():
            return {"later": True}


def _short(error: RaisedError) -> str | None:
    """Write an exception in one line where that says all of it."""
    message = error.arguments[0] if len(error.arguments) == 1 else None
    module, _, kind = error.type.partition(":")
    if module != "builtins" or not kind.isidentifier() or not isinstance(message, str):
        return None
    same = message == message.strip() and raised(kind, message).outcome == Raised(error=error)
    return f"{kind}: {message}" if same else None


def _printed(fact: CodeAnswered) -> CodeMove:
    result = fact.result
    if result is None:
        raise _UnsaidError(f"the code of {fact.agent} raised; a script cannot express that")
    errors = {"errors": str(result["stderr"])} if result.get("stderr") else {}
    return CodeMove(prints=str(result.get("stdout") or ""), agent=fact.agent, **errors)


def _ambiguous(facts: Iterable[Fact]) -> frozenset[str]:
    """Find the calls that only their ids tell apart: same tool, same arguments, and not answered as they were asked."""
    asked: dict[str, int] = {}
    answered: dict[str, list[ToolAnswered]] = defaultdict(list)
    for fact in facts:
        if isinstance(fact, ModelAnswered):
            asked |= {
                str(call["id"]): len(asked) + place for place, call in enumerate(calls_in(fact.responses))
            }
        elif isinstance(fact, ToolAnswered):
            answered[repr((fact.tool_name, fact.agent, sorted(fact.arguments.items(), key=str)))].append(fact)
    found: set[str] = set()
    for alike in answered.values():
        order = [asked.get(fact.call_id, 0) for fact in alike]
        if order != sorted(order):
            found |= {fact.call_id for fact in alike}
    return frozenset(found)
