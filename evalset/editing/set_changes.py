"""Shows cases and what an edited set differs in from what was saved. Pure.

`case_history` turns a case into what a timeline shows: the entries of a session's history, and what only its recording knows of the steps. As entries, two cases are set side by side as
two branches are. The form of a case has no field for a rejected call, or for a result that came late. `changes` has a line for each case of a set, and both texts of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypeGuard

from evalset.editing.case_parts import (
    CallSeen,
    Case,
    CaseStep,
    Where,
    at,
    calls_of,
    field,
    is_same,
    listed,
    paired,
    put,
    steps_of,
    text_of,
    turns_of,
)
from evalset.editing.set_work import EditedCase, SetWork, UnsavedCase
from evalset.recorded.recording import RecordedCall, RecordedCase, RecordedTurn, RejectedCall, lean, unsure_in
from simulator.base.frozen_value import Value
from simulator.base.json_paths import ABSENT
from simulator.base.json_values import canonical
from simulator.environment.conventions import is_error
from simulator.environment.drafts.draft import SURE
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


ChangeKind: TypeAlias = Literal["added", "removed", "changed"]


class CaseChange(Value):
    """What is different in one case.

    Attributes:
        key: The case.
        eval_id: Its eval id; that from before where it is gone.
        kind: What became of it.
        words: What is different, each in a few words; names of tools come from outside.
        before: Its JSON as it was saved, over several lines; empty where it is new.
        after: Its JSON now; empty where it is gone.
        recorded: Whether what is recorded or noted beside the set changes with it.
        reviewed: Whether its review changes, which has a file of its own.
    """

    key: str
    eval_id: str
    kind: ChangeKind
    words: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    recorded: bool = False
    reviewed: bool = False


class SetChanges(Value):
    """The changes that a save would make: the cases, and whether they stand in another order."""

    cases: tuple[CaseChange, ...] = ()
    reordered: bool = False

    @property
    def any(self) -> bool:
        """Whether anything is different."""
        return bool(self.cases) or self.reordered


def changes(work: SetWork) -> SetChanges:
    """Return what is different between what was saved last, or opened, and now."""
    then, now = work.saved, work.state
    if then is now:
        return SetChanges()
    found = [change for unsaved in work.unsaved() if (change := _change(unsaved)) is not None]
    known, left = set(then.order), set(now.order)
    both = [key for key in now.order if key in known]
    return SetChanges(cases=tuple(found), reordered=both != [key for key in then.order if key in left])


def text_of_case(case: Case) -> str:
    """Write a case over several lines."""
    return json.dumps(case, indent=2, ensure_ascii=False)


_NOT_THERE = EditedCase({})


def _change(unsaved: UnsavedCase) -> CaseChange | None:
    """Return what is different in a case; None where it says the same again."""
    then, now = unsaved.then or _NOT_THERE, unsaved.now or _NOT_THERE
    if is_same(then.case, now.case) and then[1:] == now[1:]:
        return None
    kind: ChangeKind = "added" if unsaved.then is None else "removed" if unsaved.now is None else "changed"
    text_of = _with_rest if kind == "changed" else lambda held: text_of_case(held.case)
    return CaseChange(
        key=unsaved.key,
        eval_id=(unsaved.now or then).eval_id,
        kind=kind,
        words=_WORDS.get(kind) or tuple(_differences(then, now)) or ("recording",),
        before=text_of(then) if unsaved.then else "",
        after=text_of(now) if unsaved.now else "",
        recorded=then.recorded != now.recorded or then.note != now.note,
        reviewed=then.review != now.review,
    )


_WORDS: Mapping[ChangeKind, tuple[str, ...]] = {"added": ("new case",), "removed": ("deleted",)}


def _differences(then: EditedCase, now: EditedCase) -> Iterator[str]:
    yield from differences(then.case, now.case)
    if _unsure(then) != _unsure(now):
        yield "blanks"
    if then.note != now.note:
        yield "note"
    if then.review != now.review:
        yield "review"


def _with_rest(held: EditedCase) -> str:
    """Write a case with what people say of it, and what nobody has said."""
    found = {"note": lean(held.note), "review": lean(held.review)}
    rest = [
        f"{name} {json.dumps(said, indent=2, ensure_ascii=False)}" for name, said in found.items() if said
    ]
    return "\n\n".join([text_of_case(held.case), *rest, *_unsure(held)])


def _unsure(held: EditedCase) -> tuple[str, ...]:
    unsure = unsure_in(held.recorded) if held.recorded is not None else SURE
    return (*unsure.blanks, *unsure.uncertain)


def differences(then: Case, now: Case) -> Iterator[str]:
    """Name what is different between two forms of a case, turn by turn."""
    was, eval_id = (str(field(case, "eval_id", "")) for case in (then, now))
    if was != eval_id:
        yield f"eval id (was {was})"
    before, after = turns_of(then), turns_of(now)
    if len(before) != len(after):
        yield f"turns: {len(before)} → {len(after)}"
    for number in range(min(len(before), len(after))):
        if not is_same(before[number], after[number]):
            yield from (f"turn {number + 1}: {words}" for words in _of_turn(then, now, number))
    named = {
        "rubrics": "rubrics",
        "final_session_state": "final state",
        "conversation_scenario": "scenario",
        "session_input": "initial state",
    }
    for name, words in named.items():
        if not _alike(at(then, (name,)), at(now, (name,))):
            yield words
    known = {"eval_id", "evalId", "conversation", *named}
    for name in {**then, **now}:
        is_named = name in known or any(_spelt(name, each) for each in known)
        if not is_named and not _alike(then.get(name, ABSENT), now.get(name, ABSENT)):
            yield name


def _spelt(name: str, known: str) -> bool:
    return name.replace("_", "").casefold() == known.replace("_", "").casefold()


def _alike(one: Any, other: Any) -> bool:
    if one is ABSENT or other is ABSENT:
        return one is other
    return is_same(one, other)


def _of_turn(then: Case, now: Case, number: int) -> Iterator[str]:
    before, after = steps_of(then, number), steps_of(now, number)
    if [_place(step) for step in before] != [_place(step) for step in after]:
        calls = [sum(step.kind == "call" for step in steps) for steps in (before, after)]
        yield f"calls: {calls[0]} → {calls[1]}" if calls[0] != calls[1] else "steps"
        return
    found = [
        _words(step) for step, was in zip(after, before, strict=True) if not is_same(_said(step), _said(was))
    ]
    rubrics = [at(case, ("conversation", number, "rubrics")) for case in (then, now)]
    if not _alike(*rubrics):
        found.append("rubrics")
    yield from found or ["JSON"]


def _said(step: CaseStep) -> Any:
    """Return what a step says: the id of a call is none of it, as each session counts its own."""
    return put(step.value, ("id",), ABSENT) if isinstance(step.value, dict) else step.value


def _place(step: CaseStep) -> tuple[str, Any]:
    return step.kind, step.where


def _words(step: CaseStep) -> str:
    match step.kind:
        case "query":
            return "user message"
        case "call":
            return f"call {step.name}"
        case "response":
            return f"response of {step.name}"
        case "final":
            return "final response"
        case "text":
            return "agent text"
