"""Describes a tool call that waits for a person, with its drafts; and refuses answers that contradict the world."""

from __future__ import annotations

from typing import Any

from simulator.environment.things.entities import Contradiction
from simulator.facts import Outcome
from simulator.jsonvalue import copied
from simulator.runtime.boundaries import ToolBoundaryCall
from simulator.runtime.engine import Engine
from simulator.runtime.errors import ContradictionError
from simulator.runtime.firing import as_response
from simulator.runtime.generating import world_call
from simulator.runtime.outcomes import breach_of
from simulator.runtime.waiting import Waiting
from simulator.seats.requests import ToolRequest


def tool_request(engine: Engine, waiting: Waiting[ToolBoundaryCall], turn: int) -> ToolRequest:
    """Describe a call as a person reads it; what a model drafted stands before the offline draft."""
    call, drafts = waiting.call, engine.drafting.offline(waiting)
    proposed = engine.journal.fold.drafted(waiting.key)
    draft, by, made_of = drafts.draft, "offline", drafts.sources
    if waiting.held is not None:
        draft, by, made_of = waiting.held, waiting.held_by, waiting.held_from
    elif proposed is not None and not proposed.reason:
        draft, by, made_of = proposed.value, proposed.by, proposed.notes
    return ToolRequest(
        key=waiting.key,
        turn=turn,
        call_id=str(call.context.function_call_id or waiting.key),
        agent=waiting.agent,
        tool_name=waiting.name,
        arguments=copied(waiting.arguments),
        description=drafts.tool.description,
        parameters=drafts.tool.parameters,
        response_schema=drafts.tool.response,
        draft=copied(draft),
        draft_by=by,
        draft_from=made_of,
        draft_problem=proposed.reason if proposed else "",
        drafting=waiting.progress,
        candidates=engine.drafting.candidates(waiting),
        note=waiting.note,
        is_long_running=bool(call.tool.is_long_running),
        may_have_run=waiting.may_have_run,
        would_answer=waiting.would_answer,
        misses=waiting.firing.misses,
        modifiers=tuple(rule.label or rule.rule_id for rule in waiting.firing.modifiers),
    )


def against(engine: Engine, key: str, outcome: Outcome) -> tuple[Contradiction, ...]:
    """Say what an answer to the call with this key would contradict: the world, or the output schema that a person has set.

    Nothing where it waits no more.
    """
    waiting = engine.run.unanswered(key) if engine.run else None
    if waiting is None or not isinstance(waiting.call, ToolBoundaryCall):
        return ()
    return _contradicted(engine, waiting, outcome)


def _contradicted(
    engine: Engine, waiting: Waiting[ToolBoundaryCall], outcome: Outcome
) -> tuple[Contradiction, ...]:
    if outcome.kind not in {"returned", "failed"}:
        return ()
    known = engine.desk.up_to_date()
    found = known.against(world_call(waiting, as_response(outcome)))
    broken = breach_of(outcome, known.output_schema(waiting.name))
    return (*found, Contradiction(what=f"the answer {broken}")) if broken else found


def is_outdated(engine: Engine, waiting: Waiting[Any]) -> bool:
    """Tell whether a draft was made before the latest answer: what is shown follows from the journal alone."""
    return isinstance(waiting.shown, ToolRequest) and waiting.drafted_at != engine.desk.up_to_date().learned


def refuse_contradictions(engine: Engine, waiting: Waiting[ToolBoundaryCall], outcome: Outcome) -> None:
    """Hold an answer against the world, and against the output schema that a person has set.

    Raises:
        ContradictionError: It contradicts an invariant, what was said before, or that schema.
    """
    if found := _contradicted(engine, waiting, outcome):
        raise ContradictionError(waiting.name, found)
