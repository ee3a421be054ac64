"""Turns a case into what a timeline shows: the entries of a session's history, and what only its recording knows of the steps. Pure.

As entries, two cases are set side by side as two branches are. The form of a case has no field for a rejected call, or for a result that came late.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeGuard

from evalset.editing.case_parts import (
    CallSeen,
    Case,
    CaseStep,
    Where,
    calls_of,
    field,
    listed,
    paired,
    steps_of,
    text_of,
    turns_of,
)
from evalset.recorded.recording import RecordedCall, RecordedCase, RecordedTurn, RejectedCall
from simulator.base.json_values import canonical
from simulator.environment.conventions.tool_roles import is_error
from simulator.session.adk_event_fields import message_text
from simulator.session.history import (
    AgentMessage,
    FinalResponse,
    HistoryEntry,
    ToolCall,
    ToolError,
    ToolOutput,
    UserQuery,
)


def case_history(case: Case, recorded: RecordedCase | None, *, with_agents: bool) -> tuple[HistoryEntry, ...]:
    """Return what happens in a case, in order; `with_agents` says whose calls and texts they are, where the case tells."""
    turns = range(len(turns_of(case)))
    steps = [step for turn in turns for _, _, step in steps_as_said(case, recorded, turn)]
    return tuple(_entry(step, step.author if with_agents else "") for step in steps)


def tells_agents(case: Case) -> bool:
    """Return whether each call of a case has its agent, as in the form with events."""
    turns = range(len(turns_of(case)))
    return all(step.author for turn in turns for step in steps_of(case, turn) if step.kind == "call")


def _entry(step: CaseStep, agent: str) -> HistoryEntry:
    match step.kind:
        case "query":
            return UserQuery(turn=step.turn, content=_text(step.value))
        case "text":
            return AgentMessage(turn=step.turn, agent=agent or "Agent", content=_text(step.value))
        case "final":
            return FinalResponse(turn=step.turn, agent="Final response", content=_text(step.value))
        case "call":
            arguments = field(step.value, "args")
            held = arguments if isinstance(arguments, dict) else {}
            return ToolCall(
                turn=step.turn, agent=agent, tool_name=step.name, arguments=held, call_id=_call_id(step)
            )
        case "response":
            return _answer(step, field(step.value, "response"))


def _answer(step: CaseStep, response: Any) -> ToolOutput | ToolError:
    if not is_error(response):
        return ToolOutput(turn=step.turn, call_id=_call_id(step), result=response)
    told = response if isinstance(response, dict) else {}
    is_plain = told.keys() == {"error_code", "error_message"}
    return ToolError(
        turn=step.turn,
        call_id=_call_id(step),
        error_type=str(told.get("error_code", "error")),
        error_message=str(told["error_message"]) if is_plain else canonical(response),
    )


def _call_id(step: CaseStep) -> str:
    """Return an id that a call has in common with the responses of its tool alone."""
    return f"{step.name} {step.call_id}"


def _text(value: Any) -> str:
    """Write a content, a list of its parts or one part; what is only thought, too."""
    has_parts = isinstance(value, dict) and "parts" in value
    content = value if has_parts else {"parts": value if isinstance(value, list) else [value]}
    return message_text(content) or text_of(value)


class StepNote(NamedTuple):
    """What a step of a case does not tell of itself: `words` is a sentence with texts from outside."""

    kind: Literal["rejected", "late"]
    words: str


def _is_of(recorded: RecordedCase | None, case: Case) -> TypeGuard[RecordedCase]:
    return recorded is not None and len(recorded.turns) == len(turns_of(case))


def step_notes(case: Case, recorded: RecordedCase | None, number: int) -> Mapping[Where, StepNote]:
    """Return what the recording knows of a turn's steps, by their places: none where it has other turns."""
    if not _is_of(recorded, case):
        return {}
    turn = recorded.turns[number]
    found: dict[Where, StepNote] = {}
    before = _said_before(turn)
    late = _late(steps_of(case, number), turn)
    for seen in (each for each in calls_of(case, number) if each.answers):
        where, name = seen.answers[-1].where, seen.call.name
        if _among(seen, turn.rejected):
            found[where] = StepNote("rejected", f"The user rejected the call of {name}.")
        elif seen in late:
            ended = f"the agent had ended the turn with: {before}" if before else "the turn had ended."
            found[where] = StepNote("late", f"The result of {name} came in a later message, after {ended}")
            before = ""
    return found


def steps_as_said(
    case: Case, recorded: RecordedCase | None, number: int
) -> Iterator[tuple[int, int, CaseStep]]:
    """Yield the steps of a turn in order, each with its place in `steps_of` and how many steps are played up to it.

    A text that the case lists behind all calls is where its recording has it, as far as that is known.
    """
    steps = steps_of(case, number)
    before = _before(steps, recorded.turns[number]) if _is_of(recorded, case) else {}
    for place, step in sorted(
        enumerate(steps), key=lambda each: (before.get(each[0], each[0]), each[0] not in before)
    ):
        yield place, before.get(place, place + 1), step


def _before(steps: Sequence[CaseStep], turn: RecordedTurn) -> dict[int, int]:
    """Return before which call or late result each listed text was said, as places among the steps; nothing where others were made than are recorded."""
    texts = [place for place, step in enumerate(steps) if "intermediate_responses" in step.where]
    calls = [place for place, step in enumerate(steps) if step.kind == "call"]
    late = [steps.index(seen.answers[-1]) for seen in _late(steps, turn)]
    made, before = 0, dict[int, int]()
    for model in (each for each in turn.models if not each.within):
        for response in model.responses:
            parts = [] if field(response, "partial") else listed(field(response, "content"), "parts")
            text = text_of([part for part in parts if not field(part, "thought")])
            said = [place for place in texts if place not in before and text_of(steps[place].value) == text]
            following = (late if model.put_off and late else calls[made:])[:1]
            if text and following:
                before.update(dict.fromkeys(said[:1], following[0]))
            made += sum(field(part, "function_call") is not None for part in parts)
        late = late[model.put_off :]
    return before if made == len(calls) else {}


def _late(steps: Sequence[CaseStep], turn: RecordedTurn) -> list[CallSeen]:
    """Return the calls whose results came in a later message."""
    calls = paired(
        [step for step in steps if step.kind == "call"], [step for step in steps if step.kind == "response"]
    )
    later = [call for call in turn.calls if call.later is not None]
    return [seen for seen in calls if seen.answers and _among(seen, later)]


def _among(seen: CallSeen, calls: Iterable[RecordedCall | RejectedCall]) -> bool:
    arguments = field(seen.call.value, "args", {})
    return any(
        call.id == seen.call.call_id
        if call.id and seen.call.call_id
        else (call.tool, call.arguments) == (seen.call.name, arguments)
        for call in calls
    )


def _said_before(turn: RecordedTurn) -> str:
    """Return what the agent said at first, when a late result was still to come."""
    contents = (field(each, "content") for model in turn.models if model.put_off for each in model.responses)
    return "\n".join(text for content in contents if (text := text_of(content)))
