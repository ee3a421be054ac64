"""Says how an invariant stands, and which ones could be asked of what is known. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from app.environment.world_rows import column_kind
from simulator.environment.conventions.entity_kinds import id_kind

if TYPE_CHECKING:
    from simulator.environment.world.invariants import InvariantStatus
    from simulator.runtime.knowledge.world_view import WorldTable

MOST_EXAMPLES = 6
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FEW_VALUES = 4
_ALWAYS = ("stock >= 0", "order.customer_id in customers", "order.status in ['open', 'shipped']")
"""What an invariant looks like, where nothing is known yet."""


class InvariantVerdict(NamedTuple):
    """The verdict on an invariant: `state` in one word, `said` in a sentence, `broken` a sentence for each thing."""

    state: Literal["holds", "broken", "unknown", "wrong"]
    said: str
    broken: tuple[str, ...] = ()


def verdict_of(found: InvariantStatus) -> InvariantVerdict:
    """Say how an invariant stands."""
    unjudged = f", cannot be checked for {found.unjudged}: {found.why}" if found.unjudged else ""
    if found.broken:
        count = len(found.broken)
        said = f"Broken by {count}{' or more' if count >= 20 else ''}, holds for {found.holds}{unjudged}"  # noqa: PLR2004 - no more are told
        return InvariantVerdict("broken", said, tuple(each.what for each in found.broken))
    if found.holds:
        return InvariantVerdict("holds", f"Holds for {found.holds}{unjudged}")
    return InvariantVerdict(
        "unknown", f"Cannot be checked yet: {found.why or 'no entity of this kind is known'}"
    )


def examples(tables: Iterable[WorldTable], taken: Collection[str] = ()) -> list[str]:
    """Return invariants that could hold for what is known, at most six, none of those that are taken."""
    known = list(tables)
    names = {table.kind: table.name for table in known}
    found = [line for table in known for line in _of(table, names)]
    return [line for line in dict.fromkeys(found or _ALWAYS) if line not in taken][:MOST_EXAMPLES]


def _can_be_named(name: str) -> bool:
    """Return whether an expression can hold a name: none in it begins with an underscore."""
    return _NAME.fullmatch(name) is not None and not name.startswith("_")


def _of(table: WorldTable, names: dict[str, str]) -> Iterable[str]:
    if not _can_be_named(table.kind):
        return
    for name in filter(_can_be_named, table.columns):
        values = [row[name] for row in table.rows if row.get(name) is not None]
        other = id_kind(name)
        if other in names and other != table.kind and _can_be_named(names[other]):
            yield f"{table.kind}.{name} in {names[other]}"
        elif values and column_kind(values) in {"integer", "number"}:
            yield f"{table.kind}.{name} >= 0"
        elif name in {"status", "state"} and values and column_kind(values) == "text":
            words = sorted({str(value) for value in values})
            if len(words) <= _FEW_VALUES and not any({"'", "\\", "\n"} & set(word) for word in words):
                yield f"{table.kind}.{name} in {words}"
