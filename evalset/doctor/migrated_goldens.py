"""Brings the digests of goldens in a recorded environment to new names, so that an edit by hand is still noticed after a migration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalset.doctor.byte_edits import Edit, Remove, Replace
from evalset.doctor.case_checks import ToolPlace, in_recorded_turn
from evalset.doctor.json_nodes import JsonNode
from evalset.doctor.model import Migration
from evalset.recorded.golden_digests import DIGESTED, digests_of, value_digest

_TRANSFER = "transfer_to_agent"


def turns_of(case: JsonNode) -> Iterator[JsonNode]:
    """Yield the turns of a recorded case, and behind each what it was before it was edited."""
    for turn in case.items("turns"):
        yield turn
        if (original := turn.field("original")) is not None:
            yield original


def digest_edits(before: Any, after: Any, migration: Migration) -> Iterator[Edit]:
    """Yield the edits of the digests: of calls that the migration has changed, and of no others.

    What a digest is of is only known where a recorded call has it. Where none has, and the call's arguments are others now, nobody can tell
    the new one, and the digests of that turn go.

    Args:
        before: The recorded environment before the migration.
        after: The same after it, but for the digests.
        migration: What changed.
    """
    cases = JsonNode(before).field("cases") or JsonNode(None)
    for name, case in cases.members.items():
        now = JsonNode(after["cases"][name], ("cases", name))
        for turn, turn_now in zip(turns_of(JsonNode(case)), turns_of(now), strict=True):
            yield from _of_turn(turn, turn_now, migration)


def _of_turn(turn: JsonNode, now: JsonNode, migration: Migration) -> Iterator[Edit]:
    if (golden := now.field("golden")) is None:
        return
    places = [pair for each in _states(turn, now) for pair in each]
    digests = {_digest(old): _digest(new) for old, new in places}
    names = {**migration.tools, **{old.name: new.name for old, new in places}}
    edits = list(_recorded(turn, now, golden))
    for call in golden.items("calls"):
        tool, arguments = call.text("tool"), call.text("arguments")
        known = digests.get((tool, arguments))
        if known is None and (tool in migration.touched or (migration.agents and tool == _TRANSFER)):
            yield Remove(golden.path)
            return
        for field, new in zip(
            ("tool", "arguments"), known or (names.get(tool, tool), arguments), strict=True
        ):
            if new != call.text(field):
                edits.append(Replace((*call.path, field), new))
    yield from edits


def _recorded(turn: JsonNode, now: JsonNode, golden: JsonNode) -> Iterator[Edit]:
    """Yield the edits of the digests of what is recorded; one that was wrong before stays so, as an edit by hand does."""
    before, after = (
        digests_of({name: [each.members for each in state.items(name)] for name in DIGESTED})
        for state in (turn, now)
    )
    for held, new in after.items():
        noted = golden.text(held).split()
        pairs = list(zip(noted, before[held].split(), new.split(), strict=False))
        digests = " ".join(is_now if then == was else was for was, then, is_now in pairs)
        if len(pairs) == len(noted) and digests != golden.text(held):
            yield Replace((*golden.path, held), digests)


def _states(turn: JsonNode, now: JsonNode) -> Iterator[Iterator[tuple[ToolPlace, ToolPlace]]]:
    """Yield the calls of a turn before and after the migration, as they are and as they were recorded."""
    yield zip(in_recorded_turn(turn), in_recorded_turn(now), strict=True)
    original, original_now = turn.field("original"), now.field("original")
    if original is not None and original_now is not None:
        yield zip(in_recorded_turn(original), in_recorded_turn(original_now), strict=True)


def _digest(place: ToolPlace) -> tuple[str, str]:
    return place.name, value_digest(place.arguments.value if place.arguments else {})
