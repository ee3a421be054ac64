"""The branches of a journal: where each forks from where the session is, the tree that they make, and two of them compared. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple, TypeAlias, assert_never

from simulator.base.frozen_value import Value
from simulator.base.json_paths import JsonDifference, differing
from simulator.base.json_values import canonical
from simulator.facts import (
    CodeAnswered,
    ConnectionsAnalysed,
    Fact,
    ModelAnswered,
    ModelProposed,
    Raised,
    ToolAnswered,
    ToolProposed,
    TurnEnded,
    TurnStarted,
    UserProposed,
)
from simulator.journal import ROOT, Journal
from simulator.session import SessionFold
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
from simulator.session.timeline_fold import Timeline

BY_ITSELF = (ToolProposed, ModelProposed, UserProposed, ConnectionsAnalysed)
"""What is appended where nobody does anything, so that it begins no other way."""

_WRITTEN = ("written", "edited")
NodeKind: TypeAlias = Literal["start", "fork", "tip", "place"]
"""What stands at a node: the start of all, facts that are followed by several, a branch's end, or only the head."""


class Branch(Value):
    """One way from the start to an end.

    `number` counts from 1 in the order in which the ways were begun, and stays a branch's own while others grow.
    `tip` is the last fact. `fork` is the last fact that the branch shares with the head's path (-1 where that is
    none), `begins` the first one after it that somebody brought about (None where there is none: the head is at the
    end), `steps` how many steps of the timeline follow the fork, and `at` when the last fact was appended. `is_current` marks the branch that
    the head is on; of several that go on from the head, the one on which the newest fact lies, as Redo goes.
    """

    number: int
    tip: int
    fork: int
    begins: int | None
    steps: int
    at: float
    is_current: bool


class TreeNode(Value):
    """A place in the picture: `fact` is the last fact up to there (-1 for the start); `branch` is the number of the one that ends there."""

    fact: int
    kind: NodeKind
    branch: int | None = None
    is_here: bool = False


class TreeEdge(Value):
    """What lies between two places: how many steps of the timeline; `begins` is the first fact, `is_taken` says that the head's path leads along."""

    start: int
    end: int
    begins: int
    steps: int
    is_taken: bool


class BranchTree(Value):
    """The tree of the branches, as it is drawn: the start, where it forks, where it ends, and where the head is."""

    nodes: tuple[TreeNode, ...]
    edges: tuple[TreeEdge, ...]


def branches(journal: Journal) -> tuple[Branch, ...]:
    """Return the branches, the newest first.

    What has been appended by itself, as a model's draft, makes no branch beside those that somebody began.
    """
    return _Grown(journal).branches() if len(journal) else ()


def tree(journal: Journal) -> BranchTree:
    """Return the tree of the branches; each edge leads from a node that was listed before."""
    return _Grown(journal).tree()


def first_step(journal: Journal, branch: Branch, head: int) -> int | None:
    """Find the first fact after a branch's fork on the way to `head`, which is what was done there instead; None where there is none."""
    way = itertools.takewhile(lambda pair: pair[0] != branch.fork, journal.backwards(head))
    return next((number for number, fact in [*way][::-1] if not isinstance(fact, BY_ITSELF)), None)


def history_at(journal: Journal, tip: int) -> tuple[HistoryEntry, ...]:
    """Return the history of the session as it was at a fact; the facts keep their numbers in the journal.

    Raises:
        JournalError: There is no such fact.
    """
    fold = SessionFold()
    for number, fact in journal.path(tip):
        fold.take(number, fact)
    return fold.session().history


class _Grown:
    """A journal's tree without the ends that grew by themselves: `kept` holds what stays.

    Every list has a place for each fact, and its last one for the start of all, which is fact -1.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        head = journal.head
        # The head comes first, as another thread may be appending.
        self.count = len(journal)
        self.facts = [journal.fact(number) for number in range(self.count)]
        self.parents = [journal.parent(number) for number in range(self.count)]
        self.taken = self._marked(head)
        self.kept, self.newest, self.ends = self._prune()
        self.children: list[list[int]] = [[] for _ in range(self.count + 1)]
        for number in range(self.count):
            if self.kept[number]:
                self.children[self.parents[number]].append(number)
        self.head = head
        self.here = head
        while not self.kept[self.here]:
            self.here = self.parents[self.here]
        self.marked = [
            self.kept[number] and (number in {ROOT, self.here} or len(self.children[number]) != 1)
            for number in (*range(self.count), ROOT)
        ]
        self.counts = self._counts()

    def _marked(self, head: int) -> list[bool]:
        taken = [False] * self.count + [True]
        while head != ROOT:
            taken[head] = True
            head = self.parents[head]
        return taken

    def _prune(self) -> tuple[list[bool], list[int], list[int]]:
        """Say which facts stay, the newest one that stays below each, and where what grew by itself below each ends."""
        kept = [not isinstance(fact, BY_ITSELF) for fact in self.facts] + [True]
        newest = [*range(self.count), ROOT]
        ends = [*range(self.count), ROOT]
        for number in reversed(range(self.count)):
            parent = self.parents[number]
            if kept[number]:
                kept[parent] = True
                newest[parent] = max(newest[parent], newest[number])
            else:
                ends[parent] = max(ends[parent], ends[number])
        return kept, newest, ends

    def _counts(self) -> list[int]:
        """Count the entries of the history up to each fact at which the tree forks or ends, and to the head."""
        lines, counts = {ROOT: Timeline()}, [0] * (self.count + 1)
        for number, parent in enumerate(self.parents):
            if not self.kept[number]:
                continue
            is_last = number == self.children[parent][-1]
            line = lines[number] = lines.pop(parent) if is_last else lines[parent].forked()
            line.unread.append((number, self.facts[number]))
            if self.marked[number]:
                counts[number] = len(line.entries())
        return counts

    def _leaves(self) -> list[int]:
        return [
            number for number in range(ROOT, self.count) if self.kept[number] and not self.children[number]
        ]

    def _numbers(self) -> dict[int, int]:
        """Number the leaves: the eldest of what follows a fact goes on with its line, each other one begins a new one."""
        line = [ROOT] * (self.count + 1)
        for number, parent in enumerate(self.parents):
            if self.kept[number]:
                line[number] = line[parent] if self.children[parent][0] == number else number
        ordered = sorted(self._leaves(), key=lambda leaf: line[leaf])
        return {leaf: place for place, leaf in enumerate(ordered, 1)}

    def _tip(self, leaf: int) -> int:
        """Return where the branch of a leaf ends, with what grew by itself there; where the head is there, on its way."""
        return self.ends[self.head] if leaf == self.here else self.ends[leaf]

    def branches(self) -> tuple[Branch, ...]:
        forks = [*range(self.count), ROOT]
        begins: list[int | None] = [None] * (self.count + 1)
        for number, parent in enumerate(self.parents):
            if self.taken[number]:
                continue
            forks[number] = forks[parent]
            begun = begins[parent]
            begins[number] = (
                number if begun is None and not isinstance(self.facts[number], BY_ITSELF) else begun
            )
        current = self._current()
        found = [
            Branch(
                number=number,
                tip=tip,
                fork=forks[tip],
                begins=begins[tip],
                steps=self._between(forks[tip], leaf),
                at=self.facts[tip].at,
                is_current=leaf == current,
            )
            for leaf, number in self._numbers().items()
            if (tip := self._tip(leaf)) != ROOT
        ]
        return tuple(sorted(found, key=lambda branch: -branch.tip))

    def _current(self) -> int:
        """Return the leaf of the way on which the newest fact below the head lies."""
        return self.newest[self.here]

    def tree(self) -> BranchTree:
        numbers = self._numbers()
        names = {
            number: self._tip(number) if number in numbers else number
            for number in range(ROOT, self.count)
            if self.marked[number]
        }
        nodes = tuple(
            TreeNode(
                fact=name,
                kind=self._kind(number),
                branch=numbers.get(number) if number != ROOT else None,
                is_here=number == self.here,
            )
            for number, name in names.items()
        )
        return BranchTree(nodes=nodes, edges=tuple(self._edges(names)))

    def _between(self, start: int, end: int) -> int:
        return max(0, self.counts[end] - self.counts[start])

    def _kind(self, number: int) -> NodeKind:
        if number == ROOT:
            return "start"
        followed_by = len(self.children[number])
        if followed_by > 1:
            return "fork"
        return "place" if followed_by else "tip"

    def _edges(self, names: dict[int, int]) -> Iterable[TreeEdge]:
        above = [ROOT] * (self.count + 1)
        begins = [ROOT] * (self.count + 1)
        for number, parent in enumerate(self.parents):
            if not self.kept[number]:
                continue
            is_first = self.marked[parent]
            above[number] = parent if is_first else above[parent]
            begins[number] = number if is_first else begins[parent]
            if self.marked[number]:
                yield TreeEdge(
                    start=above[number],
                    end=names[number],
                    begins=begins[number],
                    steps=self._between(above[number], number),
                    is_taken=self.taken[number],
                )


def written_before(journal: Journal, key: str) -> ModelAnswered | None:
    """Return what somebody wrote last at an agent's seat for a request of the last turn, on a branch that was left; None where nobody did."""
    start = next((number for number, fact in journal.backwards() if isinstance(fact, TurnStarted)), ROOT)
    for number in reversed(range(start + 1, len(journal))):
        match journal.fact(number):
            case ModelAnswered(key=its) as fact if its == key and fact.provenance.source in _WRITTEN:
                if any(above == start for above, _ in journal.backwards(number)):
                    return fact
            case _:
                pass
    return None


class FailedStep(Value):
    """The answer that ended a turn.

    Attributes:
        before: The fact before it, to go back to.
        seat: Who gave it: an agent's model, or a tool.
        target: The agent's or the tool's name.
    """

    before: int
    seat: Literal["agent", "tool"]
    target: str

    @property
    def words(self) -> str:
        """Who gave it, in words."""
        return f"the {'tool' if self.seat == 'tool' else 'model of'} {self.target}"


def failed_step(journal: Journal) -> FailedStep | None:
    """Return the answer that ended the last turn with an error; None where the turn ended otherwise, or for another reason."""
    ended = False
    for number, fact in journal.backwards():
        match fact:
            case TurnEnded(error=None) | TurnStarted():
                return None
            case TurnEnded():
                ended = True
            case ModelAnswered() | ToolAnswered() | CodeAnswered():
                return _step(journal, number, fact) if ended else None
            case _:
                pass
    return None


def _step(journal: Journal, number: int, fact: Fact) -> FailedStep | None:
    before = journal.parent(number)
    match fact:
        case ModelAnswered(error=error, agent=agent) if error is not None:
            return FailedStep(before=before, seat="agent", target=agent)
        case ToolAnswered(outcome=Raised(), tool_name=tool):
            return FailedStep(before=before, seat="tool", target=tool)
        case _:
            return None


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
