"""Says what an edited set differs in from what was saved: a line for each case, and both texts of it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from evalset.editing.case_parts import Case, CaseStep, at, field, is_same, steps_of, turns_of
from evalset.editing.case_reviews import NO_REVIEW
from evalset.editing.set_work import EditedCase, SetWork, State
from evalset.recorded.recording import lean
from simulator.base.frozen_value import Value
from simulator.base.json_differences import ABSENT

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
    known, left = set(then.order), set(now.order)
    found: list[CaseChange] = []
    for key in now.order:
        if key not in known:
            found.append(_added(work, key))
        elif then.held.get(key) is not now.held.get(key) and (change := _changed(work, key)) is not None:
            found.append(change)
    found += [_removed(work, key, then) for key in then.order if key not in left]
    both = [key for key in now.order if key in known]
    return SetChanges(cases=tuple(found), reordered=both != [key for key in then.order if key in left])


def text_of_case(case: Case) -> str:
    """Write a case over several lines."""
    return json.dumps(case, indent=2, ensure_ascii=False)


def _eval_id(case: Case) -> str:
    return str(field(case, "eval_id", ""))


def _added(work: SetWork, key: str) -> CaseChange:
    held = work.held(key)
    return CaseChange(
        key=key,
        eval_id=_eval_id(held.case),
        kind="added",
        words=("new case",),
        after=text_of_case(held.case),
        recorded=held.recorded is not None or held.note.text != "" or bool(held.note.tags),
        reviewed=held.review != NO_REVIEW,
    )


def _removed(work: SetWork, key: str, then: State) -> CaseChange:
    held = work.held(key, then)
    return CaseChange(
        key=key,
        eval_id=_eval_id(held.case),
        kind="removed",
        words=("deleted",),
        before=text_of_case(held.case),
        recorded=held.recorded is not None,
        reviewed=held.review != NO_REVIEW,
    )


def _changed(work: SetWork, key: str) -> CaseChange | None:
    then, now = work.held(key, work.saved), work.held(key)
    if is_same(then.case, now.case) and then[1:] == now[1:]:
        return None
    words = list(differences(then.case, now.case))
    if then.note != now.note:
        words.append("note")
    if then.review != now.review:
        words.append("review")
    return CaseChange(
        key=key,
        eval_id=_eval_id(now.case),
        kind="changed",
        words=tuple(words) or ("recording",),
        before=_with_rest(then),
        after=_with_rest(now),
        recorded=then.recorded != now.recorded or then.note != now.note,
        reviewed=then.review != now.review,
    )


def _with_rest(held: EditedCase) -> str:
    """Write a case with what people say of it."""
    found = {"note": lean(held.note), "review": lean(held.review)}
    rest = [
        f"{name} {json.dumps(said, indent=2, ensure_ascii=False)}" for name, said in found.items() if said
    ]
    return "\n\n".join([text_of_case(held.case), *rest])


def differences(then: Case, now: Case) -> Iterator[str]:
    """Name what is different between two forms of a case, turn by turn."""
    if _eval_id(then) != _eval_id(now):
        yield f"eval id (was {_eval_id(then)})"
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
        _words(step) for step, was in zip(after, before, strict=True) if not is_same(step.value, was.value)
    ]
    rubrics = [at(case, ("conversation", number, "rubrics")) for case in (then, now)]
    if not _alike(*rubrics):
        found.append("rubrics")
    yield from found or ["JSON"]


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
