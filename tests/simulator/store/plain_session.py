"""What a session with a small agent is to be, said in plain Python: no facts, no folds, no ADK."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field

PLANS: dict[str, dict[int, tuple[str, ...]]] = {
    "say": {},
    "one": {0: ("find",)},
    "two": {0: ("find", "ship")},
    "chain": {0: ("find",), 1: ("ship",)},
    "late": {0: ("order",)},
}
"""What the agent's model calls, by what the user asked and how often it has called since; else it says that it is done."""

TOOLS = ("find", "ship", "order")
BROKEN = "ship"
"""The tool that fails while the rule is on."""

Entry = tuple[str, ...]


@dataclass
class State:
    """A session at one moment. `waiting` holds the tools whose calls wait, or the agent; `late` the open calls' tools."""

    history: list[Entry] = field(default_factory=list)
    notes: int = 0
    waiting: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    query: str = ""
    made: int = 0
    running: bool = False
    ended: str = "awaiting_query"
    rule: bool = False
    refused: set[str] = field(default_factory=set)
    agent: str = "model"
    things: dict[str, int] = field(default_factory=dict)

    # ------------------------------------------------------------ what people do

    def ask(self, query: str) -> None:
        """The user asks something."""
        self._begin(("query", query))
        self.query, self.made = query, 0
        self._goes_on()

    def reply(self, tool: str) -> None:
        """The user answers a call that was left open."""
        self.late.remove(tool)
        self._begin(("reply", tool))
        self._goes_on()

    def answer(self, tool: str, way: str) -> None:
        """A person answers a call: with a value, an error, or not yet."""
        self.waiting.remove(tool)
        if way == "later":
            self.late.append(tool)
            self.running = False
        else:
            self.history.append((way, tool))
        self._goes_on()

    def play(self, calls: tuple[str, ...]) -> None:
        """A person plays the agent: calls tools, or says a last word."""
        self.waiting.clear()
        self._turn(calls)
        self._goes_on()

    def stop(self) -> None:
        """A person stops the turn."""
        self.waiting.clear()
        self.history.append(("stopped",))
        self.running, self.ended = False, "awaiting_query"

    def switch(self) -> None:
        """The rule is switched: from the next call on."""
        self.rule = not self.rule
        self._note()

    def seat(self, tool: str) -> None:
        """A tool is refused, or answered by a person again."""
        self.refused ^= {tool}
        self._note()
        if tool in self.refused and tool in self.waiting:
            self.waiting.remove(tool)
            self.history.append(("error", tool))
            self._goes_on()

    def sit(self) -> None:
        """The agent is played by a person, or by its own model again."""
        self.agent = "person" if self.agent == "model" else "model"
        self._note()
        if self.waiting == ["agent"] and self.agent == "model":
            self.waiting.clear()
            self._goes_on()

    def put(self, name: str, value: int) -> None:
        """A thing of the world is changed by hand."""
        self.things[name] = value
        self._note()

    # ------------------------------------------------------------ what follows by itself

    def _begin(self, entry: Entry) -> None:
        self.running, self.ended = True, "active"
        self.history += [*[("note",)] * self.notes, entry]
        self.notes = 0

    def _note(self) -> None:
        if self.running:
            self.history.append(("note",))
        else:
            self.notes += 1

    def _goes_on(self) -> None:
        while self.running and not self.waiting:
            if self.agent == "person":
                self.waiting = ["agent"]
            else:
                self._turn(PLANS[self.query].get(self.made, ()))

    def _turn(self, calls: tuple[str, ...]) -> None:
        if not calls:
            # What an agent says while a call is left open is not its last word.
            self.history.append(("message",) if self.late else ("final",))
            self.running, self.ended = False, "active" if self.late else "completed"
            return
        self.made += len(calls)
        self.history += [("call", tool) for tool in calls]
        for tool in calls:
            if (tool == BROKEN and self.rule) or tool in self.refused:
                self.history.append(("error", tool))
            else:
                self.waiting.append(tool)


@dataclass
class Node:
    """One step: the facts that it brought (from `first` to `last`), what was before it, and what it led to."""

    parent: int
    first: int
    last: int
    state: State


class PlainSession:
    """A tree of steps with a head. Nothing is ever taken away."""

    def __init__(self, last: int) -> None:
        self.nodes = [Node(-1, 0, last, State(notes=1))]  # its rule
        self.head = 0

    @property
    def state(self) -> State:
        """The session at the head."""
        return self.nodes[self.head].state

    def next_state(self) -> State:
        """Return a state to go on from."""
        return copy.deepcopy(self.state)

    def add(self, parent: int, first: int, last: int, state: State) -> None:
        """Take a step."""
        self.nodes.append(Node(parent, first, last, state))
        self.head = len(self.nodes) - 1

    def below(self, number: int) -> Iterator[int]:
        """Yield a step and all that follow it."""
        yield number
        for child, node in enumerate(self.nodes):
            if node.parent == number:
                yield from self.below(child)

    def undo(self) -> int | None:
        """Say where an undo leads."""
        return None if self.head == 0 else self.nodes[self.head].parent

    def redo(self) -> int | None:
        """Say where a redo leads: one step on the way to the newest fact."""
        children = [child for child, node in enumerate(self.nodes) if node.parent == self.head]
        newest = {child: max(self.nodes[n].last for n in self.below(child)) for child in children}
        return max(children, key=lambda child: newest[child], default=None)

    def tips(self) -> set[int]:
        """Return the last facts of all branches."""
        parents = {node.parent for node in self.nodes}
        return {node.last for number, node in enumerate(self.nodes) if number not in parents}

    def holding(self, fact: int) -> int:
        """Return the step that brought a fact."""
        return next(number for number, node in enumerate(self.nodes) if node.first <= fact <= node.last)
