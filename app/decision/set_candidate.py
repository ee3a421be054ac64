"""Makes a candidate for a tool call of what the cases of an eval set have recorded of the tool."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, cast

from pydantic import JsonValue

from app.decision.golden_candidate import of_outcome
from simulator.base.json_paths import WHOLE, JsonDifference, differing, field_place, item_place
from simulator.base.json_values import JsonObject, canonical, same
from simulator.environment.conventions import UNSURE, is_identifier, role_of
from simulator.environment.drafts.candidates import Candidate
from simulator.environment.drafts.draft import blanks_of
from simulator.environment.recordings import NO_EFFECTS, nearest
from simulator.environment.schema.schema_checks import check
from simulator.facts import Returned
from simulator.seats.requests import ToolRequest

if TYPE_CHECKING:
    from app.decision.decision_context import Surroundings
    from evalset.recorded.recording import Author
    from simulator.environment.recordings import Near, ObservedCall
    from simulator.session.history import ToolCall

IN_SET = "Recorded in another case"
_MOST_BYTES = 4_000_000
"""A longer recording is not read: the page would wait for it."""


class SetCase(NamedTuple):
    """What the cases of a set have recorded for a call; `is_exact`: all that were asked exactly this respond exactly this."""

    candidate: Candidate
    is_exact: bool

    def as_draft(self, request: ToolRequest, around: Surroundings) -> ToolRequest | None:
        """Return the call with the recorded response as its draft; None where the session itself decides that, or the response is not sure."""
        case, decides = self.candidate, not request.draft_blanks or request.draft_by != "offline"
        if not self.is_exact or decides or case.blanks or case.problems:
            return None
        mine = {name: value for name, value in request.arguments.items() if is_identifier(name)}
        if any(_may_decide(one, request, mine) for one in around.calls) or around.against(
            request.key, Returned(value=case.value)
        ):
            return None
        return request.model_copy(
            update={
                "draft": case.value,
                "draft_from": (f"{IN_SET}: {case.why.removeprefix('From ')}",),
                "draft_blanks": (),
                "draft_varies": False,
                "draft_effects": case.effects if case.effects.written else request.draft_effects,
                "candidates": (case, *(one for one in request.candidates if not same(one.value, case.value))),
            }
        )


def _may_decide(done: ToolCall, request: ToolRequest, mine: JsonObject) -> bool:
    """Return whether an earlier call is the same, or may have changed what a call is about, whose ids are `mine`."""
    if done.tool_name == request.tool_name and same(done.arguments, request.arguments):
        return True
    role, kind = role_of(done.tool_name), role_of(request.tool_name, request.description).kind
    ids = [value for name, value in done.arguments.items() if is_identifier(name)]
    if role.use == "reads":
        return False
    if ids and mine:
        return any(same(one, other) for one in ids for other in mine.values())
    return role.why == UNSURE or role.kind in {"", kind}


class _Recording(NamedTuple):
    """The recorded environment of a set as it is now: each is read once."""

    eval_set: str
    changed: int


def set_candidate(eval_set: str, request: ToolRequest) -> SetCase | None:
    """Return what a case of a set recorded for the nearest call of a tool, with the case as its source; None where none did."""
    from evalset.recorded.recording_files import sidecar_of  # noqa: PLC0415 - not before a call waits

    try:
        found = sidecar_of(eval_set).stat() if eval_set else None
    except (OSError, ValueError):  # there is none yet, or the path is none
        return None
    if found is None or found.st_size > _MOST_BYTES:
        return None
    recording = _Recording(eval_set, found.st_mtime_ns)
    known = _nearest(recording, request.tool_name, canonical(request.arguments))
    if known is None:
        return None
    author, near, is_exact = known
    schema, effects = request.response_schema, near.call.effects or NO_EFFECTS
    others = [one for one in differing(near.call.arguments, request.arguments) if _tells(one.left)]
    unsure = list(author.uncertain)
    response = _for_this_call(near.call.response, others, unsure)
    state = {
        name: _for_this_call(value, others, [], name=name) for name, value in effects.state_delta.items()
    }
    blanks = blanks_of(author.blanks, dict.fromkeys(unsure))
    candidate = Candidate(
        label="case",
        title=IN_SET,
        why=f"From {': '.join(filter(None, (near.call.place, '; '.join(near.differs))))}",
        blanks=blanks,
        problems=() if schema is None else check(response, schema),
        effects=effects.model_copy(update={"state_delta": state}),
        **of_outcome(Returned(value=response)),
    )
    return SetCase(candidate, is_exact)


def _tells(argument: object) -> bool:
    """Return whether an argument is a text or a number, which can be found again in a response."""
    return isinstance(argument, (str, int, float)) and not isinstance(argument, bool) and argument != ""


def _for_this_call(
    value: JsonValue, others: Sequence[JsonDifference], unsure: list[str], path: str = WHOLE, name: str = ""
) -> JsonValue:
    """Return what was recorded with the arguments of this call in the fields that are named like `others`, those that differ.

    Where another field has the recorded argument, it stays, and its path is added to `unsure`.
    """
    if isinstance(value, dict):
        return {
            key: _for_this_call(one, others, unsure, field_place(path, key), key)
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [
            _for_this_call(one, others, unsure, item_place(path, at), name) for at, one in enumerate(value)
        ]
    found = [one for one in others if same(one.left, value)]
    for one in found:
        if _tells(one.right) and one.place.rpartition(".")[2] == name:
            return cast("JsonValue", one.right)
    if found:
        unsure.append(path)
    return value


@lru_cache(maxsize=256)
def _nearest(recording: _Recording, tool_name: str, arguments: str) -> tuple[Author, Near, bool] | None:
    known = [one for one in _calls(recording) if one[1].tool_name == tool_name]
    asked = json.loads(arguments)
    found = nearest([call for _, call in known], tool_name, asked, n=1)
    exact = [call.response for _, call in known if same(call.arguments, asked)]
    is_exact = bool(exact) and all(same(one, exact[0]) for one in exact)
    return (known[found[0].index][0], found[0], is_exact) if found else None


@lru_cache(maxsize=4)
def _calls(recording: _Recording) -> tuple[tuple[Author, ObservedCall], ...]:
    from evalset.recorded.recorded_turns import real_calls  # noqa: PLC0415 - not before a call waits
    from evalset.recorded.recording_files import (  # noqa: PLC0415 - as above
        RecordedEnvironmentError,
        read_environment,
        sidecar_of,
    )

    try:
        cases = read_environment(sidecar_of(recording.eval_set)).cases
    except (OSError, RecordedEnvironmentError):  # Verify and the doctor say so
        return ()
    found = (one for name, case in cases.items() for one in real_calls(name, case))
    return tuple(one for one in found if one[0].source != "injected")
