"""Carries out an edit inside of one case's raw JSON; everything that the edit does not name stays as it is. Pure."""

from __future__ import annotations

from typing import Any, assert_never

from evalset.editing.case_edits import (
    AddCall,
    InCase,
    MoveCall,
    MoveTurn,
    NoteCase,
    RemoveCall,
    RemoveTurn,
    RemoveValue,
    RenameCase,
    ReplaceCase,
    ReviewCase,
    SetCall,
    SetResponse,
    SetText,
    SetValue,
)
from evalset.editing.case_parts import (
    CallSeen,
    Case,
    EditError,
    Where,
    at,
    calls_of,
    field,
    is_plain_text,
    key_of,
    listed,
    named,
    put,
    turns_of,
    with_text,
)
from simulator.base.json_differences import ABSENT
from simulator.base.json_values import copied

_MADE = "call"


def edited(case: Case, edit: InCase) -> Case:  # noqa: C901, PLR0911, PLR0912 - one arm for each kind
    """Return the case as an edit makes it.

    Raises:
        EditError: The edit does not fit the case; the text names the place.
    """
    match edit:
        case SetText():
            return _set_text(case, edit)
        case SetValue():
            if not edit.where and not isinstance(edit.value, dict):
                raise EditError("a case must be a JSON object")
            return put(case, edit.where, copied(edit.value))
        case RemoveValue():
            _there(case, edit.where)
            return put(case, edit.where, ABSENT)
        case SetCall():
            return _set_call(case, edit)
        case SetResponse():
            held = _there(case, edit.where)
            where = (*edit.where, "response")
            return put(case, where, copied(edit.response)) if isinstance(held, dict) else case
        case AddCall():
            return _add_call(case, edit)
        case RemoveCall():
            return _remove_call(case, edit.where)
        case MoveCall():
            return _move_call(case, edit)
        case MoveTurn() | RemoveTurn():
            return _with_turns(case, edit)
        case RenameCase():
            return put(case, ("eval_id",), edit.eval_id)
        case NoteCase() | ReviewCase():
            return case
        case ReplaceCase():
            return put(copied(edit.value), ("eval_id",), at(case, ("eval_id",)))
        case never:
            assert_never(never)


def _set_text(case: Case, edit: SetText) -> Case:
    value = _there(case, edit.where)
    if not is_plain_text(value):
        raise EditError(f"{named(edit.where)} is not a single text; edit it as JSON")
    return put(case, edit.where, with_text(value, edit.text))


def _there(case: Case, where: Where) -> Any:
    value = at(case, where)
    if value is ABSENT:
        raise EditError(f"{named(where)} does not exist")
    return value


def _seen(case: Case, where: Where) -> tuple[list[CallSeen], int]:
    """Return the calls of the turn to which a place belongs, and which of them stands there."""
    if len(where) < 2 or where[0] != "conversation" or not isinstance(where[1], int):  # noqa: PLR2004 - a turn's place
        raise EditError(f"{named(where)} is not a call")
    if not 0 <= where[1] < len(turns_of(case)):
        raise EditError(f"{named(where[:2])} does not exist")
    calls = calls_of(case, where[1])
    place = next((number for number, seen in enumerate(calls) if seen.call.where == where), None)
    if place is None:
        raise EditError(f"{named(where)} is not a call")
    return calls, place


def _set_call(case: Case, edit: SetCall) -> Case:
    calls, place = _seen(case, edit.where)
    made = put(case, (*edit.where, "args"), copied(edit.arguments))
    made = put(made, (*edit.where, "name"), edit.name)
    for answer in calls[place].answers:
        made = put(made, (*answer.where, "name"), edit.name)
    return made


def _move_call(case: Case, edit: MoveCall) -> Case:
    calls, place = _seen(case, edit.where)
    other = place + edit.by
    if not 0 <= other < len(calls):
        raise EditError(
            f"{named(edit.where)} is already the {'first' if edit.by < 0 else 'last'} call of its turn"
        )
    one, two = calls[place], calls[other]
    made = put(put(case, one.call.where, two.call.value), two.call.where, one.call.value)
    if len(one.answers) == len(two.answers):
        for mine, theirs in zip(one.answers, two.answers, strict=True):
            made = put(put(made, mine.where, theirs.value), theirs.where, mine.value)
    return made


def _remove_call(case: Case, where: Where) -> Case:
    calls, place = _seen(case, where)
    gone = [calls[place].call, *calls[place].answers]
    made = case
    # From behind, so that the places of those before stay what they are.
    for step in sorted(gone, key=lambda each: tuple(map(str, _numbers(each.where))), reverse=True):
        if step.where[-1] in {"function_call", "function_response"}:
            made = _without_part(made, step.where[:-1])
        else:
            made = put(made, step.where, ABSENT)
    return made


def _numbers(where: Where) -> list[str]:
    return [f"{step:09d}" if isinstance(step, int) else step for step in where]


def _without_part(case: Case, where: Where) -> Case:
    """Take away a part, and its event where nothing else is in it."""
    made = put(case, where, ABSENT)
    if not at(made, where[:-1]):
        event = where[: where.index("content")]
        made = put(made, event, ABSENT)
    return made


def _add_call(case: Case, edit: AddCall) -> Case:
    if not 0 <= edit.turn < len(turns_of(case)):
        raise EditError(f"turn {edit.turn + 1} does not exist")
    made: Case = copied(case)
    turn = turns_of(made)[edit.turn]
    taken = {seen.call.call_id for seen in calls_of(case, edit.turn)}
    number = next(each for each in range(1, len(taken) + 2) if f"{_MADE}-{each}" not in taken)
    call_id = f"{_MADE}-{number}"
    call = {"id": call_id, "args": copied(edit.arguments), "name": edit.name}
    answer = None
    if edit.response is not None:
        answer = {"id": call_id, "name": edit.name, "response": copied(edit.response)}
    data = field(turn, "intermediate_data")
    if not isinstance(data, dict):
        data = turn[key_of(turn, "intermediate_data")] = {}
    events = field(data, "invocation_events")
    if events is None:
        _append(data, "tool_uses", call)
        if answer is not None:
            _append(data, "tool_responses", answer)
        return made
    authors = [str(field(event, "author", "")) for event in events]
    author = next((each for each in reversed(authors) if each and each != "user"), "agent")
    events.append({"author": author, "content": {"parts": [{"function_call": call}], "role": "model"}})
    if answer is not None:
        events.append(
            {"author": author, "content": {"parts": [{"function_response": answer}], "role": "user"}}
        )
    return made


def _append(held: dict[str, Any], name: str, value: Any) -> None:
    held[key_of(held, name)] = [*listed(held, name), value]


def _with_turns(case: Case, edit: MoveTurn | RemoveTurn) -> Case:
    turns = list(turns_of(case))
    if not 0 <= edit.turn < len(turns):
        raise EditError(f"turn {edit.turn + 1} does not exist")
    if isinstance(edit, RemoveTurn):
        if len(turns) == 1:
            raise EditError("a case needs at least one turn; delete the case instead")
        del turns[edit.turn]
    else:
        other = edit.turn + edit.by
        if not 0 <= other < len(turns):
            raise EditError(f"turn {edit.turn + 1} is already the {'first' if edit.by < 0 else 'last'} one")
        turns[edit.turn], turns[other] = turns[other], turns[edit.turn]
    return put(case, ("conversation",), copied(turns))
