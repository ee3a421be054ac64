"""Lets what belongs to a case follow an edit of it: its recording, and the comments of its review. Pure.

In the recording, the same answers, arguments, words and state stand then as in the case; what the edit did not touch stays as it was recorded. A comment
stays at its turn and its call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from evalset.editing.case_edits import MoveCall, MoveTurn, RemoveCall, RemoveTurn
from evalset.editing.case_parts import (
    CallSeen,
    Case,
    Where,
    at,
    calls_of,
    field,
    is_same,
    listed,
    steps_of,
    text_of,
    turns_of,
)
from evalset.editing.sidecars import CaseComment, CaseReview, call_of, step_of, turn_of
from evalset.recorded.golden_digests import changed_turn
from evalset.recorded.recording import Author, RecordedCall, RecordedCase, RecordedModelTurn, RecordedTurn
from simulator.base.adk_names import lasting
from simulator.base.json_paths import ABSENT
from simulator.base.json_values import JsonObject, copied
from simulator.environment.drafts.draft import Unsure, still_blank
from simulator.facts import Deferred, Returned

EDITED = Author(source="edited")
"""Who authored what a person has changed in an eval set."""

_START, _END = ("session_input", "state"), ("final_session_state",)


class _Pair(NamedTuple):
    """A call before and after an edit; None where it is not there."""

    before: CallSeen | None
    after: CallSeen | None


def followed(before: Case, after: Case, recorded: RecordedCase) -> RecordedCase | None:
    """Return what is recorded of a case after an edit that kept its turns; None where it has other turns than the case.

    What the edit did not touch stays as it was recorded.
    """
    counts = {len(turns_of(before)), len(turns_of(after)), len(recorded.turns)}
    if len(counts) > 1:
        return None
    turns = [_turn(before, after, number, turn) for number, turn in enumerate(recorded.turns)]
    changed: dict[str, Any] = {"turns": tuple(turns)} if tuple(turns) != recorded.turns else {}
    for name, where in (("state", _START), ("final_state", _END)):
        then, now = at(before, where), at(after, where)
        if not (then is ABSENT and now is ABSENT) and (
            then is ABSENT or now is ABSENT or not is_same(then, now)
        ):
            changed[name] = now if isinstance(now, dict) else None if where is _END else {}
    return recorded.model_copy(update=changed) if changed else recorded


def unsure_answers(case: Case, recorded: RecordedCase | None, number: int) -> dict[Where, Unsure]:
    """Return what nobody said of a turn's responses, by the place of each in the case; none where the recording has other turns."""
    if recorded is None or len(recorded.turns) != len(turns_of(case)):
        return {}
    calls, seen = recorded.turns[number].calls, calls_of(case, number)
    return {
        each.answers[-1].where: calls[place].author.unsure
        for each, place in zip(seen, _places(calls, seen), strict=True)
        if place is not None and each.answers
    }


def without_blanks(case: Case, recorded: RecordedCase, where: Where) -> RecordedCase:
    """Return what is recorded of a case once a person knows each value of the response at a place."""
    number = int(where[1])
    calls, seen = list(recorded.turns[number].calls), calls_of(case, number)
    for each, place in zip(seen, _places(calls, seen), strict=True):
        if place is not None and each.answers and each.answers[-1].where == where:
            author = EDITED.model_copy(update={"by": calls[place].author.by})
            calls[place] = calls[place].model_copy(update={"author": author})
    turns = list(recorded.turns)
    turns[number] = turns[number].model_copy(update={"calls": tuple(calls)})
    return recorded.model_copy(update={"turns": tuple(turns)})


def _turn(before: Case, after: Case, number: int, turn: RecordedTurn) -> RecordedTurn:
    if is_same(turns_of(before)[number], turns_of(after)[number]):
        return turn
    pairs = _pairs(calls_of(before, number), calls_of(after, number))
    changed: dict[str, Any] = {}
    query = field(turns_of(after)[number], "user_content")
    if isinstance(query, dict) and not is_same(field(turns_of(before)[number], "user_content"), query):
        changed["query"] = copied(query)
    places = _places(turn.calls, [pair.before for pair in pairs])
    calls = _calls(turn.calls, pairs, places)
    models = _models(turn.models, pairs)
    for then, now in _texts(before, after, number):
        models = [_reworded(model, then, now) for model in models]
    if tuple(calls) != turn.calls:
        changed["calls"] = tuple(calls)
    if tuple(models) != turn.models:
        changed["models"] = tuple(models)
    if not changed:
        return turn
    # What was recorded stays known: a verdict can tell an edit from a change of the agent then.
    return changed_turn(turn, {**changed, "original": turn.original or turn})


def _pairs(before: Sequence[CallSeen], after: Sequence[CallSeen]) -> list[_Pair]:
    """Find which call is which: by their ids, and where they have none by their order."""
    ids = [seen.call.call_id for seen in (*before, *after)]
    if all(ids) and len(set(ids[: len(before)])) == len(before):
        by_id = {seen.call.call_id: seen for seen in before}
        pairs = [_Pair(by_id.pop(seen.call.call_id, None), seen) for seen in after]
        return [*pairs, *(_Pair(seen, None) for seen in by_id.values())]
    left = list(before)
    pairs = []
    for seen in after:
        same = next((each for each in left if is_same(each.call.value, seen.call.value)), None)
        pairs.append(_Pair(same, seen))
        if same is not None:
            left.remove(same)
    for place, pair in enumerate(pairs):
        if pair.before is None and left and len(before) == len(after):
            pairs[place] = _Pair(left.pop(0), pair.after)
    return [*pairs, *(_Pair(seen, None) for seen in left)]


def _places(calls: Sequence[RecordedCall], seen: Iterable[CallSeen | None]) -> list[int | None]:
    """Find each call of a case among the recorded ones: by its id, else the first with its tool and arguments."""
    free = [place for place, call in enumerate(calls) if not call.within]
    found: list[int | None] = []
    for each in seen:
        place = None if each is None else _place_of(calls, free, each)
        if place is not None:
            free.remove(place)
        found.append(place)
    return found


def _place_of(calls: Sequence[RecordedCall], free: Sequence[int], seen: CallSeen) -> int | None:
    arguments = field(seen.call.value, "args", {})
    by_id = (place for place in free if seen.call.call_id and calls[place].id == seen.call.call_id)
    by_words = (
        place for place in free if calls[place].tool == seen.call.name and calls[place].arguments == arguments
    )
    return next(by_id, next(by_words, None))


def _calls(
    calls: Sequence[RecordedCall], pairs: Sequence[_Pair], places: Sequence[int | None]
) -> list[RecordedCall]:
    """Return the recorded calls as the case has them now: those that are no calls of the case stay where they are."""
    known = {place for place in places if place is not None}
    gone = {place for place, pair in zip(places, pairs, strict=True) if pair.after is None}
    mine: list[RecordedCall] = []
    for place, pair in zip(places, pairs, strict=True):
        if pair.after is not None and place is not None and pair.before is not None:
            mine.append(_call(calls[place], pair.before, pair.after))
        elif pair.after is not None and pair.before is None:
            mine.append(_new_call(pair.after))
    is_moved = [place for place in places if place is not None and place not in gone]
    if is_moved == sorted(is_moved) and len(mine) == len(is_moved):
        replaced = dict(zip(is_moved, mine, strict=True))
        return [replaced.get(place, call) for place, call in enumerate(calls) if place not in gone]
    kept = iter(mine)
    made = [next(kept, None) if place in known else call for place, call in enumerate(calls)]
    return [*(call for call in made if call is not None), *kept]


def _call(call: RecordedCall, before: CallSeen, after: CallSeen) -> RecordedCall:
    changed: dict[str, Any] = {}
    if after.call.name not in {call.tool, before.call.name}:
        changed["tool"] = after.call.name
    then, now = field(before.call.value, "args", {}), field(after.call.value, "args", {})
    if not is_same(then, now):
        changed["arguments"] = copied(now)
    answers = [_response(step) for step in before.answers], [_response(step) for step in after.answers]
    if not is_same(*answers):
        changed |= _answered(call, answers[1])
    return call.model_copy(update=changed) if changed else call


def _response(step: Any) -> JsonObject:
    found = field(step.value, "response", {})
    return found if isinstance(found, dict) else {"result": found}


def _answered(call: RecordedCall, answers: Sequence[JsonObject]) -> dict[str, Any]:
    """Return what the call is answered now: of two answers the later one is what came in a later message."""
    told = call.outcome.value if isinstance(call.outcome, Returned) else None
    then = call.later if call.later is not None else told
    left = {
        kind: still_blank(places, then, answers[-1]) if answers else ()
        for kind, places in call.author.unsure._asdict().items()
    }
    author = EDITED.model_copy(update={"by": call.author.by, **left})
    if not answers:
        return {"outcome": Deferred(), "later": None, "author": author}
    if isinstance(call.outcome, Deferred):
        return {"later": copied(answers[-1]), "author": author}
    return {"outcome": Returned(value=copied(answers[-1])), "beneath": None, "author": author}


def _new_call(seen: CallSeen) -> RecordedCall:
    answers = [_response(step) for step in seen.answers]
    return RecordedCall(
        id=seen.call.call_id,
        tool=seen.call.name,
        agent=seen.call.author,
        arguments=copied(field(seen.call.value, "args", {})),
        outcome=Returned(value=copied(answers[-1])) if answers else Deferred(),
        author=EDITED,
    )


def _models(models: Sequence[RecordedModelTurn], pairs: Sequence[_Pair]) -> list[RecordedModelTurn]:
    """Let the models call what the case says they call; a call that is gone is no longer made."""
    made = list(models)
    for pair in pairs:
        if pair.before is None:
            continue
        if pair.after is None:
            made = [_with_calls(model, pair.before, None) for model in made]
        elif not is_same(pair.before.call.value, pair.after.call.value):
            made = [_with_calls(model, pair.before, pair.after) for model in made]
    made = [
        model for model, then in zip(made, models, strict=True) if _says_something(model) or model is then
    ]
    both = [(pair.before, pair.after) for pair in pairs if pair.before and pair.after]
    places = [_numbers(before.call.where) for before, _ in both]
    is_moved = places != sorted(places)
    made = _reordered(made, [after for _, after in both]) if is_moved else made
    return _with_new(made, [pair.after for pair in pairs if pair.before is None and pair.after is not None])


def _with_new(models: list[RecordedModelTurn], calls: Sequence[CallSeen]) -> list[RecordedModelTurn]:
    """Let the agent that speaks last make new calls before it does, each in a turn of its own."""
    last = next((place for place in reversed(range(len(models))) if not models[place].within), None)
    if last is None:
        return models
    made = [
        RecordedModelTurn(
            agent=models[last].agent,
            responses=(
                {"content": {"role": "model", "parts": [{"function_call": copied(seen.call.value)}]}},
            ),
            author=EDITED,
        )
        for seen in calls
    ]
    return [*models[:last], *made, *models[last:]]


def _numbers(where: Where) -> list[int]:
    return [step for step in where if isinstance(step, int)]


def _reordered(models: Sequence[RecordedModelTurn], wanted: Sequence[CallSeen]) -> list[RecordedModelTurn]:
    """Let the models make their calls in another order: each where another one was made before."""
    left = list(enumerate(wanted))
    found: list[tuple[int, Any]] = []

    def noted(part: Any) -> list[Any]:
        call = field(part, "function_call")
        mine = next((each for each in left if call is not None and _is_it(call, each[1])), None)
        if mine is not None:
            left.remove(mine)
            found.append((mine[0], part))
        return [part]

    for model in models:
        _with_parts(model, noted)
    ordered = iter([part for _, part in sorted(found, key=lambda each: each[0])])
    known = [part for _, part in found]

    def placed(part: Any) -> list[Any]:
        return [next(ordered)] if any(part is each for each in known) else [part]

    return [_with_parts(model, placed) for model in models]


def _says_something(model: RecordedModelTurn) -> bool:
    return model.error is not None or any(
        listed(field(response, "content"), "parts") for response in model.responses
    )


def _with_calls(model: RecordedModelTurn, before: CallSeen, after: CallSeen | None) -> RecordedModelTurn:
    def changed(part: Any) -> list[Any]:
        call = field(part, "function_call")
        if call is None or not _is_it(call, before):
            return [part]
        if after is None:
            return []
        key = "function_call" if "function_call" in part else "functionCall"
        now = {**call, "name": after.call.name, "args": copied(field(after.call.value, "args", {}))}
        return [{**part, key: now}]

    return _with_parts(model, changed)


def _is_it(call: Any, seen: CallSeen) -> bool:
    call_id = field(call, "id", "")
    if call_id and seen.call.call_id:
        return bool(call_id == seen.call.call_id)
    same_name = field(call, "name", "") == seen.call.name
    return same_name and is_same(field(call, "args", {}), field(seen.call.value, "args", {}))


def _texts(before: Case, after: Case, number: int) -> list[tuple[str, str]]:
    """Return the words of the agents that have changed, before and after."""
    then, now = (
        [step for step in steps_of(case, number) if step.kind in {"text", "final"}]
        for case in (before, after)
    )
    if [step.where for step in then] != [step.where for step in now]:
        return []
    words = ((text_of(one.value), text_of(other.value)) for one, other in zip(then, now, strict=True))
    return [(one, other) for one, other in words if one and one != other]


def _reworded(model: RecordedModelTurn, then: str, now: str) -> RecordedModelTurn:
    def changed(part: Any) -> list[Any]:
        return [{**part, "text": now}] if field(part, "text") == then else [part]

    return _with_parts(model, changed)


def _with_parts(model: RecordedModelTurn, changed: Any) -> RecordedModelTurn:
    responses: list[JsonObject] = []
    for response in model.responses:
        content = field(response, "content")
        parts = listed(content, "parts")
        now = [part for each in parts for part in changed(each)]
        if isinstance(content, dict) and not is_same(parts, now):
            response = {**response, "content": {**content, "parts": now}}  # noqa: PLW2901 - the response as it is now
        responses.append(response)
    return (
        model
        if tuple(responses) == model.responses
        else model.model_copy(update={"responses": tuple(responses)})
    )


def split_recording(recorded: RecordedCase, turn: int) -> tuple[RecordedCase, RecordedCase]:
    """Part what is recorded of a case before a turn; the second begins with the state that the recorded answers lead to."""
    first, second = recorded.turns[:turn], recorded.turns[turn:]
    state = copied(recorded.state)
    for each in first:
        state.update(lasting(each.state_delta))
        for call in each.calls:
            state.update(lasting(call.effects.state_delta))
    return (
        recorded.model_copy(update={"turns": first, "final_state": state, "golden_state": ""}),
        recorded.model_copy(update={"turns": second, "state": copied(state), "golden_start": ""}),
    )


def joined_recording(first: RecordedCase, second: RecordedCase) -> RecordedCase:
    """Join what is recorded of two cases: the first begins, the second ends."""
    return first.model_copy(
        update={
            "turns": (*first.turns, *second.turns),
            "final_state": second.final_state,
            "golden_state": second.golden_state,
            "tools": {**first.tools, **second.tools},
            "tolerances": (
                *first.tolerances,
                *(each for each in second.tolerances if each not in first.tolerances),
            ),
        }
    )


Place = tuple[int, int | None]
"""A turn and a call of it, both from 0; None for the turn as a whole."""


def followed_review(review: CaseReview, before: Case, after: Case, edit: object) -> CaseReview:
    """Return a review after an edit of its case. The comments of a turn that is removed go with it."""
    match edit:
        case MoveTurn():
            swapped = {edit.turn: edit.turn + edit.by, edit.turn + edit.by: edit.turn}
            return _moved(review, before, after, lambda turn, call: (swapped.get(turn, turn), call))
        case RemoveTurn():
            return _moved(
                review, before, after,
                lambda turn, call: None if turn == edit.turn else (turn - (turn > edit.turn), call),
            )  # fmt: skip
        case MoveCall() | RemoveCall():
            return _of_call(review, before, after, edit)
        case _:
            return review


def _of_call(review: CaseReview, before: Case, after: Case, edit: MoveCall | RemoveCall) -> CaseReview:
    found = _call_at(before, edit.where)
    if found is None:
        return review
    its_turn, place = found
    swapped = {place: place + edit.by, place + edit.by: place} if isinstance(edit, MoveCall) else {}

    def moved(turn: int, call: int | None) -> Place:
        if turn != its_turn or call is None:
            return turn, call
        if isinstance(edit, MoveCall):
            return turn, swapped.get(call, call)
        return turn, None if call == place else call - (call > place)

    return _moved(review, before, after, moved)


def _call_at(case: Case, where: Where) -> tuple[int, int] | None:
    turn = where[1]
    if not isinstance(turn, int):
        return None
    calls = [seen.call.where for seen in calls_of(case, turn)]
    return (turn, calls.index(where)) if where in calls else None


def _moved(
    review: CaseReview, before: Case, after: Case, moved: Callable[[int, int | None], Place | None]
) -> CaseReview:
    """Put each comment where its step is now; one whose step the case had no more stays as it is."""
    made: list[CaseComment] = []
    for comment in review.comments:
        turn = turn_of(comment, before)
        if turn is None:
            made.append(comment)
            continue
        now = moved(turn, call_of(comment, before, turn))
        if now is not None:
            made.append(_at(comment, after, *now))
    return review.model_copy(update={"comments": tuple(made)})


def _at(comment: CaseComment, case: Case, turn: int, call: int | None) -> CaseComment:
    nowhere = {"turn": None, "invocation_id": "", "call": None, "call_id": ""}
    return comment.model_copy(update=nowhere | step_of(case, turn, call))


def split_review(review: CaseReview, before: Case, turn: int) -> tuple[CaseReview, CaseReview]:
    """Part a review as its case is parted before a turn; what is said of the case as a whole stays with the first."""
    first: list[CaseComment] = []
    second: list[CaseComment] = []
    for comment in review.comments:
        place = turn_of(comment, before)
        if place is None or place < turn:
            first.append(comment)
        else:
            second.append(comment.model_copy(update={"turn": place - turn + 1}))
    return (
        review.model_copy(update={"comments": tuple(first)}),
        review.model_copy(update={"comments": tuple(second)}),
    )


def joined_review(one: CaseReview, other: CaseReview, first: Case, second: Case) -> CaseReview:
    """Join the reviews of two cases of which the second follows the first; of two decisions that differ neither holds."""
    shift = len(turns_of(first))
    moved = [
        comment
        if (turn := turn_of(comment, second)) is None
        else comment.model_copy(update={"turn": turn + shift + 1})
        for comment in other.comments
    ]
    same = one.status == other.status
    status = one.status if same else "needs_review"
    reviewer = one.reviewer if one.reviewer == other.reviewer else ""
    return CaseReview(
        status=status,
        reviewer=reviewer,
        digest=one.digest if same else "",
        comments=(*one.comments, *moved),
    )
