"""Says what an edited set differs in from what was saved: a line for each case, and both texts of it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from evalset.editing.case_parts import Case, CaseStep, at, field, is_same, put, steps_of, turns_of
from evalset.editing.set_work import EditedCase, SetWork, UnsavedCase
from evalset.recorded.recording import lean, unsure_in
from simulator.base.frozen_value import Value
from simulator.base.json_paths import ABSENT
from simulator.environment.drafts.blanks import SURE

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
