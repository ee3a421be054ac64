"""Drafts the answer to a tool call, offline, out of the best evidence of what the tool answers."""

from __future__ import annotations

from pydantic import JsonValue

from simulator.base.json_values import copied
from simulator.environment.conventions.tool_verbs import EarlierAnswer
from simulator.environment.drafts.blanks import is_guess
from simulator.environment.drafts.draft_attempt import Try
from simulator.environment.drafts.draft_request import NO_SOURCES, Draft, DraftCall, Sources
from simulator.environment.drafts.evidence_drafts import Parts
from simulator.environment.schema.schema_checks import Problem

__all__ = ["Draft", "DraftCall", "EarlierAnswer", "Sources", "draft", "drafted"]


def draft(call: DraftCall) -> JsonValue:
    """Draft an answer out of the call and the answers before it; the same call always gets the same draft."""
    return drafted(call).value


def drafted(call: DraftCall, sources: Sources = NO_SOURCES) -> Draft:
    """Draft an answer and say where it comes from; the same call and sources always give the same draft.

    The first of these that applies: an error for a required argument that is missing; the next answer that was recorded
    for this very call, unless what it names is gone; the earlier answer, where the very same question was asked and
    nothing was changed since; an error for a thing that does not exist, or what the tool's code says of it for certain; the last
    answer that was recorded for this very call; the earlier answer, marked where calls may have changed it since, unless the tool's code says all; what the tool's code returns; the example in its description; what its output schema asks for; the rows of
    known tables that the arguments ask for; the shape of its earlier answers; and then a skeleton. What the session knows
    of the things in it stands in whatever shape that gives, and what nothing is known of is blank.
    """
    parts = Parts(call, sources)
    return draft_of(parts, best(parts))


def draft_of(parts: Parts, made: Try) -> Draft:
    """Return the answer that the best evidence gives as a draft."""
    value: JsonValue = copied(made.value)
    problems = parts.problems(value)
    if problems and parts.hopeless:
        problems = (Problem(path="$", message=f"no draft could be generated: {parts.hopeless}"), *problems)
    return Draft(
        value=value,
        why=made.why,
        is_guess=is_guess(made.blanks),
        blanks=made.blanks,
        varies=made.varies,
        problems=problems,
        effects=made.effects,
    )


def best(parts: Parts) -> Try:
    """Return the answer that the best evidence gives."""
    return (
        parts.refused()
        or (None if parts.names_what_is_gone() else parts.recorded(again=False))
        or parts.repeated()
        or parts.not_found()
        or parts.recorded(again=True)
        or parts.as_before()
        or parts.by_code()
        or parts.with_effects(
            parts.described()
            or parts.declared()
            or parts.of_rows()
            or parts.in_shape()
            or parts.by_schema()
            or parts.skeleton()
        )
    )
