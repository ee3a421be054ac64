"""Which steps of a case findings and the first divergence of a run are about, and the edit that changes a golden after it; no drawing here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from app.evalsets.run.verify_jobs import steps_before
from app.evalsets.set_context import PlayCase
from app.forms.form_reading import way_in_words
from app.live.agent_catalogue import catalogue
from evalset.editing.case_parts import Case, CaseStep, EditError, Where, steps_of, turns_of
from evalset.editing.case_texts import STEP_NAMES
from evalset.verify import accepting, repairing
from simulator.base import json_paths
from simulator.base.adk_names import snake

if TYPE_CHECKING:
    from app.evalsets.run.verify_tab import GoldenEdit, OpenAt
    from app.evalsets.set_context import SetContext
    from evalset.doctor import Finding
    from evalset.editing.case_edits import Edit
    from evalset.editing.set_work import EditedCase
    from evalset.verify.results import CaseResult


def _held(scene: SetContext, eval_id: str) -> EditedCase:
    """Return a case as it is edited; cases keep the key that they had in the file."""
    if eval_id not in scene.work.state.order:
        raise EditError(f"case {eval_id!r} is no longer in the set")
    return scene.work.held(eval_id)


def played_until(scene: SetContext, asked: OpenAt) -> PlayCase:
    """Say how far a case is played, so that a session stops before a step.

    Raises:
        ValueError: The set has no such case any more, or no such turn.
    """
    held = _held(scene, asked.eval_id)
    if asked.turn >= len(turns_of(held.case)):
        raise EditError(f"case {asked.eval_id!r} no longer has a turn {asked.turn + 1}")
    kinds = [step.kind for step in steps_of(held.case, asked.turn)]
    played = steps_before(asked.golden, asked.step, kinds)
    return PlayCase(agent=asked.agent, key=asked.eval_id, turn=asked.turn, steps=played)


def edit_of(scene: SetContext, asked: GoldenEdit) -> Callable[[], Edit]:
    """Return the work that makes the edit; it raises a ValueError where the golden cannot be changed like this.

    Raises:
        ValueError: The set has no such case any more.
    """
    held = _held(scene, asked.eval_id)

    def work() -> Edit:
        if asked.action == "accept":
            return accepting(held, asked.eval_id, asked.run)
        return repairing(held, asked.eval_id, catalogue().config_of_now(asked.agent))

    return work


_BODY = ({"args"}, {"response"}, {"content"})
"""The fields whose name says no more than the name of the step."""


class CaseFinding(NamedTuple):
    """A finding about a case, the place in words, and the step of the case that it is about; None where it is about none."""

    finding: Finding
    place: str
    where: Where | None = None


def case_findings(findings: Sequence[Finding], eval_set: Path, case: Case | None) -> list[CaseFinding]:
    """Return findings about a case, each once: those that the recording only repeats are left out.

    Args:
        findings: The findings.
        eval_set: The file of the case.
        case: The case as this file has it; None where that is not known.
    """
    told = [_told(each, case if each.file == eval_set else None) for each in findings]
    in_set = {_key(each) for each in told if each.finding.file == eval_set}
    return [each for each in told if each.finding.file == eval_set or _key(each) not in in_set]


def _key(told: CaseFinding) -> tuple[str, str, str]:
    return told.finding.code, told.finding.meaning, told.place.partition(",")[0]


def _told(finding: Finding, case: Case | None) -> CaseFinding:
    try:
        steps = json_paths.parse(finding.place).steps
    except json_paths.PathError:  # too long to be read
        return CaseFinding(finding, finding.place)
    way = tuple(each for each in steps if isinstance(each, (int, str)))[2:]
    match way:
        case ("conversation" | "turns", int(turn), *rest):
            step = _step_at(case, turn, way) if case is not None and turn < len(turns_of(case)) else None
            more = rest if step is None else way[len(step.where) :]
            if step is not None and {*more[:1]} in _BODY:
                more = more[1:]
            name = f"{STEP_NAMES[step.kind]} {step.name}".strip() if step is not None else ""
            words = ", ".join(filter(None, (f"turn {turn + 1}", name, way_in_words(tuple(more)))))
            return CaseFinding(finding, words, step.where if step is not None else None)
    return CaseFinding(finding, way_in_words(way) or "the case")


def _step_at(case: Case, turn: int, way: Where) -> CaseStep | None:
    spelt = [_spelt(each) for each in way]
    return next(
        (step for step in steps_of(case, turn) if spelt[: len(step.where)] == [*map(_spelt, step.where)]),
        None,
    )


def _spelt(step: str | int) -> str | int:
    return snake(step) if isinstance(step, str) else step


def diverging_steps(result: CaseResult, case: Case) -> Iterator[Where]:
    """Yield the step of a case at which its first run that failed goes another way, where the case has that step."""
    found = next((run.divergence for run in result.runs if run.divergence is not None), None)
    if found is None or not found.turn < min(len(result.golden), len(turns_of(case))):
        return
    golden, steps = result.golden[found.turn], steps_of(case, found.turn)
    if found.step < len(golden) and golden[found.step].kind != "state":
        is_query = golden[found.step].kind == "query"
        place = 0 if is_query else steps_before(golden, found.step, [step.kind for step in steps])
        yield from (step.where for step in steps[place : place + 1])
