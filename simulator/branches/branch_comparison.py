"""Sets two branches of a session side by side: what is the same, what differs and where, what only one of them has. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple, TypeAlias, assert_never

from simulator.base.json_paths import JsonDifference, differing
from simulator.base.json_values import canonical
from simulator.session.history import (
    AgentMessage,
    CodeRun,
    FinalResponse,
    HistoryEntry,
    ModelError,
    SessionNote,
    ToolCall,
    ToolError,
    ToolOutput,
    TurnFailed,
    UserQuery,
    UserReply,
)

RowKind: TypeAlias = Literal["same", "changed", "only_left", "only_right"]
"""Whether both sides say the same, say it differently, or only one of them has it."""

MOST_DIFFERENCES = 200
"""How many places of one answer are named; of more, the first."""

MOST_ALIGNED = 600
"""How many entries of each side are aligned: the work grows with the square of their number. What follows stands place by place."""

_Key: TypeAlias = tuple[str, ...]


class ComparedRow(NamedTuple):
    """One line of the comparison; `differences` names the places of two entries that are `changed`."""

    kind: RowKind
    left: HistoryEntry | None = None
    right: HistoryEntry | None = None
    differences: tuple[JsonDifference, ...] = ()


def compared(
    left: Sequence[HistoryEntry], right: Sequence[HistoryEntry], shared: int | None = None
) -> tuple[ComparedRow, ...]:
    """Set two whole histories side by side, from where they part; what both have of the same facts before is left out.

    Entries that say the same stand beside each other first; between those, entries of one kind and one tool (or
    agent). When something happened, how long it took, and the ids of calls make no difference. `shared` says how many
    entries are left out, where these are no histories of one session.
    """
    shared = shared_entries(left, right) if shared is None else shared
    names = _tools(left), _tools(right)
    ours, theirs = left[shared:], right[shared:]
    rows = _aligned(
        ours[:MOST_ALIGNED],
        theirs[:MOST_ALIGNED],
        [_Shown(entry, names[0]) for entry in ours[:MOST_ALIGNED]],
        [_Shown(entry, names[1]) for entry in theirs[:MOST_ALIGNED]],
    )
    rest = itertools.zip_longest(ours[MOST_ALIGNED:], theirs[MOST_ALIGNED:])
    beyond = (_beside(one, other, names) for one, other in rest)
    return (*rows, *itertools.chain.from_iterable(beyond))


def shared_entries(left: Sequence[HistoryEntry], right: Sequence[HistoryEntry]) -> int:
    """Count the entries with which both begin, because they come from the same facts."""
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
    return sum(1 for _ in pairs)


class _Shown:
    """What an entry says: `content` is compared, `alike` is what may stand beside each other, `whole` both in one text."""

    __slots__ = ("alike", "content", "whole")

    def __init__(self, entry: HistoryEntry, tools: Mapping[str, str]) -> None:
        self.alike, self.content = _said(entry, tools)
        self.whole = canonical([*self.alike, self.content])


def _aligned(
    left: Sequence[HistoryEntry],
    right: Sequence[HistoryEntry],
    ours: Sequence[_Shown],
    theirs: Sequence[_Shown],
) -> Iterator[ComparedRow]:
    """Let what is the same stand beside each other, and look at what lies between."""
    for is_same, here, there in _blocks([one.whole for one in ours], [one.whole for one in theirs]):
        if is_same:
            for one, other in zip(left[here], right[there], strict=True):
                yield ComparedRow(kind="same", left=one, right=other)
        else:
            yield from _alike(left[here], right[there], ours[here], theirs[there])


def _alike(
    left: Sequence[HistoryEntry],
    right: Sequence[HistoryEntry],
    ours: Sequence[_Shown],
    theirs: Sequence[_Shown],
) -> Iterator[ComparedRow]:
    """Let what is of one kind and one tool stand beside each other; the rest has one side only."""
    for is_alike, here, there in _blocks([one.alike for one in ours], [one.alike for one in theirs]):
        if is_alike:
            for one, other, said, heard in zip(
                left[here], right[there], ours[here], theirs[there], strict=True
            ):
                yield _pair(one, other, said, heard)
        else:
            yield from (ComparedRow(kind="only_left", left=one) for one in left[here])
            yield from (ComparedRow(kind="only_right", right=other) for other in right[there])


def _blocks(left: Sequence[Any], right: Sequence[Any]) -> Iterator[tuple[bool, slice, slice]]:
    for tag, begin, end, start, stop in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        yield tag == "equal", slice(begin, end), slice(start, stop)


def _beside(
    left: HistoryEntry | None, right: HistoryEntry | None, names: tuple[Mapping[str, str], Mapping[str, str]]
) -> Iterator[ComparedRow]:
    """Compare what is too far behind to be aligned: only what stands at the same place."""
    if left is not None and right is not None:
        ours, theirs = _Shown(left, names[0]), _Shown(right, names[1])
        if ours.alike == theirs.alike:
            yield _pair(left, right, ours, theirs)
            return
    if left is not None:
        yield ComparedRow(kind="only_left", left=left)
    if right is not None:
        yield ComparedRow(kind="only_right", right=right)


def _pair(left: HistoryEntry, right: HistoryEntry, ours: _Shown, theirs: _Shown) -> ComparedRow:
    found = tuple(itertools.islice(differing(ours.content, theirs.content), MOST_DIFFERENCES))
    return ComparedRow(kind="changed" if found else "same", left=left, right=right, differences=found)


def _tools(history: Sequence[HistoryEntry]) -> dict[str, str]:
    return {entry.call_id: entry.tool_name for entry in history if isinstance(entry, ToolCall)}


def _said(  # noqa: PLR0911 - one arm for each kind of entry
    entry: HistoryEntry, tools: Mapping[str, str]
) -> tuple[_Key, dict[str, Any]]:
    """Return what an entry is of, and what it says, without ids, times and who said it."""
    match entry:
        case UserQuery() | SessionNote():
            return (entry.type,), {"content": entry.content}
        case UserReply():
            return (entry.type, entry.tool_name), {"response": entry.response}
        case AgentMessage():
            return (entry.type, entry.agent, str(entry.thought)), {"content": entry.content}
        case FinalResponse():
            return (entry.type, entry.agent), {"content": entry.content}
        case ToolCall():
            return (entry.type, entry.agent, entry.tool_name), {"arguments": entry.arguments}
        case ToolOutput() | ToolError():
            return ("answer", tools.get(entry.call_id, "")), _answered(entry)
        case CodeRun():
            said = {"code": entry.code, "output": entry.output, "error": entry.error}
            return (entry.type, entry.agent), said
        case ModelError() | TurnFailed():
            who = entry.agent if isinstance(entry, ModelError) else str(entry.stopped)
            return (entry.type, who), {"error_type": entry.error_type, "error_message": entry.error_message}
        case never:
            assert_never(never)


def _answered(entry: ToolOutput | ToolError) -> dict[str, Any]:
    """Return what a tool answered; an error stands beside an answer of the same tool, and differs from it."""
    beneath: Any = entry.beneath.model_dump(mode="json") if entry.beneath else None
    hidden = {"beneath": beneath} if beneath is not None else {}
    if isinstance(entry, ToolError):
        return {"error": {"type": entry.error_type, "message": entry.error_message}, **hidden}
    changed = {"state_delta": entry.state_delta} if entry.state_delta else {}
    return {"result": entry.result, **changed, **hidden}
